package repair

import "testing"

// TestTiers: each class of the engine has a tier, and a rule of a class that is only reported has no fix.
func TestTiers(t *testing.T) {
	for c, e := range classExplanations {
		switch e.Tier {
		case Auto, Ask, Report:
		default:
			t.Errorf("%s has the tier %q", c, e.Tier)
		}
	}
	for code, r := range engineRules() {
		if tier := ExplainClass(r.Class).Tier; tier == "" || tier == Report && r.Fixes != nil {
			t.Errorf("%s of class %s has the tier %q, with fixes: %t", code, r.Class, tier, r.Fixes != nil)
		}
	}
}
