package frame

import (
	"errors"
	"syscall"
	"testing"

	"mend/txn"
)

// TestInterrupted: the message after a signal says what the command has changed.
func TestInterrupted(t *testing.T) {
	opened := func(err error) func(*changes) {
		return func(c *changes) {
			_ = c.Apply(func() error {
				c.open.Store(true)
				return err
			})
		}
	}
	for _, row := range []struct {
		name string
		do   func(*changes)
		want string
	}{
		{"nothing but reading", func(*changes) {}, "interrupted: nothing was changed"},
		{"a plan that was applied", opened(nil), `interrupted: 1 change was made before, see "mend log"; nothing else was changed`},
		{"a plan that was not applied", opened(errors.New("conflict")), "interrupted: nothing was changed"},
		{"a plan with an unknown outcome", opened(&txn.PendingError{}), "interrupted: the change in progress was completed or rolled back"},
		{"another change of the journal", func(c *changes) { c.open.Store(true) }, "interrupted: the change in progress was completed or rolled back"},
	} {
		var c changes
		row.do(&c)
		if got := (&SignalError{syscall.SIGINT, &c}).Error(); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}
