package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/adrg/xdg"
	"github.com/charmbracelet/x/ansi"
	"github.com/fatih/color"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/term"
	"mend/internal/test/claude"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/internal/userdir"
	"mend/testdata"
)

const screensGolden = "testdata/screens.golden"

// emptyScreens are command lines for a home without a store, storeScreens for a home with a store of OpenCode and one
// of Claude Code, each with a broken session. They run in this order, so that later lines show the effect of earlier
// lines.
var (
	emptyScreens = []string{
		"mend", "mend help", "mend help exit-codes", "mend explain R11", "mend explain latent", "mend explain tool_result_missing",
		"mend config autoResume placeholderText", "mend scan", "mend log", "mend verify",
	}
	storeScreens = []string{
		"mend", "mend scan", "mend", "mend scan -v", "mend scan 計画", "mend scan 計画 --request",
		"mend fix --dry-run", "mend fix 計画 --dry-run -v", "mend fix 計画 --dry-run -p",
		"mend fix messages: text content blocks must contain non-whitespace text --dry-run",
		"mend fix messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01", "mend fix npm ERR",
		"mend fix", "mend fix 計画 --yes", "mend fix --agent claude --yes", "mend", "mend log", "mend log 計画 -n 1", "mend log qevajo",
		"mend undo", "mend undo nosuch", "mend undo qevajo --dry-run", "mend undo qevajo -p --dry-run", "mend undo qevajo", "mend undo qevajo --yes", "mend undo qevajo", "mend undo --redo qevajo --yes", "mend log",
		"mend report 計画", "mend report 計画", "mend trim 計画 --dry-run", "mend trim 計画 --to 1 --keep-turns 0 --dry-run", "mend restore --compaction 計画", "mend move", "mend move /home/user/project nowhere", "mend salvage", "mend clean", "mend clean events --dry-run", "mend clean sessions nosuch --dry-run", "mend clean images --dry-run", "mend clean snapshots --dry-run", "mend clean pages --dry-run", "mend restore",
		"mend recover", "mend recover qevajo --keep", "mend verify", "mend forget --older-than 0s --dry-run", "mend forget 計画 --dry-run",
		"mend forget 計画", "mend forget --older-than 0s --yes", "mend log", "mend log qevajo",
		"mend keep --dry-run", "mend keep", "mend", "mend forget --copies 計画",
		"mend install --yes", "mend", "mend install --remove --yes", "mend scan nosuch", "mend scna", "mend ui",
		"mend config maxRetries skip", "mend config set maxRetries 5",
	}
)

// TestScreens compares the output of each verb with testdata/screens.golden, on terminals of 80 and 120
// columns, with colours and without. -update writes it. No line is longer than the terminal, except lines of
// a diff and commands to copy.
func TestScreens(t *testing.T) {
	if testing.Short() {
		t.Skip("scans stores")
	}
	plain := color.NoColor
	t.Cleanup(func() { color.NoColor = plain })
	golden, err := filepath.Abs(screensGolden) // each variant runs in its own folder
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, v := range []screenVariant{{80, false}, {100, false}, {120, false}, {80, true}} {
		v.run(t, &all, false, emptyScreens)
		v.run(t, &all, true, storeScreens)
	}
	storetest.Golden(t, golden, all.String(), *update)
}

// TestAnswers: the JSON answer of each verb is valid.
func TestAnswers(t *testing.T) {
	if testing.Short() {
		t.Skip("scans stores")
	}
	schema, err := outputSchema()
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, stores := range []bool{false, true} {
		home := newHome(t)
		t.Chdir(home)
		lines := emptyScreens
		if stores {
			writeScreenStores(t, home)
			lines = append(slices.Clone(storeScreens), "mend install --remove --dry-run", "mend install --dry-run", "mend demo", "mend completion bash", "mend version")
		}
		for _, line := range lines {
			var out, stderr strings.Builder
			run(append([]string{"--json"}, strings.Fields(line)[1:]...), &term.Terminal{Out: &out, Err: &stderr, In: strings.NewReader("")})
			answer, err := jsonschema.UnmarshalJSON(strings.NewReader(out.String()))
			if err == nil {
				err = schema.Validate(answer)
			}
			if err != nil {
				t.Errorf("%s --json: %v\n%s", line, err, out.String())
				continue
			}
			used[fmt.Sprint(answer.(map[string]any)["command"])] = true
		}
	}
	eachCommand(newRoot(&frame.Env{Terminal: &term.Terminal{}}), func(cmd *cobra.Command) {
		name := frame.CommandName(cmd)
		former := cmd.Hidden || cmd.HasParent() && cmd.Parent().Hidden   // a former name of a verb
		if cmd.Runnable() && !former && !used[name] && name != "watch" { // it runs until it is stopped
			t.Errorf("no answer of %q was validated: add a line to storeScreens", name)
		}
	})
}

// A screenVariant is a kind of terminal.
type screenVariant struct {
	width   int
	colored bool
}

// run runs the command lines in a new home and appends their output to all.
func (v screenVariant) run(t *testing.T, all *strings.Builder, stores bool, lines []string) {
	home := newHome(t)
	t.Chdir(home)
	if stores {
		writeScreenStores(t, home)
	}
	color.NoColor = !v.colored
	for _, line := range lines {
		var b strings.Builder
		code := run(strings.Fields(line)[1:], &term.Terminal{Out: &b, Err: &b, In: strings.NewReader(""), Width: v.width, ErrWidth: v.width})
		out := strings.ReplaceAll(b.String(), home, "$HOME")
		for _, p := range volatile {
			if p.with != "AGE" {
				out = p.pattern.ReplaceAllString(out, p.with)
			}
		}
		for text := range strings.Lines(out) {
			if n := ansi.StringWidth(strings.TrimSuffix(text, "\n")); n > v.width {
				t.Errorf("%s: a line has %d of %d columns: %q", line, n, v.width, text)
			}
		}
		fmt.Fprintf(all, "-- %s, %d columns, colours %s: exit code %d --\n%s", line, v.width, show.OnOrOff(v.colored), code, strings.ReplaceAll(out, "\x1b", "␛"))
	}
}

// newHome creates a home for verbs that run in this process, so that they do not use the journal, cache and settings of
// the user.
func newHome(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	home := filepath.Join(dir, strings.Repeat("h", max(1, 64-len(dir)))) // the length of the path affects where lines are wrapped
	if err := os.Mkdir(home, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(xdg.Reload) // runs after the variables are restored, which the package reads only at start
	t.Setenv("HOME", home)
	for _, name := range []string{"XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "OPENCODE_CONFIG_DIR", "CLAUDE_CONFIG_DIR", "NO_COLOR", "COLUMNS", "PAGER"} {
		t.Setenv(name, "")
	}
	xdg.Reload()
	for _, folder := range []func() (string, error){userdir.State, userdir.Cache, userdir.Config} {
		if dir, err := folder(); err != nil || !strings.HasPrefix(dir, home) {
			t.Fatalf("the folder %q is not in the home of the test: %v", dir, err)
		}
	}
	return home
}

// writeScreenStores writes a store of OpenCode and one of Claude Code. The title of the session of OpenCode has wide
// letters, an emoji of several characters, and letters from right to left.
func writeScreenStores(t *testing.T, home string) {
	t.Helper()
	data := filepath.Join(home, ".local", "share")
	if err := os.MkdirAll(data, 0o755); err != nil {
		t.Fatal(err)
	}
	id, err := testdata.Unpack(testdata.OpenCode1153, data)
	if err != nil {
		t.Fatal(err)
	}
	store := filepath.Join(data, "opencode", "storage")
	for _, name := range []string{"blank answer", "tool running", "part of no bytes"} {
		damage.Edit(t, store, id, damage.ByName(t, name))
	}
	paths, err := filepath.Glob(filepath.Join(store, "session", "*", id+".json"))
	if err != nil || len(paths) != 1 {
		t.Fatalf("files of the session: %q, %v", paths, err)
	}
	text, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	var session map[string]any
	if err := json.Unmarshal(text, &session); err != nil {
		t.Fatal(err)
	}
	session["title"] = "計画 👩\u200d👩\u200d👧 תקן את הבדיקות"
	used := time.Now().Add(-3*time.Hour - time.Minute).UnixMilli()
	session["time"] = map[string]any{"created": used, "updated": used}
	if text, err = json.Marshal(session); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(paths[0], text, 0o644); err != nil {
		t.Fatal(err)
	}
	broken := claude.New()
	claude.ByName("parent unknown").Apply(broken)
	dir := filepath.Join(home, ".claude", "projects", "-home-user-project")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, claude.Session+".jsonl"), broken.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
