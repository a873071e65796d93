package codex

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/ownfile"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// Timeout is how long a prompt may take, even on a busy machine.
const Timeout = 3 * time.Minute

// File is the path of the rollout of the session in [testdata.Codex], below the folder of Codex.
const File = "sessions/2026/11/22/rollout-2026-11-22T15-51-04-" + testdata.CodexSession + ".jsonl"

// A Home is a temporary home directory in which Codex knows only a strict endpoint as provider, which has
// issued the content of [testdata.Codex].
type Home struct {
	t    testing.TB
	exe  string
	dir  string
	work string // the working directory of the program, below dir
	API  *endpoint.Server
}

// NewHome creates a home for the program that [Install] returned, with the session of [testdata.Codex]. The
// endpoint also issued the content of the other rollouts.
func NewHome(t testing.TB, exe string, others ...[]byte) *Home {
	t.Helper()
	issued := bytes.Join(append(others, testdata.Codex), nil)
	h := &Home{t: t, exe: exe, dir: t.TempDir(), work: "work", API: endpoint.NewKnown(nil, knownContent(issued))}
	t.Cleanup(h.API.Close)
	h.Write(File, testdata.Codex)
	h.Write(filepath.Join("..", h.work, "README"), nil)
	h.Write("config.toml", h.Config())
	return h
}

// Config returns settings that name the endpoint.
func (h *Home) Config() []byte {
	return fmt.Appendf(nil, "model = \"gpt-5-fake\"\nmodel_provider = \"fake\"\ncheck_for_update_on_startup = false\n\n[model_providers.fake]\nname = \"fake\"\nbase_url = %q\nwire_api = \"responses\"\nrequest_max_retries = 0\nstream_max_retries = 0\n\n[projects.%q]\ntrust_level = \"trusted\"\n", h.API.URL+"/openai", h.Work())
}

// knownContent returns the content of a rollout that the endpoint issued.
func knownContent(rollout []byte) endpoint.Known {
	k := endpoint.Known{Encrypted: map[string]string{}, Items: map[string][]string{}}
	var group []string
	thought := false // the previous item was reasoning
	for line := range bytes.Lines(rollout) {
		var r struct {
			Type    string
			Payload struct {
				Type, Role, ID string
				Encrypted      string `json:"encrypted_content"`
			}
		}
		if json.Unmarshal(line, &r) != nil || r.Type != "response_item" {
			continue
		}
		p := r.Payload
		isReasoning := p.Type == "reasoning"
		if isReasoning {
			k.Encrypted[p.Encrypted] = endpoint.FirstAccount
		}
		switch {
		case isReasoning && !thought:
			group = []string{p.ID}
		case isReasoning || strings.HasSuffix(p.Type, "_call") || p.Role == "assistant":
			group = append(group, p.ID)
		default:
			group = nil
		}
		thought = isReasoning
		for _, id := range group {
			k.Items[id] = group
		}
	}
	return k
}

// Dir returns the home folder.
func (h *Home) Dir() string { return h.dir }

// Root returns the folder of Codex.
func (h *Home) Root() string { return filepath.Join(h.dir, ".codex") }

// Work returns the working directory of the program.
func (h *Home) Work() string { return filepath.Join(h.dir, h.work) }

// In returns the same home with another working directory.
func (h *Home) In(folder string) *Home {
	other := *h
	other.work = folder
	return &other
}

// Rollout returns the path of the session's file.
func (h *Home) Rollout() string { return filepath.Join(h.Root(), File) }

// Write writes a file below the folder of Codex.
func (h *Home) Write(name string, data []byte) {
	h.t.Helper()
	file := filepath.Join(h.Root(), name)
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// Save saves the folder of Codex. restore restores it.
func (h *Home) Save() (restore func()) {
	h.t.Helper()
	return storetest.Save(h.t, h.Root())
}

// A Reply is the result of a prompt.
type Reply struct {
	Answered bool     // the program ended without an error
	Sent     bool     // it sent a request
	Rule     string   // the rule that the first request broke
	Message  string   // the provider's message
	Items    []string // the items of the first request, shortened, without those that the program adds at each start
	Output   string
}

// Fate returns the state of the session in a word: alive, dead, or the rule that the provider refused it for.
func (r Reply) Fate() string {
	switch {
	case r.Rule != "":
		return r.Rule
	case r.Answered:
		return "alive"
	}
	return "dead"
}

// Prompt sends one more prompt in a session. The session --last is the newest of the folder.
func (h *Home) Prompt(session, prompt string) Reply {
	h.t.Helper()
	return h.exec(prompt, "resume", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", session)
}

// sessionLine matches the program's line with the id of a new session.
var sessionLine = regexp.MustCompile(`session id: ([0-9a-f-]{36})`)

// Begin sends the first prompt of a session in the folder, and returns its id.
func (h *Home) Begin(prompt string) (session string, r Reply) {
	h.t.Helper()
	r = h.exec(prompt, "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")
	if m := sessionLine.FindStringSubmatch(r.Output); m != nil {
		session = m[1]
	}
	return session, r
}

func (h *Home) exec(prompt string, args ...string) Reply {
	h.t.Helper()
	before := len(h.API.Calls())
	ctx, cancel := context.WithTimeout(h.t.Context(), Timeout)
	defer cancel()
	cmd := h.Command(ctx, append(append([]string{"exec"}, args...), prompt)...)
	out, err := cmd.CombinedOutput()
	r := Reply{Answered: err == nil, Output: string(out)}
	if calls := h.API.Calls()[before:]; len(calls) > 0 {
		r.Sent, r.Rule, r.Message, r.Items = true, calls[0].Rule, calls[0].Message, Items(calls[0].Raw, prompt)
	}
	return r
}

// Command returns a command of the program with its complete environment.
func (h *Home) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, h.exe, args...)
	cmd.Dir = h.Work()
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.dir, "CODEX_HOME=" + h.Root(), "PWD=" + h.Work(), "TMPDIR=" + h.dir, "NO_COLOR=1"}
	return cmd
}

// Items returns the stored items of a request, one line each.
func Items(body []byte, prompt string) (all []string) {
	var q struct{ Input []map[string]any }
	if json.Unmarshal(body, &q) != nil {
		return nil
	}
	for _, it := range q.Input {
		delete(it, "internal_chat_message_metadata_passthrough")
		text, _ := json.Marshal(it) // it was decoded from JSON
		all = append(all, string(text))
	}
	// The instructions come first; after the stored items come the program's texts about its environment, and
	// the prompt.
	if len(all) == 0 {
		return nil
	}
	all = all[1:]
	for i, line := range all {
		if strings.Contains(line, prompt) {
			all = all[:i]
			break
		}
	}
	for len(all) > 0 && surroundings.MatchString(all[len(all)-1]) && !strings.Contains(all[len(all)-1], "/home/user/src/cx") {
		all = all[:len(all)-1]
	}
	return all
}

// surroundings matches the program's texts about its environment.
var surroundings = regexp.MustCompile(`"text":"\\u003c(environment_context|skills_instructions|permissions instructions)`)

// SQL changes the index.
func (h *Home) SQL(sql string) {
	h.t.Helper()
	db, err := sqlite3.Open(filepath.Join(h.Root(), "state_5.sqlite"))
	if err == nil {
		err = errors.Join(db.Exec(sql), db.Close())
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// Rows returns the rows of the index, as text.
func (h *Home) Rows() string {
	h.t.Helper()
	file := filepath.Join(h.Root(), "state_5.sqlite")
	if _, err := os.Stat(file); err != nil {
		return ""
	}
	var all strings.Builder
	for _, row := range damage.SQL(h.t, file)("SELECT * FROM threads") {
		fmt.Fprintf(&all, "%q\n", row)
	}
	return all.String()
}

// Lock holds the lock of a session as a running Codex does, until the function is called.
func (h *Home) Lock(session string) (unlock func()) {
	h.t.Helper()
	name := "thread-writer-locks/" + session + ".lock"
	h.Write(name, nil)
	l, err := ownfile.Acquire(filepath.Join(h.Root(), name), os.O_RDWR, false, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	return func() { _ = l.Close() } // a test of the lock, which nothing was written to
}
