//go:build e2e

package main

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// TestTrimReal checks with the real program that trimmed outputs are no longer sent, that the content before
// a compaction is sent again after its removal, and that the prompt is answered in both cases.
func TestTrimReal(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			pool := newAgentPool(t, i, 1)
			long := bytes.Repeat([]byte("y"), 8000)
			ts := newTestStore(t, i)
			damage.Edit(ts, ts.path, ts.session, damage.ByName(t, damage.LongOutputs))
			c := pool.start(ts)
			body := func(r opencode.Result) []byte {
				t.Helper()
				if r.Verdict != opencode.Alive || len(r.Calls) == 0 {
					t.Fatalf("the prompt = %s; reply:\n%.500s", r.Verdict, r.Output)
				}
				return r.Calls[0].Raw
			}
			if n := bytes.Count(body(c.before), long); n != 3 {
				t.Fatalf("%d long outputs before, want 3", n)
			}
			if code, out := ts.mend("trim", "--yes", ts.session, "--to", "3000", "--keep-turns", "0"); code != exitDone {
				t.Fatalf("mend trim: exit code %d:\n%s", code, out)
			}
			sent := body(c.prompt())
			if n, cleared := bytes.Count(sent, long), bytes.Count(sent, []byte("[Old tool result content cleared]")); n != 1 || cleared != 2 {
				t.Errorf("after the trim %d long outputs and %d cleared ones are sent, want 1 and 2", n, cleared)
			}
			c.checkUndo()

			damage.Edit(ts, ts.path, ts.session, damage.ByName(t, damage.LongTexts))
			c = pool.start(ts)
			text, file := bytes.Repeat([]byte("t"), 4000), bytes.Repeat([]byte("A"), 4000)
			if sent := body(c.before); !bytes.Contains(sent, text) || !bytes.Contains(sent, file) {
				t.Fatal("the long text or the file is not sent before")
			}
			if code, out := ts.mend("trim", ts.session, "--to", "1000", "--keep-turns", "0", "--hard", "--yes"); code != exitDone {
				t.Fatalf("mend trim --hard: exit code %d:\n%s", code, out)
			}
			if sent := body(c.prompt()); bytes.Contains(sent, text) || bytes.Contains(sent, file) || bytes.Count(sent, []byte("taken out of this conversation")) != 2 {
				t.Errorf("after trim --hard the request is %.5000s", sent)
			}
			c.checkUndo()

			damage.Edit(ts, ts.path, ts.session, damage.ByName(t, "compacted"))
			c = pool.start(ts)
			if n := bytes.Count(body(c.before), long); n != 0 {
				t.Fatalf("%d long outputs behind a compaction, want 0", n)
			}
			if code, out := ts.mend("uncompact", "--yes", ts.session); code != exitDone {
				t.Fatalf("mend restore --compaction: exit code %d:\n%s", code, out)
			}
			if n := bytes.Count(body(c.prompt()), long); n != 3 {
				t.Errorf("%d long outputs after the compaction is taken back, want 3", n)
			}
			c.checkUndo()
		})
	}
}

// TestTrimRealCompaction has a session that is too long for its model, even for a compaction: the real
// program fails at each prompt. "mend fix" with its error leads to a trim, after which a compaction and the
// next prompt work. An undo restores each byte.
func TestTrimRealCompaction(t *testing.T) {
	t.Parallel()
	for n, version := range []string{"1.18.34", "1.2.27"} {
		t.Run(version, func(t *testing.T) {
			if n > 0 {
				storetest.Long(t)
			}
			w := newWindow(t, version)
			send := func(prompt string) (answer message) {
				t.Helper()
				parts := []any{map[string]any{"type": "text", "text": prompt}}
				for range 7 { // texts too small for a trim to shorten
					parts = append(parts, map[string]any{"type": "text", "text": strings.Repeat("word ", 380)})
				}
				callServer(t, w.server, http.MethodPost, "/session/"+w.session+"/message", map[string]any{"parts": parts}, &answer)
				return answer
			}
			works := func(prompt string) {
				t.Helper()
				if a := send(prompt); a.Info.Finish != "stop" || a.Info.Error.Name != "" {
					t.Fatalf("the prompt %q is not answered: %+v", prompt, a)
				}
			}
			works("the goal")
			works("LONG")
			for i := range 14 {
				works(fmt.Sprintf("prompt %d", i))
			}
			w.largest.Store(4 * windowTokens)
			w.compact(false)
			failed := send("one more")
			before := w.rows()
			text := failed.Info.Error.Data.Message
			if text == "" {
				t.Fatalf("before the trim the prompt is answered: %+v", failed)
			}
			w.mend(exitDone, "scan")
			out := w.mend(exitProblems, "fix", text)
			m := regexp.MustCompile(`Next: mend (trim .*)`).FindStringSubmatch(out)
			if m == nil || !strings.Contains(out, "its newest answer failed with this error") {
				t.Fatalf("mend fix %q:\n%s", text, out)
			}
			out = w.mend(exitDone, append(strings.Fields(m[1]), "--yes")...)
			if !strings.Contains(out, "set aside") || !strings.Contains(out, "1 output of bash") {
				t.Errorf("mend %s:\n%s", m[1], out)
			}
			w.mend(exitDone, "undo", "--yes")
			if diff := cmp.Diff(before, w.rows()); diff != "" {
				t.Errorf("after the undo (-want +got):\n%s", diff)
			}
			w.mend(exitDone, append(strings.Fields(m[1]), "--yes")...)
			works("after the trim")
			w.compact(true)
			works("after the compaction")
			w.mend(exitDone, "undo", "--yes")
			after := w.rows()
			for row, want := range before {
				if after[row] != want {
					t.Errorf("after the undo %s is %s, want %s", row, after[row], want)
				}
			}
		})
	}
}

// windowTokens is the context window of the model of [newWindow].
const windowTokens = 40_000

// A window is a real server with a session, whose provider refuses requests that are longer than its model's window.
type window struct {
	*testing.T
	home    *opencode.Home
	server  *opencode.Server
	session string
	largest atomic.Int64 // in bytes
}

// A message is the part of OpenCode's answer that shows whether a prompt worked.
type message struct {
	Info struct {
		Finish string
		Error  struct {
			Name string
			Data struct{ Message string }
		}
	}
}

func newWindow(t *testing.T, version string) *window {
	t.Helper()
	exe, err := opencode.Install(version)
	if err != nil {
		t.Fatal(err)
	}
	w := &window{T: t}
	w.largest.Store(math.MaxInt64)
	api := endpoint.NewStrict(func(n int, r endpoint.Request) endpoint.Content {
		last := r.Messages[len(r.Messages)-1].Content
		if strings.Contains(last[0].Text, "LONG") {
			return endpoint.Content{endpoint.SignedThinking("Looking."), endpoint.Bash(r, "A", `head -c 20000 /dev/zero | tr '\0' y`, "much")}
		}
		return endpoint.Plain(n, r)
	}, func(body []byte) (rule, message string) {
		if largest := w.largest.Load(); int64(len(body)) > largest {
			return "too long", fmt.Sprintf("prompt is too long: %d tokens > %d maximum", len(body)/4, largest/4)
		}
		return "", ""
	})
	t.Cleanup(api.Close)
	w.home = opencode.New(t, exe, api, true)
	config, _ := pluginHome(w.home)
	config = filepath.Join(config, "opencode", "opencode.json")
	data, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte(`"context": 200000`), fmt.Appendf(nil, `"context": %d`, windowTokens), 1)
	if err := os.WriteFile(config, data, 0o644); err != nil {
		t.Fatal(err)
	}
	w.server = w.home.Serve()
	w.session = w.server.NewSession()
	return w
}

// compact compacts the session as a user does, and checks whether that works.
func (w *window) compact(works bool) {
	w.Helper()
	model := map[string]any{"providerID": "anthropic", "modelID": "claude-fake"}
	callServer(w.T, w.server, http.MethodPost, "/session/"+w.session+"/summarize", model, nil)
	rows := w.home.SQL("select data from message where session_id = ? and data like '%\"summary\":true%' order by id desc limit 1", w.session)
	if len(rows) == 0 || strings.Contains(rows[0]["data"].(string), `"error"`) == works {
		w.Errorf("the summary is %v, want one that works: %t", rows, works)
	}
}

// rows returns the rows of the session.
func (w *window) rows() map[string]string { return conversation(w.T, w.home) }

// mend runs mend with the settings of the home, and returns its output.
func (w *window) mend(code int, args ...string) string {
	w.Helper()
	config, state := pluginHome(w.home)
	cmd := mendCommand(w.T, w.home, state, args...)
	cmd.Env, cmd.Stderr = append(cmd.Env, "XDG_CONFIG_HOME="+config), nil
	out, _ := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != code {
		w.Fatalf("mend %q: exit code %d, want %d:\n%s", args, cmd.ProcessState.ExitCode(), code, out)
	}
	w.Logf("mend %q:\n%s", args, out)
	return string(out)
}
