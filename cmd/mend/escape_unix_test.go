//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"mend/internal/mend"
	"mend/internal/term"
	"mend/internal/test/damage"
	"mend/journal"
)

// hostile has every kind of character that controls a terminal or is invisible: the controls
// of ASCII and Latin 1, direction marks, invisible characters, line separators.
var hostile = func() string {
	var b strings.Builder
	for _, span := range [][2]rune{{0, 0x1f}, {0x7f, 0xa0}, {0xad, 0xad}, {0x61c, 0x61c}, {0x180e, 0x180e}, {0x200b, 0x200f}, {0x2028, 0x202f}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0001, 0xe0001}, {0xe0041, 0xe0041}} {
		for r := span[0]; r <= span[1]; r++ {
			b.WriteRune(r)
		}
	}
	return b.String()
}()

// TestNothingRaw checks that no verb prints characters that control a terminal, in text or
// JSON, and that the JSON decodes to the stored text.
func TestNothingRaw(t *testing.T) {
	sb := newSandbox(t, "1.1.53", "")
	sb.setHome()
	strays := sb.makeHostile()
	first := sb.runPrintable(exitProblems, "scan", "--json")
	var answer struct{ Sessions []struct{ Title string } }
	if err := json.Unmarshal([]byte(first.out), &answer); err != nil || len(answer.Sessions) != 1 || answer.Sessions[0].Title != "A title"+hostile {
		t.Errorf("the title decodes to %q, %v", answer.Sessions, err)
	}
	sb.runPrintable(-1, "scan", "--all")
	sb.runPrintable(-1, "repair", "--yes", "--dry-run")
	for _, path := range strays { // the user has to decide about them
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{
		{},
		{"scan", "--all"},
		{"scan", "--all", "-v"},
		{"scan", sb.session},
		{"scan", sb.session, "--request"},
		{"scan", "--orphans"},
		{"repair", sb.session, "--dry-run"},
		{"repair", sb.session, "--dry-run", "--latent"},
		{"repair", sb.session, "--dry-run", "--error", hostile},
		{"repair", "--yes", sb.session},
		{"repair", "--orphans", "--yes"},
		{"log"},
		{"show", "qevajo"},
		{"undo", "qevajo", "--dry-run"},
		{"undo", "--yes", "qevajo", "--only", hostile},
		{"undo", "--yes", "qevajo"},
		{"redo", "--yes", "qevajo"},
		{"verify"},
		{"verify", "--head", hostile},
		{"recover"},
		{"resolve", "--yes", "qevajo", "--keep"},
		{"gc", "--older-than", hostile},
		{"status"},
		{"plugin"},
		{"version"},
		{"config"},
		{"config", "--set", hostile + "=1"},
		{"watch", "--once", "--set", "lookBackHours=8760"},
		{"hook"},
		{hostile},
		{"scan", hostile},
		{"show", hostile},
		{"undo", "--yes", hostile},
		{"scan", "--store", hostile},
		{"scan", "--layout", hostile},
		{"scan", "--" + hostile},
		{"scan", "--agent-version", hostile},
		{"repair", "--yes", "--class", hostile},
		{"repair", "--yes", "--error", "@" + hostile},
		{"forget", sb.session, "--yes"},
		{"log"},
	} {
		for _, args := range [][]string{args, append(slices.Clone(args), "--json")} {
			sb.runPrintable(-1, args...)
		}
	}
	sb.checkFollow()
	if log, err := os.ReadFile(filepath.Join(sb.dir, "state", "mend", "hook.log")); err != nil {
		t.Error(err)
	} else {
		sb.checkPrintable("hook.log", string(log))
	}
}

// makeHostile adds the characters to every text of the store, to the settings, and to the
// names of two files beside the records. It returns these files.
func (sb sandbox) makeHostile() (strays []string) {
	sb.Helper()
	keep := []string{"id", "sessionID", "messageID", "parentID", "projectID", "type", "role", "status", "version", "slug", "reason", "providerID", "modelID"}
	var add func(v any) any
	add = func(v any) any {
		switch v := v.(type) {
		case string:
			return v + hostile
		case map[string]any:
			for name, member := range v {
				if !slices.Contains(keep, name) {
					v[name] = add(member)
				}
			}
		case []any:
			for i := range v {
				v[i] = add(v[i])
			}
		}
		return v
	}
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
		if data, err = json.Marshal(add(v)); err != nil {
			return err
		}
		if bytes.Contains(data, []byte(`"step-finish"`)) { // and invalid UTF-8
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
	// Without the characters that file systems refuse, and a name that is not UTF-8.
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

// runPrintable runs a verb and checks its output. If code is -1 any exit code is accepted.
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

// checkFollow checks the output of log --follow.
func (sb sandbox) checkFollow() {
	sb.Helper()
	for _, asJSON := range []bool{false, true} {
		ctx, cancel := context.WithTimeout(sb.Context(), 20*time.Second)
		out := cancelWriter{cancel: cancel}
		a := &environment{Terminal: &term.Terminal{Out: &out, Err: &out, JSON: asJSON}, opt: mend.Options{Journal: mend.OpenJournal("")}}
		_ = followLog(ctx, a, journal.Query{}) // it ends with the context
		cancel()
		if out.Len() == 0 {
			sb.Error("log --follow shows nothing")
		}
		sb.checkPrintable("log --follow", out.String())
	}
}

// A cancelWriter calls cancel after each write.
type cancelWriter struct {
	bytes.Buffer
	cancel func()
}

func (w *cancelWriter) Write(b []byte) (int, error) {
	defer w.cancel()
	return w.Buffer.Write(b)
}

func (sb sandbox) checkPrintable(what, text string) {
	sb.Helper()
	if !utf8.ValidString(text) {
		sb.Errorf("%s shows what is not UTF-8", what)
	}
	for i, r := range text {
		if !strconv.IsPrint(r) && r != '\n' {
			sb.Errorf("%s shows %U: %q", what, r, text[max(0, i-60):min(len(text), i+60)])
			return
		}
	}
}
