package main

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/mend"
	"mend/internal/term"
)

// TestBatch moves three sessions while another program changes one: that one stays and is named, the others
// move, and the exit code is the conflict's. After the user has cancelled the command, nothing more is done.
func TestBatch(t *testing.T) {
	ts := newBrokenStore(t, 3)
	var out, errs bytes.Buffer
	env := &frame.Env{Terminal: &term.Terminal{Out: &out, Err: &errs}}
	newRoot(env)
	env.Opt.Store, env.Opt.Journal.Dir, env.Opt.Cache = ts.path, ts.journal, filepath.Join(ts.data, "cache")
	c, err := mend.Open(env.Opt)
	if err != nil {
		t.Fatal(err)
	}
	heads, err := c.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	moves, _, err := proposeMoves(t.Context(), env, []*mend.Store{c}, nil, heads[0].Directory, to, false)
	if err != nil || len(moves) != 1 || moves[0].Plans != 3 || moves[0].Going != 3 {
		t.Fatalf("proposeMoves() = %+v, %v, want three plans", moves, err)
	}
	var changed change.Plan // while its plan is made
	each := moves[0].Each
	moves[0].Each = func(ctx context.Context, f func(change.Plan) error) error {
		n := 0
		return each(ctx, func(p change.Plan) error {
			if n++; n == 2 {
				changed = p
				files, err := filepath.Glob(filepath.Join(ts.path, "session", "*", p.Session+".json"))
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
	before := ts.snapshot()
	if err := makeMoves(ended, env, moves, from, to, frame.WriteFlags{Yes: true}); !errors.Is(err, context.Canceled) || !maps.Equal(ts.snapshot(), before) {
		t.Errorf("ended by the user: %v, and the store has changed: %t", err, !maps.Equal(ts.snapshot(), before))
	}
}
