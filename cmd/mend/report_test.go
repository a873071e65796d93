package main

import (
	"html"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/claude"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
)

// TestReportHasNoText: the page about a damaged session of OpenCode has no word of the store.
func TestReportHasNoText(t *testing.T) {
	storetest.Long(t)
	allowed := reportWords(t)
	for i, version := range damage.Versions {
		for _, w := range damage.Table {
			if !storetest.AllCases() && (i > 0 || !damage.Everyday(w.Name)) {
				continue
			}
			t.Run(w.Name+" on "+version, func(t *testing.T) {
				t.Parallel()
				ts := newTestStore(t, i)
				damage.Edit(ts, ts.path, ts.session, w.Apply)
				store := ts.snapshot()
				_, page := ts.mend("report", ts.session, "-o", "-")
				checkNoText(t, page, store, allowed)
			})
		}
	}
}

// TestReportHasNoTranscript: the pages about a damaged transcript of Claude Code and about its repair have no word of
// the transcript.
func TestReportHasNoTranscript(t *testing.T) {
	storetest.Long(t)
	allowed := reportWords(t)
	for _, d := range claude.Damages {
		if !storetest.AllCases() && (!claude.Everyday(d.Name) || len(d.Broken()) > largeTranscript) {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			dir := filepath.Join(root, "projects", "-home-user-project")
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, claude.Session+".jsonl"), d.Broken(), 0o600); err != nil {
				t.Fatal(err)
			}
			store := map[string]string{claude.Session: strings.ReplaceAll(string(d.Broken()), "\x00", "")}
			journal := t.TempDir()
			_, page := runMend(t, root, journal, "report", claude.Session, "-o", "-")
			checkNoText(t, page, store, allowed)
			_, _ = runMend(t, root, journal, "repair", claude.Session, "--force", "--yes", "--latent")
			if code, page := runMend(t, root, journal, "report", "qevajo", "-o", "-"); code == frame.ExitDone {
				checkNoText(t, page, store, allowed)
			}
		})
	}
}

// longWords returns the words of a text that have at least five letters or digits.
func longWords(text string) []string {
	isSeparator := func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsNumber(c) }
	return slices.DeleteFunc(strings.FieldsFunc(text, isSeparator), func(w string) bool { return utf8.RuneCountInString(w) < 5 })
}

// reportWords returns the words that a page may have: those of its source and its word list.
func reportWords(t *testing.T) map[string]bool {
	allowed := map[string]bool{"claude": true, "anthropic": true, runtime.GOOS: true}
	files, err := filepath.Glob("../../internal/report/*.[cgt]*")
	if err != nil || len(files) < 5 {
		t.Fatalf("files of the report: %q, %v", files, err)
	}
	for _, name := range append(files, "internal/inspect/report.go") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range longWords(string(text)) {
			allowed[strings.ToLower(word)] = true
		}
	}
	return allowed
}

// checkNoText checks that the page has no word of the store that is not allowed.
func checkNoText(t *testing.T, page string, store map[string]string, allowed map[string]bool) {
	t.Helper()
	if !strings.HasPrefix(page, "<!doctype html>") || !strings.HasSuffix(page, "</html>") {
		t.Fatalf("not a page: %.300q", page)
	}
	stored := map[string]bool{}
	for name, text := range store {
		for _, word := range longWords(name + " " + text) {
			stored[word] = true
		}
	}
	if len(stored) < 50 {
		t.Fatalf("the store has only %d words", len(stored))
	}
	for _, word := range longWords(html.UnescapeString(page)) {
		if stored[word] && !allowed[strings.ToLower(word)] {
			t.Errorf("the page has the word %q of the store", word)
		}
	}
}
