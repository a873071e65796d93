//go:build e2e

package opencode

import (
	"testing"

	"mend/internal/damage"
)

// A server reads the store anew for every prompt: a session that was fixed
// meanwhile goes on.
func TestServe(t *testing.T) {
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			h, session := damagedHome(t, i, damage.Text(damage.Hello, " "))
			s := h.Serve()
			if r := s.Prompt(session, "one more"); r.Verdict != "R11" {
				t.Errorf("Prompt after a blank answer = %s, want R11; status %d, reply:\n%s", r.Verdict, r.Code, tail(r.Output))
			}
			damage.Text(damage.Hello, "mended")(h.Store(session))
			if r := s.Prompt(session, "one more"); r.Verdict != Alive {
				t.Errorf("Prompt after the fix = %s, want %s; status %d, reply:\n%s", r.Verdict, Alive, r.Code, tail(r.Output))
			}
		})
	}
}
