package diagnose

import (
	"testing"

	"mend/repair"
)

// long returns a session of so many answers with so many calls each, in that state. One
// of 354 answers has 500 messages and some 2,400 parts, like that of
// docs/performance.md.
func long(answers, calls int, state string) []turn {
	var turns []turn
	for range 145 {
		turns = append(turns, user(hi))
	}
	for range answers {
		parts := []string{stepStart, signed, hi}
		for i := range calls {
			parts = append(parts, callPart(10*len(turns)+i, state))
		}
		turns = append(turns, answer(append(parts, stepFinish)...))
	}
	return append(turns, answer(stepStart, done, stepFinish))
}

func BenchmarkStrip500(b *testing.B) {
	off := false
	req := Request{Options: Options{Now: now, Thinking: &off}, Classes: []repair.Class{repair.ThinkingDisabledViolation}}
	benchmarkPlan(b, long(354, 1, callStates[0]), req, 354)
}

// Three calls in each answer never ended.
func BenchmarkUnfinished1000(b *testing.B) {
	benchmarkPlan(b, long(354, 3, callStates[2]), Request{Options: Options{Now: now}, Latent: true}, 3*354)
}

func benchmarkPlan(b *testing.B, turns []turn, req Request, ops int) {
	s := build(turns...)
	b.ReportAllocs()
	for b.Loop() {
		if r, err := Plan(s, req); err != nil || len(r.Plan.Ops) != ops {
			b.Fatalf("Plan: %d ops, %v, want %d", len(r.Plan.Ops), err, ops)
		}
	}
}

// A session in which nothing is wrong, but which does not show it at a glance.
func BenchmarkDiagnoseHealthy(b *testing.B) {
	s := build(long(10_000, 1, callStates[0])...)
	b.ReportAllocs()
	for b.Loop() {
		if ds := diagnosed(s, Options{Now: now}); len(ds) > 0 {
			b.Fatalf("Diagnose = %s", summary(ds))
		}
	}
}
