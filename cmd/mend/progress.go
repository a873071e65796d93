package main

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"mend/change"
	"mend/internal/mend"
)

// progressDelay is how long work takes before progress is shown.
const progressDelay = 500 * time.Millisecond

// A progress shows the progress of long work on the terminal.
type progress struct {
	w     io.Writer // nil without a terminal
	what  string
	done  int
	total int
	next  time.Time // the time of the next update
	width int       // of the text on the terminal
}

func (a *app) progress(total int, what string) *progress {
	p := &progress{what: what, total: total, next: time.Now().Add(progressDelay)}
	if a.canDraw && !a.asJSON {
		p.w = a.err
	}
	return p
}

func (p *progress) step() {
	p.done++
	if p.w == nil || time.Now().Before(p.next) {
		return
	}
	p.width, _ = fmt.Fprintf(p.w, "\r%s %3d %% (%d/%d)", p.what, 100*p.done/p.total, p.done, p.total)
	p.next = time.Now().Add(100 * time.Millisecond)
}

// clear removes the progress from the terminal.
func (p *progress) clear() {
	if p.width > 0 {
		fmt.Fprintf(p.w, "\r%*s\r", p.width-1, "")
	}
	p.width = 0
}

// applyPlan applies a plan. This may take long: a large database is checked first. Before, it
// returns the memory that planning took and that is garbage now: as much again may be needed.
func (a *app) applyPlan(ctx context.Context, c *mend.Store, p change.Plan) (change.Entry, error) {
	defer a.showBusy("checking and writing ...")()
	debug.FreeOSMemory()
	var e change.Entry
	err := a.changes.apply(func() (err error) {
		e, err = c.Apply(ctx, p)
		return err
	})
	return e, err
}

// showBusy shows a text on the terminal after progressDelay, until the returned function is
// called.
func (a *app) showBusy(what string) (done func()) {
	if !a.canDraw || a.asJSON {
		return func() {}
	}
	said := make(chan struct{})
	t := time.AfterFunc(progressDelay, func() {
		fmt.Fprintf(a.err, "\r%s", what)
		close(said)
	})
	return func() {
		if !t.Stop() {
			<-said
			fmt.Fprintf(a.err, "\r%*s\r", len(what), "")
		}
	}
}
