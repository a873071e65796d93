package claude_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mend/agent"
	"mend/agent/claude"
	"mend/change"
	fixture "mend/internal/test/claude"
	"mend/internal/test/storetest"
)

const otherSession = "11111111-2222-4333-8444-555555555555"

// TestListUnreadable: a folder that this user cannot read or enter hides only its own sessions, and mend reports it.
func TestListUnreadable(t *testing.T) {
	if !storetest.RunInChild(t, storetest.NobodyUID) || os.Geteuid() == 0 {
		return
	}
	for _, test := range []struct {
		mode   os.FileMode
		want   []string // the sessions
		reason string   // why the other session is not read
		note   string
	}{
		{0o400, []string{otherSession, fixture.Session}, "permission denied", ""},
		{0, []string{fixture.Session}, "", "-other cannot be read: permission denied"},
	} {
		s := newTestStore(t, "none")
		dir := filepath.Join(s.root, "projects", "-other")
		must(t, os.Mkdir(dir, 0o700))
		must(t, os.WriteFile(filepath.Join(dir, otherSession+".jsonl"), s.data, 0o600))
		storetest.Chmod(t, dir, test.mode)
		var notes []string
		opened, err := claude.Agent{}.Open(agent.Located{Path: s.root}, func(text string) { notes = append(notes, text) })
		must(t, err)
		heads, err := opened.List(t.Context())
		if got := ids(heads); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("mode %v: the sessions are %q, %v, want %q", test.mode, got, err, test.want)
		}
		storetest.Chmod(t, dir, 0o700)
		for _, h := range heads {
			if h.ID == otherSession && (len(h.Stray) != 1 || h.Stray[0].Why != test.reason) {
				t.Errorf("mode %v: %+v, want why: %s", test.mode, h, test.reason)
			}
		}
		if got := strings.Join(notes, "\n"); !strings.Contains(got, test.note) || (got == "") != (test.note == "") {
			t.Errorf("mode %v: the notes are %q, want %q", test.mode, got, test.note)
		}
	}
}

func ids(heads []change.Head) (all []string) {
	for _, h := range heads {
		all = append(all, h.ID)
	}
	slices.Sort(all)
	return all
}

// TestListMeanwhile: a transcript that is removed after its folder was read and before it is opened does not end the
// list.
func TestListMeanwhile(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	s := newTestStore(t, "none")
	c := s.client()
	storetest.DenySyscall(t, unix.SYS_OPENAT, 2, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, unix.ENOENT)
	if heads, err := c.Sessions(t.Context()); err != nil || len(heads) != 0 {
		t.Errorf("the sessions are %+v, %v, want none", heads, err)
	}
}

// TestLongFolders: a project's folder whose name is too long for an id is looked up once for all sessions; mend does
// not list all folders for each session.
func TestLongFolders(t *testing.T) {
	s := newTestStore(t, "none")
	const n = 300
	for i := range n {
		dir := filepath.Join(s.root, "projects", fmt.Sprintf("-%s-%04d", strings.Repeat("x", 230), i))
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("%08x-0000-4000-8000-000000000000.jsonl", i)), s.data, 0o600)
		}
		must(t, err)
	}
	opened, err := claude.Agent{}.Open(agent.Located{Path: s.root}, nil)
	must(t, err)
	heads, err := opened.List(t.Context())
	if err != nil || len(heads) != n+1 {
		t.Fatalf("%d sessions, %v, want %d", len(heads), err, n+1)
	}
	for _, h := range heads {
		allocated := testing.AllocsPerRun(1, func() { // AllocsPerRun calls it once before it counts
			if stamp, err := opened.Stamp(t.Context(), h); err != nil || stamp == (change.Stamp{}) {
				t.Errorf("Stamp(%s) = %v, %v", h.Project, stamp, err)
			}
		})
		if allocated >= n {
			t.Fatalf("Stamp(%s) takes %.0f allocations: it lists %d folders", h.Project, allocated, n)
		}
	}
}
