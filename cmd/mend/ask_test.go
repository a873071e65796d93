package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"mend/internal/damage"
	"mend/testdata"
)

// TestAsk checks that repair shows everything and asks once if there is a terminal.
func TestAsk(t *testing.T) {
	for answer, want := range map[string]int{"y\n": exitDone, "YES\n": exitDone, "n\n": exitRefused, "\n": exitRefused, "": exitRefused} {
		dir := t.TempDir()
		session, err := testdata.Unpack(testdata.OpenCode1153, dir)
		if err != nil {
			t.Fatal(err)
		}
		store := filepath.Join(dir, "opencode", "storage")
		damage.ByName(t, "blank answer")(damage.Tree{T: t, Root: store, Session: session})
		damaged, err := damage.Snapshot(store)
		if err != nil {
			t.Fatal(err)
		}
		var out, errs bytes.Buffer
		a := &app{terminal: terminal{in: strings.NewReader(answer), out: &out, err: &errs, canAsk: true}}
		root := a.root()
		a.opt.Journal, a.opt.Cache = filepath.Join(dir, "journal"), filepath.Join(dir, "cache")
		root.SetArgs([]string{"repair", "--store", store})
		if got := a.report(root.Execute()); got != want {
			t.Errorf("answer %q: exit code %d, want %d\n%s%s", answer, got, want, &out, &errs)
		}
		if !strings.Contains(out.String(), "[user interrupted]") || strings.Count(errs.String(), "Repair 1 session? [y/N]") != 1 {
			t.Errorf("answer %q: showed\n%s\nand asked\n%s", answer, &out, &errs)
		}
		now, err := damage.Snapshot(store)
		if changed := !maps.Equal(now, damaged); err != nil || changed != (want == exitDone) {
			t.Errorf("answer %q: the store changed: %t, %v", answer, changed, err)
		}
	}
}

// TestAskInterrupted checks that a signal ends the question.
func TestAskInterrupted(t *testing.T) {
	in, out := io.Pipe()
	t.Cleanup(func() { _ = out.Close() })
	a := &app{terminal: terminal{in: in, out: io.Discard, err: io.Discard, canAsk: true}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.confirm(ctx, "Go on?"); !errors.Is(err, context.Canceled) {
		t.Errorf("confirm = %v, want the context's error", err)
	}
}
