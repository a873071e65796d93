package diagnose

import (
	"testing"

	"mend/repair"
)

// TestTiers: the class of each rule has a tier, and a class that is only reported has no fix.
func TestTiers(t *testing.T) {
	for _, code := range rules().Codes() {
		r := rules().Rule(code)
		if tier := rules().ExplainClass(r.Class).Tier; tier == "" || tier == repair.Report && r.Fixes != nil {
			t.Errorf("%s of class %s has the tier %q, with fixes: %t", code, r.Class, tier, r.Fixes != nil)
		}
	}
}
