package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mend/internal/test/endpoint"
)

// model is the model of Baseline: the program leaves out thinking of other models.
const model = "claude-opus-5-5"

// key is an API key; the endpoint accepts any.
const key = "x"

// Timeout is how long a prompt may take, even on a busy machine.
const Timeout = 4 * time.Minute

// A Home is a temporary home directory in which Claude Code knows only one provider, a test
// endpoint.
type Home struct {
	t      testing.TB
	cmd    []string
	dir    string
	folder string // the working directory of the program, below dir
}

// NewHome creates a home for the command that [Install] returned.
func NewHome(t testing.TB, cmd []string) *Home {
	t.Helper()
	h := &Home{t: t, cmd: slices.Clone(cmd), dir: t.TempDir(), folder: "work"}
	t.Cleanup(h.killRest) // before the files are removed
	for _, dir := range []string{h.Root(), h.work()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// Dir returns the home folder.
func (h *Home) Dir() string { return h.dir }

// Sessions returns the ids of the transcripts in the home.
func (h *Home) Sessions() (ids []string) {
	entries, _ := os.ReadDir(filepath.Dir(h.File("")))
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".jsonl"); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

// killRest kills processes left by the program, such as a call that outlives it: they write into the home
// while it is removed.
func (h *Home) killRest() {
	h.waitFor(func() (left int) {
		for _, p := range h.processes() {
			_ = p.Kill()
			left++
		}
		return left
	})
}

// WaitEnded waits until no process has the name of the program. A process that it was about to start when it
// was killed has that name for a moment, longer on a busy machine.
func (h *Home) WaitEnded() {
	h.waitFor(func() (left int) {
		for _, p := range h.processes() {
			exe, _ := os.Readlink(filepath.Join("/proc", strconv.Itoa(p.Pid), "exe"))
			comm, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.Pid), "comm"))
			if strings.HasPrefix(string(comm), "claude") || slices.Contains([]string{"claude", "node"}, filepath.Base(exe)) {
				left++
			}
		}
		return left
	})
}

func (h *Home) waitFor(left func() int) {
	for end := time.Now().Add(30 * time.Second); left() > 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}

// processes returns the processes in the home, where the system lists them.
func (h *Home) processes() (all []*os.Process) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		dir, err := os.Readlink(filepath.Join("/proc", e.Name(), "cwd"))
		environ, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil || !within(h.dir, dir) && !bytes.Contains(environ, []byte("\x00HOME="+h.dir+"\x00")) {
			continue
		}
		if p, err := os.FindProcess(pid); err == nil {
			all = append(all, p)
		}
	}
	return all
}

func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Root returns the folder of Claude Code's settings.
func (h *Home) Root() string { return filepath.Join(h.dir, ".claude") }

func (h *Home) work() string { return filepath.Join(h.dir, h.folder) }

// In returns the same home with another working directory of the program.
func (h *Home) In(folder string) *Home {
	h.t.Helper()
	other := *h
	other.folder = folder
	if err := os.MkdirAll(other.work(), 0o755); err != nil {
		h.t.Fatal(err)
	}
	return &other
}

var notInFolder = regexp.MustCompile(`[^a-zA-Z0-9]`)

// File returns the path of a session's transcript.
func (h *Home) File(session string) string {
	return filepath.Join(h.Root(), "projects", notInFolder.ReplaceAllString(h.work(), "-"), session+".jsonl")
}

// Put writes the transcript of a session.
func (h *Home) Put(session string, data []byte) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(h.File(session)), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(h.File(session), data, 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// Read returns the transcript of a session.
func (h *Home) Read(session string) []byte {
	h.t.Helper()
	data, err := os.ReadFile(h.File(session))
	if err != nil {
		h.t.Fatal(err)
	}
	return data
}

// A Reply is the result of a prompt.
type Reply struct {
	Answered bool     // the program printed an answer
	Blocks   []string // of the first request that is not for a title: the stored blocks, in short
	Rule     string   // the rule that the first request broke
	Raw      []byte   // that request
	Output   string
}

// Prompt sends one more prompt in a session, or in a new one if resume is false, with more flags, and returns
// the result. The session "" is the one that --continue selects.
func (h *Home) Prompt(session, prompt string, resume bool, flags ...string) Reply {
	h.t.Helper()
	which := []string{sessionFlag(resume), session}
	if session == "" {
		which = []string{"--continue"}
	}
	return h.ask(prompt, append(append(which, "--model", model), flags...)...)
}

// sessionFlag returns the flag before the id of a session.
func sessionFlag(resume bool) string {
	if resume {
		return "--resume"
	}
	return "--session-id"
}

// Resume sends one more prompt in a session with the program's default model, without compacting.
func (h *Home) Resume(session, prompt string) Reply {
	h.t.Helper()
	return h.ask(prompt, "--resume", session, "--settings", `{"autoCompactEnabled":false}`)
}

func (h *Home) ask(prompt string, flags ...string) Reply {
	h.t.Helper()
	api := NewEndpoint(Script)
	defer api.Close()
	r := h.run(api, prompt, flags...)
	for _, c := range api.Calls() {
		if len(c.Request.Tools) > 0 && bytes.Contains(c.Raw, jsonText(prompt)) { // not a subagent's request, which 2.0 starts by itself
			r.Rule, r.Raw, r.Blocks = c.Rule, c.Raw, Stored(c.Raw, prompt)
			break
		}
	}
	return r
}

// PromptAt sends one more prompt in a session, or in a new one, to an endpoint that remembers its answers.
func (h *Home) PromptAt(api *endpoint.Server, session, prompt string, resume bool) Reply {
	h.t.Helper()
	return h.run(api, prompt, sessionFlag(resume), session, "--model", model)
}

func (h *Home) run(api *endpoint.Server, prompt string, flags ...string) Reply {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), Timeout)
	defer cancel()
	cmd := h.command(ctx, api.URL, append([]string{"-p", prompt, "--allowedTools", "Bash,Read,Edit"}, flags...)...)
	out, err := cmd.CombinedOutput()
	h.WaitEnded()
	return Reply{Answered: err == nil || errors.Is(err, exec.ErrWaitDelay), Output: string(out)}
}

// jsonText returns a text as in JSON, without quotes.
func jsonText(text string) []byte {
	quoted, _ := json.Marshal(text) // a string can always be encoded
	return quoted[1 : len(quoted)-1]
}

// Start starts a prompt and returns the process.
func (h *Home) Start(ctx context.Context, api, session, prompt string, resume bool) *exec.Cmd {
	h.t.Helper()
	cmd := h.command(ctx, api, "-p", sessionFlag(resume), session, prompt, "--model", model, "--allowedTools", "Bash,Read,Edit")
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	return cmd
}

// command returns a command with the complete environment of the program. From the test's environment it takes
// only the search path, and so no credential and no proxy.
func (h *Home) command(ctx context.Context, api string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.cmd[0], append(h.cmd[1:len(h.cmd):len(h.cmd)], args...)...)
	cmd.WaitDelay = 30 * time.Second // a call may outlive the program and hold its output open
	cmd.Dir = h.work()
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "PWD=" + h.work(), "TMPDIR=" + h.dir,
		"ANTHROPIC_BASE_URL=" + api, "ANTHROPIC_API_KEY=" + key,
		"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"IS_SANDBOX=1",
		"NODE_OPTIONS=--max-old-space-size=768", // some transcripts make older versions use unlimited memory
	}
	return cmd
}

// The texts that the program adds by itself.
var added = []string{"<system-reminder>", "No response requested."}

// Stored returns the blocks of a request that come from the transcript, one line each.
func Stored(body []byte, prompt string) (all []string) {
	var r struct {
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if json.Unmarshal(body, &r) != nil {
		return nil
	}
	for _, m := range r.Messages {
		var blocks []map[string]any
		if json.Unmarshal(m.Content, &blocks) != nil {
			var text string
			_ = json.Unmarshal(m.Content, &text)
			blocks = []map[string]any{{"type": "text", "text": text}}
		}
		all = append(all, storedLines(m.Role, blocks, prompt)...)
	}
	return all
}

// storedLines returns the blocks of a message that come from the transcript, one line each.
func storedLines(role string, blocks []map[string]any, prompt string) (all []string) {
	for _, b := range blocks {
		if line := role + " " + short(b); role != "system" && !isAdded(b, prompt) {
			all = append(all, line)
		}
	}
	return all
}

func isAdded(b map[string]any, prompt string) bool {
	text, _ := b["text"].(string)
	for _, begin := range added {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	return text == prompt && text != ""
}

// short returns a block without details that tests do not compare.
func short(b map[string]any) string {
	delete(b, "cache_control")
	if list, ok := b["citations"].([]any); ok && len(list) == 0 { // in a text that the program adds
		delete(b, "citations")
	}
	if b["is_error"] == false {
		delete(b, "is_error")
	}
	if text, ok := b["text"].(string); ok {
		b["text"] = strings.TrimSpace(text)
	}
	if list, ok := b["content"].([]any); ok { // the program adds a text to it
		b["content"] = slices.DeleteFunc(list, func(v any) bool {
			in, _ := v.(map[string]any)
			text, _ := in["text"].(string)
			if in["type"] == "text" {
				in["text"] = strings.TrimSpace(text)
			}
			return strings.HasPrefix(text, added[0])
		})
	}
	if text, ok := b["content"].(string); ok { // the program adds texts to some results
		text, _, _ = strings.Cut(text, "\n\n"+added[0])
		b["content"] = strings.TrimSpace(text) // as the program then does
	}
	line, err := json.Marshal(b)
	if err != nil || len(line) > 1000 {
		return string(bytes.ToValidUTF8(line[:min(len(line), 1000)], nil))
	}
	return string(line)
}

// calls matches a prompt that asks the endpoint for tool calls: a list of names and inputs.
var calls = regexp.MustCompile(`CALL (\[\[.*?\]\])END`)

// Script answers a prompt with the calls that it asks for, and anything else with a text.
func Script(_ int, r endpoint.Request) endpoint.Content {
	var answer endpoint.Content
	if r.Thinking.On() && len(r.Tools) > 0 {
		answer = endpoint.Content{endpoint.SignedThinking("Considering.")}
	}
	last := lastTurn(r)
	for _, b := range last {
		if b.Type == "tool_result" {
			return append(answer, endpoint.Text("Done."))
		}
	}
	for i := len(last) - 1; i >= 0 && len(r.Tools) > 0; i-- {
		m := calls.FindStringSubmatch(last[i].Text)
		if m == nil {
			continue
		}
		var list [][2]json.RawMessage
		if json.Unmarshal([]byte(m[1]), &list) != nil {
			break
		}
		answer = append(answer, endpoint.Text("Running."))
		for k, c := range list {
			call := endpoint.Bash(r, string(rune('A'+k)), "", "")
			_ = json.Unmarshal(c[0], &call.Name)
			call.Input = c[1]
			answer = append(answer, call)
		}
		return answer
	}
	return append(answer, endpoint.Text("Hello."))
}

// lastTurn returns the user's blocks after the last answer.
func lastTurn(r endpoint.Request) (blocks endpoint.Content) {
	for _, m := range r.Messages {
		switch m.Role {
		case "assistant":
			blocks = nil
		case "user":
			blocks = append(blocks, m.Content...)
		}
	}
	return blocks
}

// Converse sends prompts one after the other to one process that continues a session. It calls before with
// the number of each prompt, before sending it.
func (h *Home) Converse(ctx context.Context, api, session string, prompts []string, before func(i int)) error {
	h.t.Helper()
	cmd := h.command(ctx, api, "-p", "--resume", session, "--model", model, "--allowedTools", "Bash,Read,Edit",
		"--input-format", "stream-json", "--output-format", "stream-json", "--verbose")
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := json.NewDecoder(out)
	for i, p := range prompts {
		before(i)
		message := map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": p}}
		if err := json.NewEncoder(in).Encode(message); err != nil {
			return err
		}
		for event := (struct{ Type string }{}); event.Type != "result"; {
			if err := lines.Decode(&event); err != nil {
				return err
			}
		}
	}
	if err := in.Close(); err != nil {
		return err
	}
	for event := (struct{ Type string }{}); lines.Decode(&event) == nil; {
	}
	_ = cmd.Wait()
	h.WaitEnded()
	return nil
}
