package txn_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"mend/change"
	"mend/fsstore"
	"mend/internal/storetest"
	"mend/journal"
	"mend/txn"
)

// crashedWorld has a change that was cut in the middle of its exchanges.
func crashedWorld(t *testing.T) world {
	t.Helper()
	w := newWorld(t)
	w.lost()
	dead := false
	err := w.act(func(call string) error {
		if dead = dead || strings.HasPrefix(call, "exchange"); dead {
			return storetest.ErrFault
		}
		return nil
	}, func(j *journal.Journal, st *fsstore.Store) error {
		_, err := txn.Run(context.Background(), j, st, w.plan())
		return err
	})
	if err == nil {
		t.Fatal("the change survived the crash")
	}
	return w
}

// A recovery that nobody waits for any more begins no entry and says that it
// stays pending, but leaves none half done.
func TestRecoverCancelled(t *testing.T) {
	before, after, _ := ends(t)
	w := crashedWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	recover := func(step func(string) error) error {
		return w.act(step, func(j *journal.Journal, st *fsstore.Store) error {
			_, err := txn.Recover(ctx, j, st, st.ID())
			return err
		})
	}
	err := recover(func(call string) error { // it ends in the middle
		if call == "barrier" {
			cancel()
		}
		return nil
	})
	if err != nil || ctx.Err() == nil {
		t.Errorf("Recover with a context that ends in the middle = %v", err)
	}
	if !w.decided(0, before, after) {
		t.Error("the recovery went back, want forward")
	}
	w = crashedWorld(t)
	var pending *txn.PendingError
	if err := recover(nil); !errors.As(err, &pending) || !errors.Is(err, context.Canceled) {
		t.Errorf("Recover with a context that has ended = %v, want that an entry is pending", err)
	}
	if es := w.entries(); len(es) != 1 || es[0].State != change.Pending {
		t.Errorf("the journal has %+v, want one pending entry", es)
	}
}
