package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
	"mend/internal/test/damage"
	"mend/journal"
	"mend/testdata"
)

const refusal = "messages: text content blocks must contain non-whitespace text"

// blankTextStore returns a store with a blank text in a message, and its session.
func blankTextStore(t *testing.T) (store, session string) {
	t.Helper()
	dir := t.TempDir()
	session, err := testdata.Unpack(testdata.OpenCode1153, dir)
	if err != nil {
		t.Fatal(err)
	}
	store = filepath.Join(dir, "opencode", "storage")
	damage.Text(damage.Hello, " \n")(damage.Tree{T: t, Root: store, Session: session})
	return store, session
}

// refusedMessages returns the newest messages of a refused session, as an agent reports them.
func refusedMessages(session string) string {
	return fmt.Sprintf(`[{"info":{"id":"msg_x1","sessionID":%[1]q,"role":"user","time":{"created":1}},"parts":[{"id":"prt_x1","type":"text","text":"hi"}]},
		{"info":{"id":"msg_x2","sessionID":%[1]q,"role":"assistant","time":{"created":2},"error":{"name":"APIError","data":{"message":%[2]q}}},"parts":[]}]`, session, refusal)
}

// A runningMend is a running mend with its own journal and cache.
type runningMend struct {
	*frame.Env
	out  *os.File
	in   *os.File
	err  *lockedBuffer
	done chan error
	stop context.CancelFunc
}

// A lockedBuffer can be written and read at the same time.
type lockedBuffer struct {
	mu sync.Mutex
	strings.Builder
	written chan struct{} // gets a value for each write, unless it is nil or full
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.written <- struct{}{}:
	default:
	}
	return b.Builder.Write(p)
}

func (b *lockedBuffer) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.String()
}

// startMend runs mend in this process until stop, or until it ends.
func startMend(t *testing.T, store string, args ...string) *runningMend {
	t.Helper()
	in, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r := &runningMend{out: from, in: to, err: &lockedBuffer{written: make(chan struct{}, 1)}, done: make(chan error, 1)}
	r.Env = &frame.Env{Terminal: &term.Terminal{In: in, Out: out, Err: r.err}}
	root := newRoot(r.Env)
	r.Opt.Journal.Dir, r.Opt.Cache = t.TempDir(), t.TempDir()
	root.SetArgs(append(args, "--store", store))
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	go func() {
		err := root.ExecuteContext(ctx)
		r.Report(err)
		out.Close()
		r.done <- err
	}()
	t.Cleanup(func() {
		r.stop()
		_, _, _ = to.Close(), from.Close(), in.Close()
	})
	return r
}

// send writes a line to the standard input.
func (r *runningMend) send(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(r.in, line+"\n"); err != nil {
		t.Fatal(err)
	}
}

// TestHookConversation: after the plugin has reported an error, the hook calls the agent, repairs the store and shows a
// toast.
func TestHookConversation(t *testing.T) {
	store, session := blankTextStore(t)
	r := startMend(t, store, "hook", "--set", "lookBackHours=0")
	r.send(t, `{"type":"hello","protocol":1,"plugin":"test","directory":"/p"}`)
	r.send(t, strings.TrimSpace(errorLine(session)))
	var calls, toasts []string
	lines := bufio.NewScanner(r.out)
	for len(toasts) < 2 && lines.Scan() {
		var l struct {
			Type, Method string
			ID           int
			Body         struct{ Message string }
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			t.Fatalf("%s: %v", lines.Bytes(), err)
		}
		if l.Type != "call" {
			continue
		}
		calls = append(calls, l.Method)
		answer := "null"
		switch l.Method {
		case "messages":
			answer = strings.ReplaceAll(refusedMessages(session), "\n", "")
		case "toast":
			toasts = append(toasts, l.Body.Message)
		}
		r.send(t, fmt.Sprintf(`{"type":"answer","id":%d,"data":%s}`, l.ID, answer))
	}
	if got, want := strings.Join(calls, " "), "messages publish abort toast toast"; got != want {
		t.Errorf("calls %s, want %s", got, want)
	}
	r.in.Close()
	if err := <-r.done; err != nil {
		t.Errorf("hook = %v; log:\n%s", err, readFile(t, filepath.Join(r.Opt.Journal.Dir, "hook.log")))
	}
	es, err := r.Opt.Journal.Log(journal.Query{})
	if err != nil || len(es) != 1 || es[0].Cause.Text != refusal || !strings.Contains(toasts[1], "mend undo "+es[0].ID) {
		t.Errorf("journal: %+v, %v; toasts %q", es, err, toasts)
	}
}

// TestHookQuestion: before a request, the hook asks whether the agent is idle and still waits, repairs the session, and
// answers.
func TestHookQuestion(t *testing.T) {
	const repaired = "busy begin publish toast publish"
	for _, c := range []struct {
		name    string
		version string
		busy    bool
		calls   string
		repairs int
	}{
		{"an older version", "0.0.1", false, "", 0},
		{"a newer version", "99.0.0", false, repaired, 1},
		{"busy", "1.1.53", true, "busy", 0},
		{"idle", "1.1.53", false, repaired, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			store, session := blankTextStore(t)
			r := startMend(t, store, "hook", "--set", "lookBackHours=0")
			r.send(t, `{"type":"hello","protocol":1,"max":2,"plugin":"test","directory":"/p"}`)
			var calls []string
			var reply struct{ Repair, Error string }
			lines := bufio.NewScanner(r.out)
			for done := false; !done && lines.Scan(); {
				var l struct {
					Type, Method string
					ID, Wait     int
				}
				if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
					t.Fatalf("%s: %v", lines.Bytes(), err)
				}
				switch l.Type {
				case "ready":
					if l.Wait != 1500 {
						t.Errorf("ready: %s", lines.Bytes())
					}
					r.send(t, fmt.Sprintf(`{"type":"question","id":3,"session":%q,"version":%q,"directory":"/p","wait":60000}`, session, c.version))
				case "call":
					calls = append(calls, l.Method)
					r.send(t, fmt.Sprintf(`{"type":"answer","id":%d,"data":%t}`, l.ID, l.Method == "begin" || c.busy))
				case "reply":
					done = true
					if err := json.Unmarshal(lines.Bytes(), &reply); err != nil {
						t.Fatal(err)
					}
				}
			}
			r.in.Close()
			if err := <-r.done; err != nil {
				t.Errorf("hook = %v", err)
			}
			if got := strings.Join(calls, " "); got != c.calls {
				t.Errorf("calls %q, want %q", got, c.calls)
			}
			es, err := r.Opt.Journal.Log(journal.Query{Channel: change.ChannelPlugin})
			if err != nil || len(es) != c.repairs || (reply.Repair == "") == (reply.Error == "") {
				t.Errorf("%d repairs, %v, want %d; reply %+v", len(es), err, c.repairs, reply)
			}
		})
	}
}

// TestHookUnreportedError: a session is repaired once if the agent ends after an error, reported or not. A session
// without an event is not repaired.
func TestHookUnreportedError(t *testing.T) {
	for name, c := range map[string]struct {
		reported bool
		session  string // of the events, if it is another one
		repairs  int
	}{
		"unreported":         {repairs: 1},
		"reported":           {reported: true, repairs: 1},
		"of another session": {session: "ses_x"},
	} {
		t.Run(name, func(t *testing.T) {
			store, session := blankTextStore(t)
			addFailedMessage(t, store, session, time.Now().Add(-time.Second))
			r := startMend(t, store, "hook", "--set", "lookBackHours=0")
			r.send(t, fmt.Sprintf(`{"type":"hello","protocol":1,"plugin":"test","directory":"/p","since":%d}
{"type":"event","event":{"type":"message.updated","properties":{"info":{"id":"msg_y","sessionID":%q,"role":"user"}}}}`, time.Now().Add(-time.Minute).UnixMilli(), cmp.Or(c.session, session)))
			if c.reported {
				r.send(t, strings.TrimSpace(errorLine(session)))
			}
			r.in.Close()
			if err := <-r.done; err != nil {
				t.Errorf("hook = %v", err)
			}
			es, err := r.Opt.Journal.Log(journal.Query{})
			if err != nil || len(es) != c.repairs {
				t.Errorf("%d repairs, %v, want %d; log:\n%s", len(es), err, c.repairs, readFile(t, filepath.Join(r.Opt.Journal.Dir, "hook.log")))
			}
		})
	}
}

// errorLine returns the line of the plugin about a refused session.
func errorLine(session string) string {
	return fmt.Sprintf(`{"type":"event","event":{"type":"session.error","properties":{"sessionID":%q,"error":{"name":"APIError","data":{"message":%q}}}}}`+"\n", session, refusal)
}

// TestHookAgentEnded: if the agent has already ended, its lines are read and the session is repaired.
func TestHookAgentEnded(t *testing.T) {
	store, session := blankTextStore(t)
	addFailedMessage(t, store, session, time.Now())
	from, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from.Close()
	state := t.TempDir()
	cmd := exec.Command("mend", "hook", "--store", store)
	cmd.Env = append(os.Environ(), "XDG_STATE_HOME="+state, "XDG_CACHE_HOME="+state, "XDG_CONFIG_HOME="+state)
	cmd.Stdout = out
	cmd.Stdin = strings.NewReader(`{"type":"hello","protocol":1,"directory":"/p"}` + "\n" + errorLine(session))
	if err := cmd.Run(); err != nil {
		t.Errorf("mend hook: %v", err)
	}
	out.Close()
	if log := readFile(t, filepath.Join(state, "mend", "hook.log")); !strings.Contains(log, "msg=repaired") {
		t.Errorf("not repaired; log:\n%s", log)
	}
}

// addFailedMessage adds a refused message to the session, created at this time.
func addFailedMessage(t *testing.T, store, session string, created time.Time) {
	t.Helper()
	answer := map[string]any{
		"id": "msg_zzzzzzzzzzzzzzzzzzzzzzzzzz", "sessionID": session, "role": "assistant",
		"time":  map[string]any{"created": created.UnixMilli()},
		"error": map[string]any{"name": "APIError", "data": map[string]any{"message": refusal}},
	}
	data, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(store, "message", session, "msg_zzzzzzzzzzzzzzzzzzzzzzzzzz.json"), data, 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}
