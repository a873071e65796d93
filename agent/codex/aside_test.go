package codex_test

import (
	"bytes"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/keep"
	"mend/internal/mend"
	fixture "mend/internal/test/codex"
	"mend/internal/test/storetest"
)

// TestRestoreAsideCut: a rollout that is too large for a plan is built beside the store and moved. The test cuts the
// restore at each call that changes the disk; a plain run cuts it at a sample of the calls. After the recovery the
// rollout is missing or complete, and nothing else is left. Undo and redo move it.
func TestRestoreAsideCut(t *testing.T) {
	h := fixture.NewHome(t, "")
	line := `{"timestamp":"2026-11-22T15:51:05.050Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"` +
		strings.Repeat("x", 1<<20) + `"}]}}` + "\n"
	want, err := os.ReadFile(h.Rollout())
	must(t, err)
	want = append(bytes.TrimRight(want, "\n"), "\n"+strings.Repeat(line, 17)...)
	must(t, os.WriteFile(h.Rollout(), want, 0o600))
	folder := t.TempDir()
	c := open(t, h, folder)
	head := session(t, c)
	kept := func(f func(*keep.Keep) error) error { return mend.OpenJournal(folder).Kept(keep.Options{}, f) }
	must(t, kept(func(k *keep.Keep) error {
		return c.KeepAll(t.Context(), k, []change.Head{head}, mend.KeptAsked, false, func(_ int, s mend.Kept) { must(t, s.Err) })
	}))
	must(t, os.Remove(h.Rollout()))
	var fault storetest.Fault
	var e change.Entry
	restore := func() (func(), error) {
		c := openWithStep(t, h, folder, func(call string) error { return fault.Step(call) })
		var done mend.Restored
		discard := func() {}
		err := kept(func(k *keep.Keep) (err error) {
			if done, err = c.ProposeRestore(t.Context(), k, head, mend.RestoreRequest{}); err != nil || !done.IsAside() || len(fault.Calls) > 0 {
				t.Fatalf("the plan: calls %q, %+v, %v", fault.Calls, done.Plan, err)
			}
			built, err := c.BuildAside(t.Context(), k, done)
			if built != nil {
				discard = built
			}
			return err
		})
		if err == nil {
			e, err = c.Apply(t.Context(), done.Plan)
		}
		return discard, err
	}
	for cut := 0; ; cut++ {
		if !storetest.Includes(cut) {
			continue
		}
		fault = storetest.Fault{At: cut}
		discard, err := restore()
		fault.At = math.MaxInt // nothing after the restore is cut
		if err == nil {
			now, err := os.ReadFile(h.Rollout())
			if discard(); err != nil || !bytes.Equal(now, want) {
				t.Fatalf("restored %d bytes, %v", len(now), err)
			}
			break
		}
		if cut > 40 {
			t.Fatal("no end:", err)
		}
		next := open(t, h, folder)
		_, recoverErr := next.Recover(t.Context(), false)
		discard()
		_, sweepErr := next.Sweep(t.Context())
		if err := errors.Join(recoverErr, sweepErr); err != nil {
			t.Errorf("cut at call %d: %v", cut, err)
		}
		now, err := os.ReadFile(h.Rollout())
		if err == nil && bytes.Equal(now, want) {
			err = os.Remove(h.Rollout())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("cut at call %d: %d bytes are restored, %v", cut, len(now), err)
		}
		if left, _ := filepath.Glob(filepath.Join(h.Root(), ".mend", "*", "*")); len(left) > 0 {
			t.Errorf("cut at call %d: left are %v", cut, left)
		}
	}
	for _, redo := range []bool{false, true} {
		p, err := c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{e.ID}, Redo: redo})
		if err == nil {
			_, err = c.Apply(t.Context(), p)
		}
		must(t, err)
		if now, err := os.ReadFile(h.Rollout()); redo == errors.Is(err, fs.ErrNotExist) || redo && !bytes.Equal(now, want) {
			t.Errorf("redo %t: %d bytes, %v", redo, len(now), err)
		}
		if err := c.CheckKept(t.Context(), e); err != nil {
			t.Error(err)
		}
	}
}
