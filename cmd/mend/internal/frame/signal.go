package frame

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"mend/internal/term"
	"mend/txn"
)

// How long a verb that only reads may take to end after a signal, and to report that.
const (
	graceToEnd    = 400 * time.Millisecond
	graceToReport = 200 * time.Millisecond
)

// HandleSignals calls cancel with a [SignalError] on SIGINT or SIGTERM. It waits for a change in progress, see
// [Env.BeginWrite], and after graceToEnd ends a verb that is still running. A second signal kills the program at once.
func (env *Env) HandleSignals(cancel context.CancelCauseFunc, args []string) {
	report := &Env{Terminal: env.Clone(), Parsed: true}
	report.JSON = slices.Contains(args, "--json")
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		err := &SignalError{<-signals, &env.Made}
		signal.Stop(signals)
		cancel(err)
		env.writing.Lock() // waits for the change in progress, and prevents others
		time.Sleep(graceToEnd)
		reported := make(chan struct{})
		go func() { // a write may block
			if report.CanDraw {
				fmt.Fprint(report.Err, "\r\x1b[K") // progress is erased
			}
			report.Report(err)
			close(reported)
		}()
		select {
		case <-reported:
		case <-time.After(graceToReport):
		}
		os.Exit(ExitCode(err))
	}()
}

// BeginWrite is called before the journal or a store is changed. Until end is called, a signal does not end mend.
func (env *Env) BeginWrite() (end func()) {
	env.writing.RLock()
	env.Made.open.Store(true)
	return env.writing.RUnlock
}

// changes records what the command has changed, for the message about a signal.
type changes struct {
	open atomic.Bool  // the journal was opened for writing; the outcome is unknown here
	made atomic.Int32 // number of applied plans
}

func (c *changes) String() string {
	switch n := int(c.made.Load()); {
	case c.open.Load():
		return "the change in progress was completed or rolled back"
	case n > 0:
		return fmt.Sprintf("%s made before, see \"mend log\"; nothing else was changed", term.CountWords(n, "change was", "changes were"))
	}
	return "nothing was changed"
}

// Apply applies a plan and records whether it changed the store.
func (c *changes) Apply(do func() error) error {
	before := c.open.Load()
	err := do()
	var pending *txn.PendingError
	if err == nil {
		c.made.Add(1)
	}
	if !errors.As(err, &pending) {
		c.open.Store(before)
	}
	return err
}
