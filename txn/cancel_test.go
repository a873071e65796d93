package txn_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/txn"
)

// crashedFixture returns a fixture with a change that was cut in the middle of its exchanges.
func crashedFixture(t *testing.T) fixture {
	t.Helper()
	f := newFixture(t)
	f.removeFirstParts()
	dead := false
	err := f.reopen(func(call string) error {
		if dead = dead || strings.HasPrefix(call, "exchange"); dead {
			return storetest.ErrFault
		}
		return nil
	}, func(j *journal.Journal, st *tree.Store) error {
		_, err := txn.Run(context.Background(), j, st, f.plan())
		return err
	})
	if err == nil {
		t.Fatal("the change survived the crash")
	}
	return f
}

// TestRecoverCancelled: when its context has ended, Recover begins no further entry and reports
// which is pending, but finishes the one in progress.
func TestRecoverCancelled(t *testing.T) {
	before, after, _ := undisturbed(t)
	f := crashedFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	recover := func(step func(string) error) error {
		return f.reopen(step, func(j *journal.Journal, st *tree.Store) error {
			err := recoverAll(ctx, j, st)
			return err
		})
	}
	err := recover(func(call string) error { // it ends in the middle
		if strings.HasPrefix(call, "barrier") {
			cancel()
		}
		return nil
	})
	if err != nil || ctx.Err() == nil {
		t.Errorf("Recover with a context that ends in the middle = %v", err)
	}
	if f.wantConsistent(0, before, after) {
		t.Error("the recovery went forward, want back")
	}
	f = crashedFixture(t)
	var pending *txn.PendingError
	if err := recover(nil); !errors.As(err, &pending) || !errors.Is(err, context.Canceled) {
		t.Errorf("Recover with a context that has ended = %v, want that an entry is pending", err)
	}
	if es := f.entries(); len(es) != 1 || es[0].State != change.Pending {
		t.Errorf("the journal has %+v, want one pending entry", es)
	}
}
