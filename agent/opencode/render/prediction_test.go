//go:build e2e

package render_test

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"mend/agent/opencode/render"
	"mend/internal/provider/anthropic"
	"mend/internal/test/damage"
	"mend/internal/test/encode"
	"mend/internal/test/endpoint"
)

// otherVersions are versions to observe besides the versions of the fixtures.
var otherVersions = flag.String("versions", "", "observe these versions of the agent, separated by commas; VERSION=PROFILE uses the profile of another")

// matrix is the file for the table of predictions and results.
var matrix = flag.String("matrix", "", "write the matrix to this file")

const prompt = "one more"

// TestPrediction: the real program sends the request that Render returns, and the endpoint refuses it as Check
// predicts.
func TestPrediction(t *testing.T) {
	lines := map[string][]string{}
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			l := newHarness(t, version, true)
			for _, c := range slices.Concat(damageTrials(), moreTrials()) {
				t.Run(c.name, func(t *testing.T) {
					got := l.try(t, c, true)
					if want := c.want[i]; want != "" && got.real != want {
						t.Errorf("the agent is %s, want %s", got.real, want)
					}
					lines[c.name] = append(lines[c.name], got.String())
				})
			}
		})
	}
	report(t, lines)
}

// TestOtherVersions observes the versions that the flag names.
func TestOtherVersions(t *testing.T) {
	if *otherVersions == "" {
		t.Skip("no -versions")
	}
	for version := range strings.SplitSeq(*otherVersions, ",") {
		t.Run(version, func(t *testing.T) {
			version, profile, ok := strings.Cut(version, "=")
			l := newHarness(t, version, true)
			if ok {
				l.profile = render.ProfileFor(profile)
			}
			for _, c := range slices.Concat(damageTrials(), moreTrials()) {
				if c.compacts && slices.Contains([]string{"1.15.0", "1.17.0"}, l.profile.Version) {
					continue // mend does not predict which turns at the end these versions leave out
				}
				t.Run(c.name, func(t *testing.T) { l.try(t, c, true) })
			}
		})
	}
}

// TestPredictionThinkingOff is TestPrediction with thinking off.
func TestPredictionThinkingOff(t *testing.T) {
	for _, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			l := newHarness(t, version, false)
			for _, c := range slices.Concat(damageTrials(), moreTrials()) {
				t.Run(c.name, func(t *testing.T) { l.try(t, c, false) })
			}
		})
	}
}

func report(t *testing.T, lines map[string][]string) {
	if *matrix == "" {
		return
	}
	var b strings.Builder
	for _, c := range slices.Concat(damageTrials(), moreTrials()) {
		fmt.Fprintf(&b, "| %s | %s |\n", c.name, strings.Join(lines[c.name], " | "))
	}
	if err := os.WriteFile(*matrix, []byte(b.String()), 0o644); err != nil {
		t.Error(err)
	}
}

// An outcome is a prediction and the result.
type outcome struct{ predicted, real string }

func (o outcome) String() string {
	if o.predicted == o.real {
		return o.real
	}
	return o.real + " (predicted " + o.predicted + ")"
}

// try changes the session, renders it, sends the prompt to the real agent, and compares.
func (l *harness) try(t *testing.T, c trial, thinking bool) (out outcome) {
	t.Helper()
	l.t = t
	l.reset()
	if c.apply != nil {
		c.apply(l)
	}
	l.writeStore()
	s := l.open()
	rendered := render.Render(s, render.Settings{Profile: l.profile, Now: time.Now(), CanRead: l.reads, Missing: func(path string) bool { return !exists(path) }})
	verdict, code := alive, ""
	if v := render.Check(anthropic.Provider{}, rendered, thinking); len(v) > 0 {
		verdict = v[0].Rule
	}
	if len(rendered.Failures) > 0 {
		verdict, code = dead, rendered.Failures[0].Code+": "+rendered.Failures[0].Why
	}

	l.checkScreen(t)
	before := len(l.api.Calls())
	reply := l.send(c)
	calls := conversation(l.api.Calls()[before:], c.compacts)
	out = outcome{verdict, dead}
	if len(calls) > 0 {
		if out.real = alive; calls[0].Rule != "" {
			out.real = calls[0].Rule
		}
	}
	if c.compacts && out.real == alive { // the reply was the summary, which replaces nothing in the next request
		before := len(l.api.Calls())
		l.send(c)
		if next := l.api.Calls()[before:]; len(next) > 0 && next[0].Rule != "" {
			out.real = next[0].Rule
		}
	}
	if out.real == "R7" || out.real == "R8" { // cannot be predicted
		out.real = cmp.Or(maskedByR7[c.name], alive)
		defer func() { out.real = calls[0].Rule }()
	}
	if out.real != out.predicted {
		t.Errorf("mend predicts %s (%s), the agent is %s; the reply is %.600s", out.predicted, code, out.real, reply)
	}
	if len(calls) > 0 && len(rendered.Failures) == 0 {
		want, got := messages(t, calls[0].Raw), messages(t, encode.JSON(anthropic.Provider{}, rendered.Request))
		if d := diff.Diff(want, replacePrompt(got, want)); d != "" {
			t.Errorf("the rendered request differs from the agent's (-sent +rendered):\n%s", d)
		}
	}
	return out
}

// checkScreen compares Screen with the response of the server.
func (l *harness) checkScreen(t *testing.T) {
	t.Helper()
	failures := render.Read(l.open()).Screen(l.profile)
	code, reply := l.request("GET", "/message")
	if shown := code == http.StatusOK; shown != (len(failures) == 0) {
		t.Errorf("Screen = %v, the server's status is %d: %.300s", failures, code, reply)
	}
}

// conversation returns the calls of the model without those for a title, which have no tools. A compaction has no tools
// either; it is the longest call, and comes first.
func conversation(calls []endpoint.Call, compacts bool) []endpoint.Call {
	if compacts {
		slices.SortFunc(calls, func(a, b endpoint.Call) int { return cmp.Compare(len(b.Raw), len(a.Raw)) })
		return calls
	}
	return slices.DeleteFunc(calls, func(c endpoint.Call) bool { return c.Request.IsTitle() })
}

// messages returns the messages of a request without their cache control.
func messages(t *testing.T, body []byte) []any {
	var r struct{ Messages []any }
	if err := json.Unmarshal(body, &r); err != nil {
		t.Fatal(err)
	}
	removeMember(r.Messages, "cache_control")
	return r.Messages
}

func removeMember(v any, name string) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			removeMember(x, name)
		}
	case map[string]any:
		delete(v, name)
		for _, x := range v {
			removeMember(x, name)
		}
	}
}

// replacePrompt replaces the rendered prompt with the real prompt and the agent's additions to it.
func replacePrompt(rendered, sent []any) []any {
	for n, m := range rendered {
		if n >= len(sent) {
			break
		}
		blocks, theirs := m.(map[string]any)["content"].([]any), sent[n].(map[string]any)["content"].([]any)
		for i, b := range blocks {
			if b.(map[string]any)["text"] == render.PromptText && i < len(theirs) {
				m.(map[string]any)["content"] = append(slices.Clone(blocks[:i]), theirs[i:]...)
				if theirs[i].(map[string]any)["text"] != prompt {
					theirs[i].(map[string]any)["note"] = "not the prompt"
				}
			}
		}
	}
	return rendered
}

// send sends the prompt and waits for the reply. It aborts a slow turn: 1.18.33 takes a minute to send a large image
// again, or to download one that does not exist.
func (l *harness) send(c trial) string {
	before := len(l.api.Calls())
	done := make(chan string, 1)
	go func() { done <- l.agent.Prompt(l.session, prompt).Output }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for seconds := 0; ; {
		select {
		case reply := <-done:
			return reply
		case <-tick.C:
		}
		seconds++
		sent := len(conversation(l.api.Calls()[before:], c.compacts)) > 0
		if sent && seconds > 5 || seconds > 12 {
			l.request("POST", "/abort")
		}
	}
}

// request sends a request about the session to the server.
func (l *harness) request(method, path string) (int, string) {
	req, err := http.NewRequestWithContext(context.Background(), method, l.agent.URL+"/session/"+l.session+path, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return -1, err.Error()
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return -1, err.Error()
	}
	return resp.StatusCode, string(data)
}
