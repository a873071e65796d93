package term

import (
	"fmt"
	"io"
	"time"
)

// progressDelay is how long work runs before progress is shown.
const progressDelay = 500 * time.Millisecond

// A Progress shows the progress of long work on the terminal.
type Progress struct {
	w     io.Writer // nil without a terminal
	what  string
	done  int
	total int
	next  time.Time // the time of the next update
	width int       // of the text on the terminal
}

// Progress begins to show the progress of work in total steps.
func (t *Terminal) Progress(total int, what string) *Progress {
	p := &Progress{what: what, total: total, next: time.Now().Add(progressDelay)}
	if t.CanDraw && !t.JSON {
		p.w = t.Err
	}
	return p
}

// Step counts a step.
func (p *Progress) Step() {
	p.done++
	if p.w == nil || time.Now().Before(p.next) {
		return
	}
	p.width, _ = fmt.Fprintf(p.w, "\r%s %3d %% (%d/%d)", p.what, 100*p.done/p.total, p.done, p.total)
	p.next = time.Now().Add(100 * time.Millisecond)
}

// Clear removes the progress from the terminal.
func (p *Progress) Clear() {
	if p.width > 0 {
		fmt.Fprintf(p.w, "\r%*s\r", p.width-1, "")
	}
	p.width = 0
}

// Busy shows a text on the terminal, but not before progressDelay, until the returned function is called.
func (t *Terminal) Busy(what string) (done func()) {
	if !t.CanDraw || t.JSON {
		return func() {}
	}
	shown := make(chan struct{})
	timer := time.AfterFunc(progressDelay, func() {
		fmt.Fprintf(t.Err, "\r%s", what)
		close(shown)
	})
	return func() {
		if !timer.Stop() {
			<-shown
			fmt.Fprintf(t.Err, "\r%*s\r", len(what), "")
		}
	}
}
