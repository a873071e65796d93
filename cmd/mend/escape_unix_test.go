//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
	"mend/internal/test/codex"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// hostile has every kind of character that controls a terminal or is invisible: control characters of ASCII and
// Latin-1, escape sequences, direction marks, invisible characters and line separators. It also has a line that looks
// like mend's.
var hostile = func() string {
	var b strings.Builder
	for _, span := range [][2]rune{{0, 0x1f}, {0x7f, 0xa0}, {0xad, 0xad}, {0x61c, 0x61c}, {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202f}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0001, 0xe0001}, {0xe0041, 0xe0041}} {
		for r := span[0]; r <= span[1]; r++ {
			b.WriteRune(r)
		}
	}
	return b.String() + "\x1b[31m\x1b[2J\x1b]0;title\a\u009b31m\n" + forged + "\n"
}()

const forged = "a forged line"

// printCases are command lines for each command. They run one after another on the hostile stores. SESSION is the
// session of each agent in turn, HOSTILE has all characters, FOLDER is the folder of the sessions.
var printCases = []struct{ command, args string }{
	{"mend", ""},
	{"mend", "--version"},
	{"mend", "HOSTILE"},
	{"mend", "--HOSTILE"},
	{"status", ""},
	{"scan", "--all"},
	{"scan", "--all -v"},
	{"scan", "SESSION"},
	{"scan", "SESSION -v"},
	{"scan", "SESSION --request"},
	{"scan", "HOSTILE"},
	{"scan", "a"},
	{"scan", "--store HOSTILE"},
	{"scan", "--HOSTILE"},
	{"scan", "--agent-version HOSTILE"},
	{"scan", "--since HOSTILE"},
	{"explain", "HOSTILE"},
	{"explain", ""},
	{"ui", ""},
	{"fix", "HOSTILE"},
	{"fix", "SESSION"},
	{"fix", "--dry-run No_conversation_found_with_session_ID:_SESSION"},
	{"fix", "messages:_text_content_blocks_must_contain_non-whitespace_text"},
	{"move", ""},
	{"move", "FOLDER . --dry-run"},
	{"move", "FOLDER . --yes"},
	{"undo", "--yes"},
	{"move", "HOSTILE ."},
	{"move", ". HOSTILE"},
	{"keep", ""},
	{"keep", "SESSION"},
	{"keep", "HOSTILE"},
	{"keep", "--dry-run"},
	{"repair", "--dry-run --at-risk"},
	{"repair", "SESSION --dry-run -p"},
	{"repair", "SESSION --dry-run --error HOSTILE"},
	{"repair", "--yes --class HOSTILE"},
	{"repair", "--yes --error @HOSTILE"},
	{"repair", "--yes SESSION"},
	{"repair", "--yes"},
	{"log", ""},
	{"log", "-v"},
	{"log", "HOSTILE"},
	{"log", "SESSION"},
	{"log", "--folder HOSTILE"},
	{"log", "--actor HOSTILE"},
	{"log", "--state HOSTILE"},
	{"log", "--export -"},
	{"log", "--export HOSTILE/x"},
	{"show", ""},
	{"show", "qevajo"},
	{"show", "goqare"},
	{"show", "op-qevajo"},
	{"show", "HOSTILE"},
	{"show", "op-HOSTILE"},
	{"trim", "SESSION --to 1 --keep-turns 0 --dry-run"},
	{"trim", "SESSION --to 1 --keep-turns 0 --hard --yes"},
	{"trim", "SESSION --to HOSTILE"},
	{"uncompact", "SESSION --yes"},
	{"undo", "qevajo --dry-run -p"},
	{"undo", "goqare --dry-run -p"},
	{"undo", "--yes qevajo --only HOSTILE"},
	{"undo", "--session SESSION --dry-run"},
	{"undo", "--yes qevajo"},
	{"redo", "--yes qevajo"},
	{"undo", "--yes HOSTILE"},
	{"redo", "--yes HOSTILE"},
	{"undo", "--session HOSTILE"},
	{"undo", "qevajo --store HOSTILE"},
	{"restore", ""},
	{"restore", "SESSION --dry-run"},
	{"restore", "SESSION --at HOSTILE"},
	{"restore", "HOSTILE"},
	{"restore", "--from HOSTILE"},
	{"restore", "--all --dry-run"},
	{"report", "SESSION -o report.html"},
	{"report", "SESSION -o HOSTILE/x"},
	{"report", "HOSTILE"},
	{"clean", ""},
	{"clean events", "--dry-run"},
	{"clean images", "--dry-run"},
	{"clean images", "SESSION --yes"},
	{"clean sessions", "SESSION --dry-run"},
	{"clean sessions", "HOSTILE"},
	{"clean sessions", "--folder HOSTILE"},
	{"clean sessions", "SESSION --yes"},
	{"undo", "--yes"},
	{"restore", ""},
	{"clean snapshots", "--dry-run"},
	{"clean pages", "--dry-run"},
	{"clean pages", "--agent kilo --yes"},
	{"salvage", "--agent kilo"},
	{"salvage", "--store damaged.db --dry-run"},
	{"salvage", "--store damaged.db --yes"},
	{"salvage", "--store HOSTILE"},
	{"verify", ""},
	{"verify", "--head HOSTILE"},
	{"verify", "HOSTILE"},
	{"verify", "report.html"},
	{"recover", ""},
	{"recover", "--dry-run"},
	{"resolve", "--yes qevajo --keep"},
	{"resolve", "--yes HOSTILE --keep"},
	{"plugin", ""},
	{"install", ""},
	{"plugin status", ""},
	{"plugin install", "--dry-run"},
	{"plugin install", "--hooks HOSTILE"},
	{"plugin uninstall", "--dry-run"},
	{"watch", "--once --set lookBackHours=8760"},
	{"watch", "--once --set HOSTILE=1"},
	{"hook", ""},
	{"hook", "--set HOSTILE"},
	{"config", ""},
	{"config", "HOSTILE"},
	{"config", "--set HOSTILE=1"},
	{"config set", "HOSTILE 1"},
	{"config set", "placeholderText HOSTILE"},
	{"gc", "--older-than HOSTILE"},
	{"forget", "SESSION --dry-run"},
	{"forget", "HOSTILE"},
	{"gc", "--older-than 1h --yes"},
	{"forget", "SESSION --yes"},
	{"log", ""},
	{"demo", ""},
	{"completion", "bash"},
	{"completion", "HOSTILE"},
	{"version", ""},
	{"help", "scan"},
	{"help", "HOSTILE"},
}

// TestNothingRaw: no command prints a stored control character or a forged line, as text, in JSON, or with colours, and
// its JSON decodes to the stored text. A plain run has colours for the session of one agent.
func TestNothingRaw(t *testing.T) {
	sb := newSandbox(t, "1.1.53", "")
	sb.setHome()
	t.Setenv("PAGER", "")
	strays := sb.makeHostile()
	first := sb.runPrintable(frame.ExitProblems, "scan", "--json", "--agent", "opencode")
	var answer struct{ Sessions []struct{ Title string } }
	if err := json.Unmarshal([]byte(first.out), &answer); err != nil || len(answer.Sessions) != 1 || answer.Sessions[0].Title != "A title"+hostile {
		t.Errorf("the title decodes to %q, %v", answer.Sessions, err)
	}
	sb.runPrintable(-1, "scan", "--all")
	sb.runPrintable(-1, "repair", "--yes", "--dry-run")
	for _, path := range strays { // repair leaves these files to the user
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	sessions := []string{sb.session, sb.hostileKilo(), sb.hostileLines(claudeFile, testdata.ClaudeSession, testdata.Claude), sb.hostileLines(filepath.Join(".codex", codex.File), testdata.CodexSession, testdata.Codex)}
	for _, session := range sessions {
		if a := sb.runPrintable(-1, "scan", session); a.code == frame.ExitUsage {
			t.Fatalf("session %s is not found:\n%s", session, a.err)
		}
	}
	listed := map[string]bool{}
	for _, c := range printCases {
		listed[c.command] = true
		times := 1
		if strings.Contains(c.args, "SESSION") {
			times = len(sessions)
		}
		if c.command == "trim" { // so that later undos have conflicts
			damage.Text(damage.Hello, "changed by hand"+hostile)(sb.open())
		}
		for i, session := range sessions[:times] {
			coloured := !strings.Contains(c.args, "--yes") && (i == 0 || storetest.AllCases())
			args := strings.Fields(strings.TrimPrefix(c.command, "mend") + " " + c.args)
			for i, arg := range args {
				args[i] = strings.NewReplacer("SESSION", session, "HOSTILE", hostile, "FOLDER", "/home/user/project"+hostile, "_", " ").Replace(arg)
			}
			for _, args := range [][]string{args, append(slices.Clone(args), "--json")} {
				sb.runPrintable(-1, args...)
			}
			if coloured {
				sb.runColoured(args...)
			}
		}
	}
	eachCommand(newRoot(&frame.Env{Terminal: &term.Terminal{}}), func(cmd *cobra.Command) {
		if cmd.Runnable() && !listed[frame.CommandName(cmd)] {
			t.Errorf("printCases has no row for %s", frame.CommandName(cmd))
		}
	})
	if log, err := os.ReadFile(filepath.Join(sb.dir, "state", "mend", "hook.log")); err != nil {
		t.Error(err)
	} else {
		sb.checkPrintable("hook.log", string(log))
	}
}

// printsRaw matches code that prints without package term, or makes a term.Text of a text that may be stored.
var printsRaw = regexp.MustCompile(`fmt\.Print|fmt\.Fprint\w*\((?:env|t|\w+\.Err|\w+\.Out|os\.Std\w+)\b|term\.Text\([^"]`)

// TestPrintedByTerm: no verb prints text itself. [term.Terminal] escapes every text that is not a [term.Text], and only
// package term makes a Text.
func TestPrintedByTerm(t *testing.T) {
	files := 0
	err := filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		files++
		text, err := os.ReadFile(name)
		for line := range strings.Lines(string(text)) {
			if printsRaw.MatchString(line) && !strings.Contains(line, "// progress") {
				t.Errorf("%s prints past the terminal: %s", name, strings.TrimSpace(line))
			}
		}
		return err
	})
	if err != nil || files < 50 {
		t.Fatal(files, err)
	}
}

// claudeFile is the path of a transcript of Claude Code.
var claudeFile = filepath.Join(".claude", "projects", "-home-user-project", testdata.ClaudeSession+".jsonl")

// structural are the members of records that have no text of a conversation.
var structural = []string{
	"id", "sessionID", "messageID", "parentID", "projectID", "type", "role", "status", "version", "slug", "reason", "providerID", "modelID",
	"uuid", "parentUuid", "sessionId", "timestamp", "requestId", "tool_use_id", "stop_reason", "model", "userType", "entrypoint", "call_id", "cli_version", "originator", "source", "model_provider", "encrypted_content", "signature", "session_id", "history_mode", "turn_id",
}

// makeTextsHostile adds the hostile characters to every text of a JSON value.
func makeTextsHostile(v any) any {
	switch v := v.(type) {
	case string:
		return v + hostile
	case map[string]any:
		for name, member := range v {
			if !slices.Contains(structural, name) {
				v[name] = makeTextsHostile(member)
			}
		}
	case []any:
		for i := range v {
			v[i] = makeTextsHostile(v[i])
		}
	}
	return v
}

// hostileLines writes a transcript or a rollout with the hostile characters in every text, and a torn line. It returns
// the id of the session.
func (sb sandbox) hostileLines(file, session string, data []byte) string {
	sb.Helper()
	var out bytes.Buffer
	for line := range bytes.Lines(data) {
		var v any
		if err := json.Unmarshal(line, &v); err != nil {
			sb.Fatal(err)
		}
		text, err := json.Marshal(makeTextsHostile(v))
		if err != nil {
			sb.Fatal(err)
		}
		out.Write(append(text, '\n'))
	}
	out.WriteString(`{"type":"user` + hostile)
	path := filepath.Join(sb.dir, file)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, out.Bytes(), 0o600)); err != nil {
		sb.Fatal(err)
	}
	return session
}

// hostileKilo makes a database of Kilo and a damaged copy of it, with the hostile characters in the texts of its rows,
// in the name of a table and in the id of a session. It returns the id of the other session.
func (sb sandbox) hostileKilo() string {
	sb.Helper()
	path := filepath.Join(sb.dir, "data", "kilo", "kilo.db")
	if err := os.Mkdir(filepath.Join(sb.dir, "other"), 0o700); err != nil {
		sb.Fatal(err)
	}
	id, err := testdata.Unpack(testdata.OpenCode11833, filepath.Join(sb.dir, "other"))
	if err == nil {
		err = os.Rename(filepath.Join(sb.dir, "other", "opencode"), filepath.Dir(path))
	}
	if err == nil {
		err = os.Rename(filepath.Join(filepath.Dir(path), "opencode.db"), path)
	}
	if err != nil {
		sb.Fatal(err)
	}
	evil := strings.ReplaceAll(hostile, "\x00", "")
	sql := damage.SQL(sb, path)
	sql("UPDATE session SET title = title || ?, directory = directory || ?", evil, evil)
	sql("UPDATE part SET data = json_set(data, '$.text', ' ' || ?) WHERE json_extract(data, '$.type') = 'text'", evil)
	sql(`CREATE TABLE "` + strings.ReplaceAll(evil, `"`, "") + `" (session_id TEXT REFERENCES session (id) ON DELETE CASCADE)`)
	sql("INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated) SELECT 'ses_' || ?, project_id, 'evil', directory, title, version, 1, 1 FROM session", evil)
	data, err := os.ReadFile(path)
	if err != nil {
		sb.Fatal(err)
	}
	clear(data[:16])
	if err := os.WriteFile(filepath.Join(sb.dir, "damaged.db"), data, 0o600); err != nil {
		sb.Fatal(err)
	}
	return id
}

// makeHostile adds the hostile characters to every text of the store, to the settings, and to the names of two files
// among the records. It returns the paths of these files.
func (sb sandbox) makeHostile() (strays []string) {
	sb.Helper()
	err := filepath.WalkDir(sb.store, func(path string, e fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".json" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			return err
		}
		if data, err = json.Marshal(makeTextsHostile(v)); err != nil {
			return err
		}
		if bytes.Contains(data, []byte(`"step-finish"`)) { // add invalid UTF-8
			data = bytes.Replace(data, []byte("{"), []byte("{\"x\":\"\xff\x9b\","), 1)
		}
		return os.WriteFile(path, data, 0o600)
	})
	if err != nil {
		sb.Fatal(err)
	}
	damage.Text(damage.Hello, " \n")(sb.open()) // something to repair
	parts, err := filepath.Glob(filepath.Join(sb.store, "part", "*"))
	if err != nil || len(parts) == 0 {
		sb.Fatal(parts, err)
	}
	// File systems refuse NUL and slash. The second name is not valid UTF-8.
	name := strings.NewReplacer("\x00", "", "/", "").Replace(hostile)
	for _, name := range []string{"prt_" + name[:80], "prt_\x9b31m\xff"} {
		path := filepath.Join(parts[0], name+".json")
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			sb.Fatal(err)
		}
		strays = append(strays, path)
	}
	settings, err := json.Marshal(map[string]string{"placeholderText": "x" + hostile})
	if err != nil {
		sb.Fatal(err)
	}
	dir := filepath.Join(sb.dir, "config", "mend")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		sb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), settings, 0o600); err != nil {
		sb.Fatal(err)
	}
	return strays
}

// runPrintable runs a command and checks its output. With the code -1 it accepts any exit code.
func (sb sandbox) runPrintable(code int, args ...string) cmdResult {
	sb.Helper()
	a := sb.runInProcess(args...)
	what := "mend " + strconv.QuoteToASCII(strings.Join(args, " "))
	sb.checkPrintable(what, a.out)
	sb.checkPrintable(what+" on stderr", a.err)
	if code >= 0 && a.code != code {
		sb.Fatalf("%s: exit code %d, want %d\n%s%s", what, a.code, code, a.out, a.err)
	}
	return a
}

// ownColours matches the colours of package term.
var ownColours = regexp.MustCompile("\x1b\\[[0-9;]+m")

// runColoured runs a command as on a terminal with colours, and checks its output without them.
func (sb sandbox) runColoured(args ...string) {
	sb.Helper()
	color.NoColor = false
	defer func() { color.NoColor = true }()
	var out bytes.Buffer
	run(args, &term.Terminal{In: strings.NewReader(hookHello), Out: &out, Err: &out, Width: 80, ErrWidth: 80})
	text := ownColours.ReplaceAllString(out.String(), "")
	sb.checkPrintable("mend "+strconv.QuoteToASCII(strings.Join(args, " "))+" with colours", strings.ReplaceAll(text, forged, ""))
}

func (sb sandbox) checkPrintable(what, text string) {
	sb.Helper()
	if !utf8.ValidString(text) {
		sb.Errorf("%s prints bytes that are not UTF-8", what)
	}
	if strings.Contains("\n"+text, "\n"+forged) {
		sb.Errorf("%s shows a line that a text forged", what)
	}
	for i, r := range text {
		if !strconv.IsPrint(r) && r != '\n' {
			sb.Errorf("%s shows %U: %q", what, r, text[max(0, i-60):min(len(text), i+60)])
			return
		}
	}
}
