//go:build e2e

package main

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/claude"
	"mend/internal/test/codex"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// TestTrimReal: the real program no longer sends trimmed outputs, sends the content before a compaction again after its
// removal, and answers the prompt in both cases.
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
			if code, out := ts.mend("trim", "--yes", ts.session, "--to", "3000", "--keep-turns", "0"); code != frame.ExitDone {
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
			if code, out := ts.mend("trim", ts.session, "--to", "1000", "--keep-turns", "0", "--hard", "--yes"); code != frame.ExitDone {
				t.Fatalf("mend trim --hard: exit code %d:\n%s", code, out)
			}
			if sent := body(c.prompt()); bytes.Contains(sent, text) || bytes.Contains(sent, file) || bytes.Count(sent, []byte("taken out of this conversation")) != 2 {
				t.Errorf("after trim --hard the request is %.5000s", sent)
			}
			c.checkUndo()

			damage.Edit(ts, ts.path, ts.session, damage.ByName(t, "compacted"))
			c = pool.start(ts)
			if n := bytes.Count(body(c.before), long); n != 0 {
				t.Fatalf("%d long outputs after a compaction, want 0", n)
			}
			if code, out := ts.mend("uncompact", "--yes", ts.session); code != frame.ExitDone {
				t.Fatalf("mend restore --compaction: exit code %d:\n%s", code, out)
			}
			if n := bytes.Count(body(c.prompt()), long); n != 3 {
				t.Errorf("%d long outputs after the compaction is taken back, want 3", n)
			}
			c.checkUndo()
		})
	}
}

// TestTrimRealCompaction: in a session that is too long for its model, even for a compaction, the real program fails at
// each prompt. "mend fix" with its error leads to a trim, after which a compaction and the next prompt work. An undo
// restores each byte.
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
			w.mend(frame.ExitDone, "scan")
			out := w.mend(frame.ExitProblems, "fix", text)
			m := regexp.MustCompile(`Next: mend (trim .*)`).FindStringSubmatch(out)
			if m == nil || !strings.Contains(out, "its newest answer failed with this error") {
				t.Fatalf("mend fix %q:\n%s", text, out)
			}
			out = w.mend(frame.ExitDone, append(strings.Fields(m[1]), "--yes")...)
			if !strings.Contains(out, "set aside") || !strings.Contains(out, "1 output of bash") {
				t.Errorf("mend %s:\n%s", m[1], out)
			}
			w.mend(frame.ExitDone, "undo", "--yes")
			if diff := cmp.Diff(before, w.rows()); diff != "" {
				t.Errorf("after the undo (-want +got):\n%s", diff)
			}
			w.mend(frame.ExitDone, append(strings.Fields(m[1]), "--yes")...)
			works("after the trim")
			w.compact(true)
			works("after the compaction")
			w.mend(frame.ExitDone, "undo", "--yes")
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

// A window is a real server with a session, and a provider that refuses requests longer than the window of its model.
type window struct {
	*testing.T
	home    *opencode.Home
	server  *opencode.Server
	session string
	largest atomic.Int64 // in bytes
}

// A message has the members of OpenCode's answer that show whether a prompt worked.
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
	return string(out)
}

// TestTrimRealCodex: the prompts and remote compactions of a thread of the real Codex are too long until a trim.
func TestTrimRealCodex(t *testing.T) {
	t.Parallel()
	exe, err := codex.Install(*codexVersion)
	if err != nil {
		t.Skip(err)
	}
	h := codex.NewHome(t, exe)
	const largest = 250_000
	h.API.URL = compacting(t, h.API.URL, largest)
	settings := bytes.Replace(h.Config(), []byte(`name = "fake"`), []byte(`name = "OpenAI"`), 1) // only this one compacts remotely
	h.Write("config.toml", settings)
	for range 4 {
		h.Prompt(testdata.CodexSession, "one more "+strings.Repeat("word ", 12_000))
	}
	if r := h.Prompt(testdata.CodexSession, "go on"); r.Answered || !strings.Contains(r.Output, "ran out of room in the model's context window") {
		t.Fatalf("before the trim: %s", r.Output)
	}
	compact := append([]byte("model_auto_compact_token_limit = 1\n"), settings...)
	h.Write("config.toml", compact)
	r := h.Prompt(testdata.CodexSession, "compact")
	text := regexp.MustCompile(`Error running remote compact task: .*`).FindString(r.Output)
	if r.Answered || text == "" {
		t.Fatalf("the compaction before the trim: %s", r.Output)
	}
	mend := tooLongStory(t, h.Root(), text, func() []byte { return mustRead(t, h.Rollout()) })
	h.Write("config.toml", settings)
	if r := h.Prompt(testdata.CodexSession, "go on"); !r.Answered {
		t.Errorf("after the trim: %s", r.Output)
	}
	h.Write("config.toml", compact)
	if r := h.Prompt(testdata.CodexSession, "compact"); !r.Answered || !bytes.Contains(mustRead(t, h.Rollout()), []byte(`"type":"compacted"`)) {
		t.Errorf("the compaction after the trim: %s", r.Output)
	}
	mend(frame.ExitDone, "undo", "--yes")
}

// TestTrimRealClaude: the prompts of a session of the real Claude Code are too long until a trim. The compaction of
// 2.1.30 fails, too; 2.1.332 leaves old messages out of a compaction by itself.
func TestTrimRealClaude(t *testing.T) {
	t.Parallel()
	for version, fails := range map[string]bool{claude.Versions[0]: false, "2.1.30": true} {
		t.Run(version, func(t *testing.T) {
			if fails {
				storetest.Long(t)
			}
			cmd, err := claude.Install(version)
			if err != nil {
				t.Skip(err)
			}
			const largest = 380_000
			h := claude.NewHome(t, cmd)
			api := endpoint.NewStrict(claude.Script, func(body []byte) (rule, message string) {
				if len(body) > largest {
					return "too long", fmt.Sprintf("prompt is too long: %d tokens > %d maximum", len(body)/4, largest/4)
				}
				return "", ""
			})
			t.Cleanup(api.Close)
			data := claude.Baseline
			for _, p := range []string{"P2second", "P3third", "P5fifth", "P6sixth"} {
				data = bytes.ReplaceAll(data, []byte(p), []byte(p+" "+strings.Repeat("word ", 20_000)))
			}
			h.Put(claude.Session, data)
			if err := os.WriteFile(filepath.Join(h.Root(), "settings.json"), []byte(`{"autoCompactEnabled":false}`), 0o600); err != nil {
				t.Fatal(err)
			}
			text := "Prompt is too long"
			if r := h.PromptAt(api, claude.Session, "go on", true); r.Answered || !strings.Contains(r.Output, text) {
				t.Fatalf("before the trim: %s", r.Output)
			}
			if fails {
				h.PromptAt(api, claude.Session, "/compact", true)
				text = "Error: Error during compaction: Error: Conversation too long. Press esc twice to go up a few messages and try again."
				if !bytes.Contains(h.Read(claude.Session), []byte(text)) {
					t.Fatal("the compaction before the trim does not fail")
				}
			}
			mend := tooLongStory(t, h.Root(), text, func() []byte { return h.Read(claude.Session) })
			if r := h.PromptAt(api, claude.Session, "go on", true); !r.Answered {
				t.Errorf("after the trim: %s", r.Output)
			}
			if h.PromptAt(api, claude.Session, "/compact", true); !bytes.Contains(h.Read(claude.Session), []byte(`"compact_boundary"`)) {
				t.Error("after the trim the session is not compacted")
			}
			mend(frame.ExitDone, "undo", "--yes")
		})
	}
}

// tooLongStory fixes the session of an agent with the text of an error, undoes that, checks that every byte is
// restored, and fixes the session again. It returns a function that runs mend.
func tooLongStory(t *testing.T, root, text string, stored func() []byte) (mend func(code int, args ...string) string) {
	t.Helper()
	journal := t.TempDir()
	mend = func(code int, args ...string) string {
		t.Helper()
		got, out := runMend(t, root, journal, args...)
		if got != code {
			t.Fatalf("mend %q: exit code %d, want %d:\n%s", args, got, code, out)
		}
		return out
	}
	before := stored()
	out := mend(frame.ExitProblems, "fix", text)
	m := regexp.MustCompile(`Next: mend (trim \S+ --to \d+(?: --hard)?)`).FindStringSubmatch(out)
	if m == nil || !strings.Contains(out, "its newest answer failed with this error") {
		t.Fatalf("mend fix %q does not lead to a trim:\n%s", text, out)
	}
	trim := append(strings.Fields(m[1]), "--yes")
	mend(frame.ExitDone, trim...)
	mend(frame.ExitDone, "undo", "--yes")
	if !bytes.Equal(stored(), before) {
		t.Error("the undo does not restore the bytes")
	}
	mend(frame.ExitDone, trim...)
	return mend
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// compacting returns the URL of a proxy for the provider at target. The proxy refuses requests of more than largest
// bytes as too long, and compacts conversations as OpenAI's provider does.
func compacting(t *testing.T, target string, largest int) string {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		switch {
		case len(body) > largest:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`)
		case bytes.Contains(body, []byte(`"type":"compaction_trigger"`)):
			issued := regexp.MustCompile(`"encrypted_content":"[^"]+"`).Find(body) // the provider knows it
			item := fmt.Sprintf(`{"type":"compaction","id":"cmp_1",%s}`, issued)
			w.Header().Set("Content-Type", "text/event-stream")
			for _, e := range []string{
				`{"type":"response.created","response":{"id":"resp_c"}}`,
				`{"type":"response.output_item.done","output_index":0,"item":` + item + `}`,
				`{"type":"response.completed","response":{"id":"resp_c","output":[` + item + `],"usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}`,
			} {
				_, _ = fmt.Fprintf(w, "data: %s\n\n", e)
			}
		default:
			r.Body = io.NopCloser(bytes.NewReader(body))
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.Close)
	return front.URL
}
