//go:build unix

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// ownPlaces are the files and folders that mend uses, relative to the sandbox. The name of the cache file begins with
// scan.
var ownPlaces = []struct {
	path   string
	needed bool // by the verbs of the journal
}{
	{"state/mend", true},
	{"state/mend/journal.db", true},
	{"state/mend/journal.lock", true},
	{"state/mend/journal.db.new", false},
	{"state/mend/hook.log", false},
	{"state/mend/hook.log.1", false},
	{"state/mend/hooks", false},
	{"state/mend/hooks/1-1.json", false},
	{"cache/mend", false},
	{"cache/mend/scan", false},
	{"config/mend", false},
	{"config/mend/config.json", false},
	{"config/opencode/opencode.json", false},
	{"cache/opencode/models.json", false},
	{"config/opencode/plugins/mend.js", false},
	{"data/opencode/storage/.mend", false},
}

// ownVerbs returns the command lines of all verbs that end by themselves, in an order in which each has something to
// do.
func ownVerbs(sb sandbox) [][]string {
	return [][]string{
		{},
		{"scan"},
		{"scan", sb.session, "--request"},
		{"repair", "--yes"},
		{"log"},
		{"show", "qevajo"},
		{"undo", "--yes", "qevajo"},
		{"redo", "--yes", "qevajo"},
		{"verify"},
		{"recover"},
		{"resolve", "--yes", "qevajo", "--keep"},
		{"config"},
		{"hook"},
		{"plugin", "install", "--yes"},
		{"plugin", "status"},
		{"plugin", "uninstall", "--yes"},
		{"gc", "--older-than", "1h", "--yes"},
		{"forget", "ses_none", "--yes"},
		{"version"},
	}
}

// TestPreparedFiles: if a pipe, a link or a file that others may write is in the place of one of mend's own files, no
// verb waits for it, writes through it or crashes, and the command that mend prints removes it.
func TestPreparedFiles(t *testing.T) {
	intruders := map[string]func(path, victim string) error{
		"pipe": func(path, _ string) error { return syscall.Mkfifo(path, 0o600) },
		"link": func(path, victim string) error { return os.Symlink(victim, path) },
		"name": func(path, victim string) error { return os.Link(victim, path) },
		"writable": func(path, _ string) error {
			return errors.Join(os.WriteFile(path, []byte("{}"), 0o600), os.Chmod(path, 0o666))
		},
	}
	for _, kind := range slices.Sorted(maps.Keys(intruders)) {
		put := intruders[kind]
		t.Run(kind, func(t *testing.T) {
			sb := newSandbox(t, "1.1.53", "")
			sb.setHome()
			sb.mustRepair()
			sb.mustExit(frame.ExitDone, "undo", "--yes", "qevajo")
			sb.mustExit(frame.ExitProblems, "scan")
			victim := filepath.Join(sb.dir, "victim")
			if err := os.WriteFile(victim, []byte("precious"), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(sb.ownFile("cache/mend/scan")); err != nil {
				t.Fatal(err) // the name of the cache has changed
			}
			for _, place := range ownPlaces {
				if !storetest.AllCases() && kind != "link" && place.path != "state/mend/journal.db" && place.path != "config/mend/config.json" {
					continue
				}
				sb.testPrepared(place.path, place.needed && kind != "writable" || place.path == "state/mend/journal.db", func(path string) error { return put(path, victim) }, victim)
			}
		})
	}
}

// testPrepared replaces a file by an intruder, runs every verb, and restores the file.
func (sb sandbox) testPrepared(place string, needed bool, put func(path string) error, victim string) {
	sb.Helper()
	path := sb.ownFile(place)
	aside := path + ".aside"
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		if err = os.Rename(path, aside); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err == nil {
		err = put(path)
	}
	if err != nil {
		sb.Fatal(err)
	}
	command := ""
	for _, args := range ownVerbs(sb) {
		a := sb.runInProcess(args...)
		sb.wantOutput(a, "") // no crash
		if data, err := os.ReadFile(victim); err != nil || string(data) != "precious" {
			sb.Fatalf("%s: mend %v: the target of the link has %q (%v)\n%s%s", place, args, data, err, a.out, a.err)
		}
		if info, err := os.Stat(victim); err != nil || info.Mode().Perm() != 0o644 {
			sb.Fatalf("%s: mend %v: the target of the link has the mode %v (%v)", place, args, info.Mode(), err)
		}
		if m := regexp.MustCompile(`to fix it, run: (.*)`).FindStringSubmatch(a.err + a.out); m != nil {
			command = m[1]
		}
		if needed && len(args) > 0 && strings.Contains("log show undo redo verify recover gc", args[0]) && a.code != frame.ExitUnusable {
			sb.Errorf("%s: mend %v: exit code %d, want %d\n%s%s", place, args, a.code, frame.ExitUnusable, a.out, a.err)
		}
	}
	if needed && command == "" {
		sb.Errorf("%s: no verb prints the command that removes it", place)
	}
	if command != "" {
		if a := sb.sh(command); a.code != 0 {
			sb.Errorf("%s: %s: %s", place, command, a.err)
		}
		for _, args := range [][]string{{"verify"}, {"hook"}, {"plugin", "install", "--yes"}, {"config"}, {"log"}} {
			a := sb.runInProcess(args...)
			isIntruder := strings.Contains(a.out+a.err, "damaged") || strings.Contains(a.out+a.err, "mend did not write this file") // it is not a journal or a plugin
			if a.code != 0 && !isIntruder {
				sb.Errorf("%s: after %q: mend %v: %s%s", place, command, args, a.out, a.err)
			}
		}
	}
	if err := errors.Join(os.RemoveAll(path), os.RemoveAll(path+".old")); err != nil {
		sb.Fatal(err)
	}
	if err := os.Rename(aside, path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		sb.Fatal(err)
	}
}

func (sb sandbox) ownFile(place string) string {
	path := filepath.Join(sb.dir, place)
	if filepath.Dir(place) != "cache/mend" {
		return path
	}
	id := change.StoreID{Kind: "json", Root: sb.store}
	sum := sha256.Sum256([]byte(id.Kind + "\x00" + id.Root))
	return fmt.Sprintf("%s-%x", path, sum[:8])
}

// TestAnswersReplaceNothing: a file that the user names for an answer never replaces a file, and is not created among
// those of mend or of a store, whatever the path.
func TestAnswersReplaceNothing(t *testing.T) {
	outputs := map[string][]string{"log --export": {"log", "--export"}, "report --output": {"report", "SESSION", "--output"}}
	eachCommand(newRoot(&frame.Env{Terminal: &term.Terminal{}}), func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if name, _ := pflag.UnquoteUsage(f); name == "FILE" && outputs[frame.CommandName(cmd)+" --"+f.Name] == nil {
				t.Errorf("outputs has no row for %s --%s", frame.CommandName(cmd), f.Name)
			}
		})
	})
	sb := newSandbox(t, "1.1.53", "")
	sb.setHome()
	sb.hostileLines(claudeFile, testdata.ClaudeSession, testdata.Claude)
	sb.mustRepair()
	sb.mustExit(frame.ExitDone, "keep", "--store", sb.store)
	for name, target := range map[string]string{"linked": "state/mend", "link.html": "state/mend/journal.db", "dangling.html": "new"} {
		if err := os.Symlink(filepath.Join(sb.dir, target), filepath.Join(sb.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"config/mend", "cache/mend", "free"} {
		if err := os.MkdirAll(filepath.Join(sb.dir, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	names := []string{
		"state/mend/journal.db", "state/mend/journal.lock", "state/mend/keep.db", claudeFile, "linked/journal.db", "link.html", "dangling.html", "linked",
		"state/mend/new", "linked/new", "free/../state/mend/new", "config/mend/config.json", "cache/mend/new", "data/opencode/storage/new",
		filepath.Dir(claudeFile) + "/new.jsonl",
	}
	before := sb.files()
	for output, words := range outputs {
		for _, name := range names {
			args := append(slices.Clone(words), name)
			for i, w := range args {
				args[i] = strings.ReplaceAll(w, "SESSION", sb.session)
			}
			if a := sb.runInProcess(args...); a.code != frame.ExitRefused || !strings.Contains(a.err, "name another file") {
				t.Errorf("mend %s %s: exit code %d, want %d\n%s%s", output, name, a.code, frame.ExitRefused, a.out, a.err)
			}
		}
	}
	if diff := cmp.Diff(before, sb.files()); diff != "" {
		t.Errorf("files were changed (-before +after):\n%s", diff)
	}
	if a := sb.runInProcess("log", "--export", "free/new"); a.code != frame.ExitDone {
		t.Errorf("mend log --export free/new: exit code %d\n%s", a.code, a.err)
	}
	database := otherDatabase(sb)
	for name, want := range map[string]int{"opencode.db-new": frame.ExitRefused, "x.html": frame.ExitDone} {
		a := sb.runInProcess("report", "--store", database, "@", "-o", filepath.Join(filepath.Dir(database), name))
		if a.code != want {
			t.Errorf("report to %s: exit code %d, want %d\n%s", name, a.code, want, a.err)
		}
	}
}
