package diagnose

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSubtask: OpenCode runs the subtasks since the last finished answer before it answers the next prompt. Their
// findings can be set aside.
func TestSubtask(t *testing.T) {
	const (
		valid       = `"type":"subtask","prompt":"look around","description":"it","agent":"general"`
		noAgent     = `"type":"subtask","prompt":"look around","description":"it","agent":""`
		missing     = `"type":"subtask","prompt":"look around","description":"it"`
		halfModel   = `"type":"subtask","prompt":"look around","description":"it","agent":"general","model":{"providerID":"anthropic"}`
		blankPrompt = `"type":"subtask","prompt":"","description":"it","agent":"general"`
		compact     = `"type":"compaction","auto":true`
	)
	thinks, plain := answer(stepStart, signed, hi), answer(stepStart, hi)
	ran := calling(strings.Replace(bash, `"tool":"bash"`, `"tool":"task"`, 1))
	for _, c := range []struct {
		name    string
		version string
		turns   []turn
		want    string // the findings: severity and rule
	}{
		{"valid", "1.18.33", []turn{thinks, user(valid)}, "broken R3"},
		{"valid", "1.1.53", []turn{thinks, user(valid)}, "broken R3"},
		{"without thinking", "1.18.33", []turn{plain, user(valid)}, ""},
		{"no agent", "1.18.33", []turn{plain, user(noAgent)}, ""},
		{"no agent", "1.2.27", []turn{plain, user(noAgent)}, ""},
		{"agent missing", "1.1.53", []turn{thinks, user(missing)}, "broken R3; latent screen"},
		{"half a model", "1.2.27", []turn{plain, user(halfModel)}, "latent screen"},
		{"no prompt", "1.18.33", []turn{thinks, user(blankPrompt)}, "broken R3"},
		{"beside a text", "1.18.33", []turn{thinks, user(hi, valid)}, "broken R3"},
		{"two", "1.18.33", []turn{thinks, user(valid, valid)}, "broken R3"},
		{"before another prompt", "1.18.33", []turn{thinks, user(valid), user(hi)}, "broken R3"},
		{"after an aborted answer", "1.18.33", []turn{thinks, user(valid), failed("MessageAbortedError")}, "broken R3"},
		{"before a compaction", "1.18.33", []turn{thinks, user(valid, compact)}, ""},
		{"before the prompt of a compaction", "1.2.27", []turn{thinks, user(valid), user(compact)}, "broken R3"},
		{"before the prompt of a compaction", "1.18.33", []turn{thinks, user(valid), user(compact)}, "latent R3"},
		{"ran", "1.18.33", []turn{user(valid), ran, thinks}, ""},
		{"in the newest answer", "1.1.53", []turn{answer(stepStart, signed, hi, valid)}, ""},
		{"answered", "1.1.53", []turn{user(valid), plain}, ""},
	} {
		s := build(slices.Concat([]turn{user(hi)}, c.turns)...)
		for i := range s.Messages {
			complete(&s.Messages[i])
		}
		o := Options{Now: now, Version: c.version}
		var found []string
		for _, d := range diagnosed(s, o) {
			found = append(found, d.Severity.String()+" "+d.Rule)
		}
		if got := strings.Join(found, "; "); got != c.want {
			t.Errorf("%s, %s: found %q, want %q", c.version, c.name, got, c.want)
		}
		r, err := Plan(s, Request{Options: o, Latent: true, SetAside: true})
		if err != nil {
			t.Fatalf("%s, %s: %v", c.version, c.name, err)
		}
		if left := diagnosed(r.After, o); len(left) > 0 {
			t.Errorf("%s, %s: left %s", c.version, c.name, summary(left))
		}
	}
}

// TestSubtaskIsRunning: a subtask is healthy while OpenCode runs it.
func TestSubtaskIsRunning(t *testing.T) {
	s := build(
		user(hi), answer(stepStart, signed, hi), user(`"type":"subtask","prompt":"look around","description":"it","agent":"general"`),
		turn{"assistant", "", []string{`"type":"tool","callID":"call_1","tool":"task","state":{"status":"running","input":{},"time":{"start":3}}`}},
	)
	for i := range s.Messages[:3] {
		complete(&s.Messages[i])
	}
	if found := diagnosed(s, Options{Now: now, Held: time.UnixMilli(1)}); len(found) > 0 {
		t.Errorf("while it runs: %s", summary(found))
	}
	if found := diagnosed(s, Options{Now: now}); len(found) == 0 || found[0].Rule != "R3" {
		t.Errorf("after OpenCode was stopped: %s", summary(found))
	}
}
