package repair

import (
	"testing"

	"mend/change"
)

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

// TestIsWell: a message is well in a setting if it has no finding there, and none that may be hidden.
func TestIsWell(t *testing.T) {
	at := func(message string) Finding {
		return Finding{Code: "x", Ref: change.Ref{Kind: change.KindMessage, Message: message}}
	}
	c := &Case{Context: Context{OfRequest: func(code string) bool { return code == "x" }}}
	fs := Findings{c: c, counts: map[place]int{{"x", "m1", 1}: 1}}
	for _, x := range []struct {
		setting int
		message string
		want    bool
	}{{1, "m1", false}, {0, "m1", true}, {1, "m2", true}} {
		if got := fs.IsWell(x.setting, at(x.message)); got != x.want {
			t.Errorf("%s is well in setting %d: %t, want %t", x.message, x.setting, got, x.want)
		}
	}
	fs.fails = map[int]bool{0: true}
	if fs.IsWell(0, at("m1")) || !fs.IsWell(1, at("m2")) {
		t.Error("IsWell ignores a finding that may be hidden, or applies it to another setting")
	}
}
