//go:build e2e

package main

import (
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/dbtest"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// TestRealClean: after events and sessions were removed from a database of the real program, it lists, continues and
// forks the other sessions as before. After an undo every row exists, and all sessions answer.
func TestRealClean(t *testing.T) {
	storetest.Long(t)
	for i, version := range []string{"1.2.27", "1.18.34"} {
		t.Run(version, func(t *testing.T) {
			h := newAnswered(t, version)
			session := h.Unpack(fixtures[1+i])
			store := filepath.Join(h.DataDir(), "opencode.db")
			copySession(t, store, session, 2)
			other := session + "x1"
			clean := cleanTest{t, h, store, filepath.Join(t.TempDir(), "journal")}
			stay := []string{session, session + "x0"}
			want := clean.useAll(stay)
			t.Logf("before: %s", want)

			rows := dbtest.DumpRows(t, store)
			if version != "1.2.27" { // it has no events
				clean.mend("clean", "events", "--yes")
				if strings.Contains(dbtest.DumpRows(t, store), "\nevent ") {
					t.Error("events are left")
				}
				clean.undo(rows)
				clean.mend("redo", "qevajo", "--yes")
			}
			clean.mend("clean", "sessions", other, "--yes")
			gone := dbtest.DumpRows(t, store)
			if got := clean.useAll(stay); got != want {
				t.Errorf("after the clean the program does\n%s\nbefore\n%s", got, want)
			}
			if list := clean.listed(); slices.Contains(list, other) || len(list) != len(stay) {
				t.Errorf("after the clean it lists %v", list)
			}
			// The program has continued the remaining session. The removed rows are still restored.
			clean.mend("undo", "--yes")
			if version != "1.2.27" {
				clean.mend("undo", "qevajo", "--yes")
			}
			now := dbtest.DumpRows(t, store)
			for line := range strings.Lines(rows) {
				if !strings.Contains(gone, line) && !strings.Contains(now, line) {
					t.Fatalf("a row is not back: %.300s", line)
				}
			}
			if list := clean.listed(); !slices.Contains(list, other) {
				t.Errorf("after the undo it lists %v", list)
			}
			if got := clean.use(other); !strings.Contains(got, "alive") {
				t.Errorf("after the undo the other session: %s", got)
			}
		})
	}
}

type cleanTest struct {
	*testing.T
	h              *opencode.Home
	store, journal string
}

func (c cleanTest) mend(args ...string) {
	c.Helper()
	if code, out := runMend(c.T, c.store, c.journal, args...); code != frame.ExitDone {
		c.Fatalf("mend %v: exit code %d: %s", args, code, out)
	}
}

// undo undoes the newest change and checks the rows.
func (c cleanTest) undo(rows string) {
	c.Helper()
	c.mend("undo", "--yes")
	if dbtest.DumpRows(c.T, c.store) != rows {
		c.Fatal("undo did not restore the rows")
	}
}

func (c cleanTest) listed() []string {
	s := c.h.Serve()
	defer s.Close()
	return s.Listed()
}

func (c cleanTest) useAll(sessions []string) string {
	c.Helper()
	var all []string
	for _, id := range sessions {
		all = append(all, id, c.use(id))
	}
	return strings.Join(all, "\n")
}

// use lets the program use a copy of the store, and returns what a clean must not change: the next request, and whether
// a prompt, a fork and the list of messages work.
func (c cleanTest) use(session string) string {
	c.Helper()
	kept := map[string][]byte{}
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if data, err := os.ReadFile(c.store + suffix); err == nil {
			kept[suffix] = data
		}
	}
	defer func() {
		for _, suffix := range []string{"", "-wal", "-shm"} {
			_ = os.Remove(c.store + suffix)
			if data, ok := kept[suffix]; ok {
				if err := os.WriteFile(c.store+suffix, data, 0o600); err != nil {
					c.Fatal(err)
				}
			}
		}
	}()
	s := c.h.Serve()
	defer s.Close()
	call := func(method, path, body string) string {
		req, err := http.NewRequestWithContext(c.Context(), method, s.URL+path+"?directory="+url.QueryEscape(c.h.Project()), strings.NewReader(body))
		if err != nil {
			c.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			c.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			c.Fatal(err)
		}
		return resp.Status + " " + string(text)
	}
	messages := call(http.MethodGet, "/session/"+session+"/message", "")
	fork := call(http.MethodPost, "/session/"+session+"/fork", "{}")
	r := s.Prompt(session, "one more")
	last := ""
	if len(r.Calls) > 0 {
		last = string(r.Calls[len(r.Calls)-1].Raw)
		last = last[strings.Index(last, `"messages"`):]
	}
	return strings.Join([]string{string(r.Verdict), fork[:6], messages, last}, "\n")
}

// TestRealCleanSnapshots: while the real program runs no snapshot is removed, and mend names the program. Afterwards
// the snapshots of a project without sessions are removed, other snapshots stay, the program answers, and an undo
// restores the removed snapshots.
func TestRealCleanSnapshots(t *testing.T) {
	h := newAnswered(t, "1.18.34")
	session := h.Unpack(fixtures[2])
	store, journal := filepath.Join(h.DataDir(), "opencode.db"), filepath.Join(t.TempDir(), "journal")
	head := filepath.Join(h.DataDir(), "snapshot", strings.Repeat("ab", 20), "HEAD")
	err := os.MkdirAll(filepath.Dir(head), 0o755)
	if err == nil {
		err = os.WriteFile(head, []byte("ref: refs/heads/main\n"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	exists := func() bool { _, err := os.Stat(head); return err == nil }
	server := h.Serve()
	if r := server.Prompt(session, "one more"); r.Verdict != opencode.Alive {
		t.Fatalf("%.300s", r.Output)
	}
	if code, out := runMend(t, store, journal, "clean", "snapshots", "--yes"); code == frame.ExitDone || !exists() || !strings.Contains(out, "opencode") {
		t.Errorf("while it runs: exit code %d, still there %t: %s", code, exists(), out)
	}
	server.Close()
	others := func() (names []string) {
		entries, _ := os.ReadDir(filepath.Dir(filepath.Dir(head)))
		for _, e := range entries {
			if e.Name() != filepath.Base(filepath.Dir(head)) {
				names = append(names, e.Name())
			}
		}
		return names
	}
	before := others()
	if code, out := runMend(t, store, journal, "clean", "snapshots", "--yes"); code != frame.ExitDone || exists() {
		t.Fatalf("exit code %d, still there %t: %s", code, exists(), out)
	}
	if !slices.Equal(others(), before) {
		t.Errorf("snapshots of projects with sessions: %q, want %q", others(), before)
	}
	server = h.Serve()
	if r := server.Prompt(session, "another"); r.Verdict != opencode.Alive {
		t.Errorf("after the clean it is %s: %.300s", r.Verdict, r.Output)
	}
	server.Close()
	if code, out := runMend(t, store, journal, "undo", "--yes"); code != frame.ExitDone || !exists() {
		t.Errorf("undo: exit code %d, back %t: %s", code, exists(), out)
	}
}
