package mend

import (
	"fmt"
	"path/filepath"
	"strings"
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

// TestMachineClockIsWrong: if most sessions are dated in the future, the clock of the machine is wrong: one note says
// so, and no date is a finding.
func TestMachineClockIsWrong(t *testing.T) {
	b := futureFixture(t)
	b.opt.Now = at(2027)
	ask := damage.SQL(t, filepath.Join(b.dir, "opencode", "opencode.db"))
	var columns strings.Builder
	for _, c := range ask("select name from pragma_table_info('session') where name not in ('id', 'time_updated')") {
		columns.WriteString(", " + c["name"].(string))
	}
	for i := range 3 {
		ask("insert into session (id, time_updated"+columns.String()+") select ?, cast(? as integer)"+columns.String()+" from session where id = ?",
			fmt.Sprintf("ses_copy%d", i), 4070908800000+i, b.id)
	}
	var notes []string
	b.opt.Note = func(s string) { notes = append(notes, s) }
	b.want("three of four sessions are dated in 2099", 4)
	if len(notes) != 1 {
		t.Errorf("notes: %q, want one", notes)
	}
	b.want("again", 4)
}
