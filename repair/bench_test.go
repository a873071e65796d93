package repair

import "testing"

// The session of spec/performance.md: 500 messages, some 2,400 parts.
func BenchmarkStrip500(b *testing.B) {
	var turns []turn
	for range 145 {
		turns = append(turns, user(hi))
	}
	for range 355 {
		turns = append(turns, answer(stepStart, signed, hi, callPart(len(turns), callStates[0]), stepFinish))
	}
	s := build(turns...)
	b.ReportAllocs()
	for b.Loop() {
		if r, err := Plan(s, Request{Options: Options{Now: now}, Classes: []Class{ThinkingDisabledViolation}}); err != nil || len(r.Plan.Ops) != 355 {
			b.Fatalf("Plan: %d ops, %v", len(r.Plan.Ops), err)
		}
	}
}

func BenchmarkDiagnoseHealthy(b *testing.B) {
	var turns []turn
	for range 10_000 {
		turns = append(turns, user(hi), answer(stepStart, signed, hi, callPart(len(turns), callStates[0]), stepFinish))
	}
	s := build(turns...)
	b.ReportAllocs()
	for b.Loop() {
		if ds := Diagnose(s, Options{Now: now}); len(ds) > 0 {
			b.Fatalf("Diagnose = %s", told(ds))
		}
	}
}
