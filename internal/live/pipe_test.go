package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A plugin is the plugin's end of a pipe.
type plugin struct {
	t   *testing.T
	out *io.PipeWriter
	*bufio.Scanner
}

// newTestPipe returns a pipe with a plugin at its other end.
func newTestPipe(t *testing.T) (*Pipe, *LineReader, *plugin) {
	t.Helper()
	in, to := io.Pipe()
	from, out := io.Pipe()
	p := NewPipe(out)
	t.Cleanup(func() {
		p.end()
		_, _, _ = to.Close(), from.Close(), in.Close()
	})
	return p, NewLineReader(in), &plugin{t, to, bufio.NewScanner(from)}
}

func (p *plugin) send(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p.out, text+"\n"); err != nil {
		p.t.Error(err)
	}
}

func (p *plugin) receive() string {
	p.t.Helper()
	if !p.Scan() {
		p.t.Errorf("mend's side ended: %v", p.Err())
	}
	return p.Text()
}

// hello has a member that mend does not know and ignores.
const hello = `{"type":"hello","protocol":1,"plugin":"v1","directory":"/p","since":1700000000000,"news":true}`

// TestPipe: a complete exchange: the handshake, events, each call, and the end.
func TestPipe(t *testing.T) {
	p, lines, other := newTestPipe(t)
	go other.send(hello)
	handshake := make(chan error, 1)
	go func() {
		h, err := p.Handshake(t.Context(), lines, "v2")
		if want := (Hello{Directory: "/p", Plugin: "v1", Protocol: 1, Since: time.UnixMilli(1700000000000)}); h != want {
			err = errors.Join(err, fmt.Errorf("hello is %+v, want %+v", h, want))
		}
		handshake <- err
	}()
	if got, want := other.receive(), `{"type":"hello","protocol":1,"mend":"v2"}`; got != want {
		t.Errorf("mend sent %s, want %s", got, want)
	}
	if err := <-handshake; err != nil {
		t.Fatal(err)
	}
	events := make(chan Event, 10)
	served := make(chan error, 1)
	go func() { served <- p.Serve(t.Context(), lines, func(e Event) { events <- e }, nil) }()
	other.send(`{"type":"event","event":{"type":"session.idle","properties":{"sessionID":"ses_1"}}}`)
	other.send(`{"type":"event"}`)
	other.send(`{"type":"weather"}`)
	other.send(`{"type":"answer","id":99,"data":1}`)
	if e := <-events; e.Type != EventIdle || string(e.Properties) != `{"sessionID":"ses_1"}` {
		t.Errorf("event %+v", e)
	}
	const session = "ses_1"
	for _, c := range []struct {
		call      func() (any, error)
		want      string
		answer    string
		result    any
		wantError string
	}{
		{func() (any, error) { return p.Busy(t.Context(), session) }, `{"type":"call","id":1,"method":"busy","session":"ses_1"}`, `{"type":"answer","id":1,"data":true}`, true, ""},
		{func() (any, error) { return nil, p.Abort(t.Context(), session) }, `{"type":"call","id":2,"method":"abort","session":"ses_1"}`, `{"type":"answer","id":2}`, nil, ""},
		{
			func() (any, error) { return nil, p.Toast(t.Context(), Toast{"T", "m", VariantError, 1}) },
			`{"type":"call","id":3,"method":"toast","body":{"title":"T","message":"m","variant":"error","duration":1}}`, `{"type":"answer","id":3,"error":"no screen"}`, nil, "no screen",
		},
		{
			func() (any, error) { return nil, p.Prompt(t.Context(), session, resumePrompt(nil)) },
			`{"type":"call","id":4,"method":"prompt","session":"ses_1","body":{"parts":[{"type":"text","text":"[session recovered - continuing previous task]","synthetic":true}]}}`,
			`{"type":"answer","id":4,"data":null}`, nil, "",
		},
		{
			func() (any, error) {
				ms, err := p.Messages(t.Context(), session, 2)
				return len(ms), err
			},
			`{"type":"call","id":5,"method":"messages","session":"ses_1","limit":2}`, `{"type":"answer","id":5,"data":[{"info":{"id":"msg_1"}},{}]}`, 2, "",
		},
		{
			func() (any, error) { return p.Busy(t.Context(), session) },
			`{"type":"call","id":6,"method":"busy","session":"ses_1"}`, `{"type":"answer","id":6,"data":"perhaps"}`, false, "cannot unmarshal",
		},
	} {
		go func() {
			if got := other.receive(); got != c.want {
				t.Errorf("mend sent %s, want %s", got, c.want)
			}
			other.send(c.answer)
		}()
		got, err := c.call()
		if diff := cmp.Diff(c.result, got); diff != "" || (err == nil) != (c.wantError == "") || err != nil && !strings.Contains(err.Error(), c.wantError) {
			t.Errorf("%s: %v, %v", c.want, got, err)
		}
	}
	waiting := make(chan error, 1)
	go func() { waiting <- p.Abort(t.Context(), session) }()
	other.receive()
	_ = other.out.Close()
	if err := <-served; err != nil {
		t.Errorf("Serve = %v at the end of the input", err)
	}
	if err := <-waiting; !errors.Is(err, errAgentEnded) {
		t.Errorf("a call that waits at the end = %v, want %v", err, errAgentEnded)
	}
	if err := p.Abort(t.Context(), session); !errors.Is(err, errAgentEnded) {
		t.Errorf("a call after the end = %v, want %v", err, errAgentEnded)
	}
}

// TestOtherProtocol: a plugin with another protocol gets bye and a reason.
func TestOtherProtocol(t *testing.T) {
	for _, first := range []string{`{"type":"hello","protocol":3}`, `{"type":"hello"}`, `{"type":"event","protocol":1}`, `{"type":"` + strings.Repeat("x", 1<<20) + `"}`} {
		p, lines, other := newTestPipe(t)
		go other.send(first)
		failed := make(chan error, 1)
		go func() {
			_, err := p.Handshake(t.Context(), lines, "v2")
			failed <- err
		}()
		var bye line
		if err := json.Unmarshal([]byte(other.receive()), &bye); err != nil || bye.Type != lineBye || bye.Reason == "" {
			t.Errorf("%.60s: mend sent %+v, %v", first, bye, err)
		}
		if err := <-failed; !errors.Is(err, errProtocol) || len(err.Error()) > 300 {
			t.Errorf("%.60s: Handshake = %.300v, want %v", first, err, errProtocol)
		}
	}
}

// TestBadLines: an invalid line ends the exchange with an error.
func TestBadLines(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "hello?\n", "a list": "[]\n", "too long": strings.Repeat("x", maxLine+1), "nothing": "",
	} {
		p := NewPipe(io.Discard)
		if _, err := p.Handshake(t.Context(), NewLineReader(strings.NewReader(text)), ""); err == nil {
			t.Errorf("%s: Handshake accepted it", name)
		}
		if err := p.Serve(t.Context(), NewLineReader(strings.NewReader(text)), func(Event) {}, nil); (err == nil) != (text == "") {
			t.Errorf("%s: Serve = %v", name, err)
		}
	}
}

// TestStrangeMembers: a member of the wrong type, such as the model of a damaged prompt, is ignored, and the other
// members of the line are read.
func TestStrangeMembers(t *testing.T) {
	const text = `{"type":"question","id":1,"session":"ses_1","model":"anthropic/claude","agent":7,"named":true}
{"type":"question","id":2,"session":"ses_1","model":{"providerID":"anthropic","modelID":5}}
`
	var got []Question
	answer := make(chan Question, 2)
	err := NewPipe(io.Discard).Serve(t.Context(), NewLineReader(strings.NewReader(text)), nil, func(_ context.Context, q Question) (Reply, error) {
		answer <- q
		return Reply{}, nil
	})
	for range 2 {
		got = append(got, <-answer)
	}
	for _, q := range got {
		if err != nil || q.Session != "ses_1" || q.Agent != "" || q.Named && q.Model != nil {
			t.Errorf("Serve = %v, question %+v, model %+v", err, q, q.Model)
		}
	}
}

// TestUnresponsivePlugin: a call ends with its context if the plugin reads nothing and answers nothing. If the plugin
// reads again, it gets the line that was being written, and none of the calls that had to wait.
func TestUnresponsivePlugin(t *testing.T) {
	p, _, other := newTestPipe(t)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for range 40 {
		if err := p.Abort(ctx, "ses_1"); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Abort = %v", err)
		}
	}
	if err := p.Bye(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Bye = %v", err)
	}
	if n := len(p.pending); n != 0 {
		t.Errorf("%d calls are still pending", n)
	}
	if got := other.receive(); !strings.Contains(got, `"id":1,`) {
		t.Errorf("the plugin reads %s, want the first call", got)
	}
	go func() { _ = p.Bye(t.Context(), "last") }()
	if got := other.receive(); !strings.Contains(got, "last") {
		t.Errorf("the plugin then reads %s, want the newest line", got)
	}
}

// TestBrokenPipe: a call fails if the plugin has closed its end.
func TestBrokenPipe(t *testing.T) {
	from, out := io.Pipe()
	p := NewPipe(out)
	_ = from.Close()
	if err := p.Abort(t.Context(), ""); !errors.Is(err, errAgentEnded) {
		t.Errorf("Abort = %v, want %v", err, errAgentEnded)
	}
}
