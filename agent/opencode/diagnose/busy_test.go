package diagnose

import (
	"strings"
	"testing"
	"time"

	"mend/agent/opencode/record"
	"mend/change"
)

// TestBusy: a session is busy if its newest answer is unfinished, and either was written less than two minutes ago or a
// process that was started before the last write has the store open.
func TestBusy(t *testing.T) {
	unfinished := turn{role: "assistant", parts: []string{stepStart, hi}}
	row := func(updated ...int64) *record.Session {
		s := build(user(hi), unfinished)
		for i, t := range updated {
			s.Messages[i].Cols = change.NewCols(change.IntCol("time_updated", t))
		}
		return s
	}
	updatedAt := func(t int64) *record.Session {
		s := build(user(hi), unfinished)
		s.Updated = t
		return s
	}
	for _, c := range []struct {
		name string
		s    *record.Session
		now  int64
		held int64 // when the oldest process was started, in milliseconds; 0: no process
		want bool
	}{
		{"no answer", build(user(hi)), 1000, 1, false},
		{"finished", build(user(hi), answer(hi)), 2000, 1, false},
		{"finished by an error", build(user(hi), failed("APIError")), 2000, 1, false},
		{"tool calls, completed", build(user(hi), turn{"assistant", `"finish":"tool-calls","time":{"created":1,"completed":2}`, nil}), 2000, 1, true},
		{"completed without a reason", build(user(hi), turn{"assistant", `"time":{"created":1,"completed":2}`, nil}), 2000, 1, false},
		{"old", build(user(hi), unfinished), 10_000_000, 0, false},
		{"old, a process from before it", build(user(hi), unfinished), 10_000_000, 1, true},
		{"old, a process from before the last write", build(user(hi), unfinished), 10_000_000, 1999, true},
		{"old, a process from after it", build(user(hi), unfinished), 10_000_000, 9_000_000, false},
		{"young, a process from after it", build(user(hi), unfinished), 2000 + 119_000, 2000 + 100_000, true},
		{"a process, and a time from the future", updatedAt(90_000_000), 10_000_000, 9_000_000, true},
		{"young", build(user(hi), unfinished), 2000 + 119_000, 0, true},
		{"no longer young", build(user(hi), unfinished), 2000 + 120_000, 0, false},
		{"a minute ahead", build(user(hi), unfinished), 1000, 0, true},
		{"from the future", updatedAt(90_000_000), 10_000_000, 0, false},
		{"from the future, and young", row(9_990_000, 90_000_000), 10_000_000, 0, true},
		{"young part", build(user(hi), turn{role: "assistant", parts: []string{`"type":"text","text":"x","time":{"start":9990000}`}}), 10_000_000, 0, true},
		{"young row", row(9_990_000), 10_000_000, 0, true},
		{"old row", row(9_000_000), 10_000_000, 0, false},
		{"young session", updatedAt(9_990_000), 10_000_000, 0, true},
		{"unfinished, a newer answer is done", build(user(hi), unfinished, answer(hi)), 4000, 1, false},
	} {
		var held time.Time
		if c.held != 0 {
			held = time.UnixMilli(c.held)
		}
		now := time.UnixMilli(c.now)
		if got := WhyBusy(c.s, now, held, false); (got != "") != c.want {
			t.Errorf("%s: WhyBusy = %q, want %v", c.name, got, c.want)
		}
		if got := WhyBusy(c.s, now, time.Time{}, true); got != "" {
			t.Errorf("%s: WhyBusy = %q although no process has the store open", c.name, got)
		}
	}
}

// TestWhyBusy: the reason has the age of the last write and the time until which mend waits.
func TestWhyBusy(t *testing.T) {
	s := build(user(hi), turn{role: "assistant", parts: []string{stepStart, hi}})
	newest, _ := newestTime(s, time.UnixMilli(1e9))
	got := WhyBusy(s, newest.Add(40*time.Second), time.Time{}, false)
	for _, want := range []string{"40 seconds ago", "until " + newest.Add(2*time.Minute).Format(time.TimeOnly)} {
		if !strings.Contains(got, want) {
			t.Errorf("WhyBusy = %q, want it to have %q", got, want)
		}
	}
}
