package term

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestProgress: the progress is drawn only for long work on a terminal, and is removed at the end.
func TestProgress(t *testing.T) {
	rows := []struct {
		name            string
		canDraw, asJSON bool
		ago             time.Duration // since the work began
		want            string
	}{
		{"short work", true, false, 0, ""},
		{"long work", true, false, time.Second, "\rscanning  25 % (1/4)\r                    \r"},
		{"without a terminal", false, false, time.Second, ""},
		{"beside a JSON answer", true, true, time.Second, ""},
	}
	for _, r := range rows {
		var out strings.Builder
		a := &Terminal{Err: &out, CanDraw: r.canDraw, JSON: r.asJSON}
		p := a.Progress(4, "scanning")
		p.next = p.next.Add(-r.ago)
		p.Step()
		p.Step() // too soon to draw again
		p.Clear()
		p.Clear()
		if got := out.String(); got != r.want {
			t.Errorf("%s: drew %q, want %q", r.name, got, r.want)
		}
	}
}

// TestBusy: a word shows long work that has no progress, on a terminal only, and is removed at the end.
func TestBusy(t *testing.T) {
	rows := []struct {
		name            string
		canDraw, asJSON bool
		took            time.Duration
		want            string
	}{
		{"short work", true, false, progressDelay - 1, ""},
		{"long work", true, false, progressDelay + 1, "\rwriting\r       \r"},
		{"without a terminal", false, false, time.Hour, ""},
		{"beside a JSON answer", true, true, time.Hour, ""},
	}
	for _, r := range rows {
		synctest.Test(t, func(t *testing.T) {
			var out strings.Builder
			a := &Terminal{Err: &out, CanDraw: r.canDraw, JSON: r.asJSON}
			done := a.Busy("writing")
			time.Sleep(r.took)
			done()
			if got := out.String(); got != r.want {
				t.Errorf("%s: wrote %q, want %q", r.name, got, r.want)
			}
		})
	}
}
