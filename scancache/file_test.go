package scancache

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func exampleCache(t *testing.T) (*Cache, *contents) {
	t.Helper()
	c := New(filepath.Join(t.TempDir(), "cache"), "json", "/store", func(s string) { t.Error(s) })
	held := exampleContents(t)
	held.summary.Time = time.Unix(1_700_000_000, 0)
	c.save(held)
	if diff := cmp.Diff(held, c.load(), compareContents); diff != "" {
		t.Fatalf("load after save (-want +got):\n%s", diff)
	}
	return c, held
}

func TestForget(t *testing.T) {
	c, _ := exampleCache(t)
	c.Forget("ses_2")
	got := c.load()
	if len(got.results) != 1 || got.summary != nil || got.sessions != nil {
		t.Errorf("after another session was forgotten: %+v, want only the result of ses_1", got)
	}
	c.Forget("ses_1")
	if got := c.load(); len(got.results) != 0 {
		t.Errorf("after the session was forgotten: %v, want no result", got.results)
	}
}

// A cache that cannot be used is empty, and nothing is written where a link leads.
func TestUnusableFile(t *testing.T) {
	rows := map[string]func(path string) error{
		"missing": os.Remove,
		"empty":   func(path string) error { return os.Truncate(path, 0) },
		"huge":    func(path string) error { return os.Truncate(path, maxSize+1) },
		"a link": func(path string) error {
			if err := os.Rename(path, path+".victim"); err != nil {
				return err
			}
			return os.Symlink(path+".victim", path)
		},
		"a folder": func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o700)
		},
	}
	for name, spoil := range rows {
		c, held := exampleCache(t)
		if err := spoil(c.path); err != nil {
			t.Fatal(err)
		}
		victim, _ := os.ReadFile(c.path + ".victim") // only where there is one
		if diff := cmp.Diff(&contents{}, c.load(), compareContents); diff != "" {
			t.Errorf("%s: load (-want +got):\n%s", name, diff)
		}
		c.Forget("ses_1")
		var warnings []string
		c.warn = func(s string) { warnings = append(warnings, s) }
		c.save(held)
		if now, _ := os.ReadFile(c.path + ".victim"); string(now) != string(victim) {
			t.Errorf("%s: the file that the link leads to was changed", name)
		}
		if unsafe := name == "a link" || name == "a folder"; unsafe != (len(warnings) == 1 && strings.HasPrefix(warnings[0], "the cache is not used: ")) {
			t.Errorf("%s: warnings %q", name, warnings)
		}
	}
}

// Without a folder nothing is kept, and nothing is written.
func TestNoFolder(t *testing.T) {
	c := New("", "json", "/store", func(s string) { t.Error(s) })
	c.save(exampleContents(t))
	c.Forget("ses_1")
	if c.Summary() != nil {
		t.Error("there is a summary")
	}
}
