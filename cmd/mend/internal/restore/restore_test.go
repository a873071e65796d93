package restore

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/internal/test/damage"
	"mend/testdata"
)

// TestParseRestore: a time can be given as an age, a date, or in words; an id names a state.
func TestParseRestore(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"": {}, "2h ago": now.Add(-2 * time.Hour), "2 hours ago": now.Add(-2 * time.Hour), "an hour ago": now.Add(-time.Hour), "3d": now.Add(-72 * time.Hour),
		"a week ago": now.Add(-7 * 24 * time.Hour), "30 min": now.Add(-30 * time.Minute), "yesterday": now.Add(-24 * time.Hour), "1h30m": now.Add(-90 * time.Minute),
		"2026-11-20": time.Date(2026, 11, 20, 0, 0, 0, 0, time.Local), "2026-11-20 14:30": time.Date(2026, 11, 20, 14, 30, 0, 0, time.Local),
		"2026-11-20 14:30:05": time.Date(2026, 11, 20, 14, 30, 5, 0, time.Local), "2026-11-20T14:30:00Z": time.Date(2026, 11, 20, 14, 30, 0, 0, time.UTC),
		"now": now, "1s ago": now.Add(-time.Second), "30 seconds ago": now.Add(-30 * time.Second), "90s": now.Add(-90 * time.Second),
	} {
		if r, err := parseRestore(text, now); err != nil || !r.At.Equal(want) || r.State != "" {
			t.Errorf("%q is %v, %q, %v, want %v", text, r.At, r.State, err, want)
		}
	}
	for _, id := range []string{"qevajo", "k12"} {
		if r, err := parseRestore(id, now); err != nil || r.State != id {
			t.Errorf("%q is %+v, %v", id, r, err)
		}
	}
	for _, text := range []string{"3 moons", "-1h", "2026-13-40", "tomorrow morning", "9999999999h"} {
		if r, err := parseRestore(text, now); err == nil {
			t.Errorf("%q is %+v", text, r)
		}
	}
}

// newEnv returns the environment of a run on a store with one session.
func newEnv(t *testing.T) (env *frame.Env, out, errs *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	if _, err := testdata.Unpack(testdata.OpenCode1153, dir); err != nil {
		t.Fatal(err)
	}
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	env = &frame.Env{Terminal: &term.Terminal{Out: out, Err: errs}}
	env.Opt = mend.Options{
		Agents: agents.All, Store: filepath.Join(dir, "opencode", "storage"), Journal: mend.OpenJournal(filepath.Join(dir, "journal")),
		Cache: filepath.Join(dir, "cache"), Note: env.Note,
	}
	return env, out, errs
}

func open(t *testing.T, env *frame.Env) (*mend.Store, []change.Head) {
	t.Helper()
	c, err := mend.Open(env.Opt)
	if err != nil {
		t.Fatal(err)
	}
	heads, err := c.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c, heads
}

// TestRestoreBesideAnother: if another process restores all missing sessions after they were listed, nothing is left to
// do.
func TestRestoreBesideAnother(t *testing.T) {
	env, out, errs := newEnv(t)
	c, heads := open(t, env)
	err := env.Opt.Journal.Kept(keep.Options{}, func(k *keep.Keep) error {
		return c.KeepAll(t.Context(), k, heads, mend.KeptAsked, false, func(int, mend.Kept) {})
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := []frame.Restorable{{Restorable: mend.Restorable{Session: heads[0], State: mend.Deleted}, Store: c}}
	if err := restoreSeveral(t.Context(), env, frame.WriteFlags{Yes: true}, mend.RestoreRequest{}, rows, "Nothing is gone."); err != nil || !strings.Contains(out.String(), "Nothing is gone.") {
		t.Errorf("the output is %s%s, %v, want %q", out, errs, err, "Nothing is gone.")
	}
}

// TestBatch: of three sessions that are moved, one that another program changes meanwhile is left and named, the others
// are moved, and the exit code is that of a conflict. After the user has cancelled the command, nothing is changed.
func TestBatch(t *testing.T) {
	env, out, errs := newEnv(t)
	root := env.Opt.Store
	first, err := filepath.Glob(filepath.Join(root, "session", "*", "*.json"))
	if err != nil || len(first) != 1 {
		t.Fatalf("%d sessions, %v", len(first), err)
	}
	for _, last := range []string{"1", "2"} { // two more sessions of the folder
		text, err := os.ReadFile(first[0])
		id := strings.TrimSuffix(filepath.Base(first[0]), ".json")
		other := id[:len(id)-1] + last
		if err == nil {
			text = bytes.ReplaceAll(text, []byte(id), []byte(other))
			err = os.WriteFile(filepath.Join(filepath.Dir(first[0]), other+".json"), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c, heads := open(t, env)
	to := t.TempDir()
	moves, _, err := proposeMoves(t.Context(), env, []*mend.Store{c}, nil, heads[0].Directory, to, false)
	if err != nil || len(moves) != 1 || moves[0].Plans != 3 || moves[0].Going != 3 {
		t.Fatalf("proposeMoves() = %+v, %v, want three plans", moves, err)
	}
	var changed change.Plan // of the session that changes
	each := moves[0].Each
	moves[0].Each = func(ctx context.Context, f func(change.Plan) error) error {
		n := 0
		return each(ctx, func(p change.Plan) error {
			if n++; n == 2 {
				changed = p
				files, err := filepath.Glob(filepath.Join(root, "session", "*", p.Session+".json"))
				if err != nil || len(files) != 1 {
					t.Fatalf("the session %s is in %v, %v", p.Session, files, err)
				}
				text, err := os.ReadFile(files[0])
				if err == nil {
					err = os.WriteFile(files[0], append(text, '\n'), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			return f(p)
		})
	}

	from := heads[0].Directory
	err = makeMoves(t.Context(), env, moves, from, to, frame.WriteFlags{Yes: true})
	if code := frame.ExitCode(err); code != frame.ExitConflict {
		t.Errorf("the exit code is %d, want %d: %v", code, frame.ExitConflict, err)
	}
	failed, _ := env.Answer["failed"].([]frame.FailedJSON)
	if len(failed) != 1 || failed[0].Session != changed.Session || failed[0].Error.Code != "conflict" {
		t.Errorf("failed = %+v, want session %s in conflict", failed, changed.Session)
	}
	if got := out.String(); !strings.Contains(got, "Moved 2 of 3 sessions") || !strings.Contains(got, "mend undo op-") {
		t.Errorf("the output is %s, want the change and how to undo it", got)
	}
	if got := errs.String(); !strings.Contains(got, show.QuotedTitle(changed.Cause.Title, "")) {
		t.Errorf("the output is %s, want the title of the session that stays", got)
	}
	if heads, err = c.Sessions(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, h := range heads {
		if moved := h.Directory == to; moved == (h.ID == changed.Session) {
			t.Errorf("session %s is in %s", h.ID, h.Directory)
		}
	}

	ended, end := context.WithCancel(t.Context())
	end()
	before, err := damage.Snapshot(root)
	if err != nil {
		t.Fatal(err)
	}
	err = makeMoves(ended, env, moves, from, to, frame.WriteFlags{Yes: true})
	if after, _ := damage.Snapshot(root); !errors.Is(err, context.Canceled) || !maps.Equal(after, before) {
		t.Errorf("cancelled by the user: %v, and the store has changed: %t", err, !maps.Equal(after, before))
	}
}
