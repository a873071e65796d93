package mend

import (
	"path/filepath"
	"testing"
	"time"

	"mend/internal/test/damage"
	"mend/testdata"
)

// futureFixture returns a store whose last answer is dated in the year 2099.
func futureFixture(t *testing.T) *scanFixture {
	t.Helper()
	b := newScanFixture(t, testdata.OpenCode1227)
	damage.Edit(t, filepath.Join(b.dir, "opencode", "opencode.db"), b.id, damage.ByName(t, "last answer dated in the future"))
	return b
}

func at(year int) func() time.Time {
	return func() time.Time { return time.Date(year, 1, 2, 0, 0, 0, 0, time.UTC) }
}

// TestResultValidity: the result of a session with a message dated in the future is not cached, because it changes at
// that time: then the next prompt sorts after the message.
func TestResultValidity(t *testing.T) {
	b := futureFixture(t)
	b.opt.Now = at(2027)
	b.want("the first scan", 1, "R12")
	b.want("again", 1, "R12")
	b.opt.Now = at(2101)
	b.want("after that time", 1)
	b.opt.Now = at(2027)
	b.want("with the clock set back", 1, "R12")
}
