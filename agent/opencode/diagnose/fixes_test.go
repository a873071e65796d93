package diagnose

import (
	"testing"

	"mend/repair"
)

// A fixCase is a session with damage in its second message.
type fixCase struct {
	name  string
	turn  turn     // the second message
	found string   // the summary of the findings
	want  []string // the parts of the message after the fix, with the ids that changed; nil: there is no fix
	req   Request
	after []turn // the later messages; nil: a prompt
}

func (c fixCase) run(t *testing.T) {
	turns := append([]turn{user(hi), c.turn}, c.after...)
	if c.after == nil {
		turns = append(turns, user(hi))
	}
	s := build(turns...)
	before := records(s)
	if got := summary(diagnosed(s, Options{Now: now, Version: c.req.Version})); got != c.found {
		t.Errorf("Diagnose = %s\nwant %s", got, c.found)
	}
	r := plan(t, s, c.req)
	turns[1].parts = c.want
	if c.want == nil {
		turns[1].parts = c.turn.parts
	}
	if got, want := records(r.After), records(build(turns...)); got != want {
		t.Errorf("Plan leaves\n%s\nwant\n%s", got, want)
	}
	if records(s) != before {
		t.Errorf("Plan changed its input")
	}
	if (c.want == nil) != (len(r.Plan.Ops) == 0) {
		t.Errorf("Plan has %d ops", len(r.Plan.Ops))
	}
	if again := plan(t, r.After, c.req); len(again.Plan.Ops) != 0 {
		t.Errorf("the second plan has ops: %v", again.Plan.Ops)
	}
}

func runFixes(t *testing.T, cases []fixCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, c.run)
	}
}

var (
	latent  = Request{Latent: true}
	byClass = Request{Classes: []repair.Class{repair.ThinkingBlockOrder}}
	noText  = Request{Classes: []repair.Class{repair.EmptyContentMessage}}
	strip   = Request{Classes: []repair.Class{repair.ThinkingDisabledViolation}}
)
