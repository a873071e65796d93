package main

import (
	"fmt"
	"io"
	"time"
)

// A progress tells on the terminal how far work of more than half a second is.
type progress struct {
	w     io.Writer // nil where nothing can be drawn
	what  string
	done  int
	total int
	next  time.Time // when it is drawn again
	width int       // of what is drawn
}

func (a *app) progress(total int, what string) *progress {
	p := &progress{what: what, total: total, next: time.Now().Add(500 * time.Millisecond)}
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

// clear makes room for other text.
func (p *progress) clear() {
	if p.width > 0 {
		fmt.Fprintf(p.w, "\r%*s\r", p.width-1, "")
	}
	p.width = 0
}
