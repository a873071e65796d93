package diagnose

import (
	"slices"
	"testing"

	"mend/agent/opencode/render"
	"mend/repair"
)

// TestOneSetting: a scan reports findings of the setting in use, and findings of other versions on request. A fix is
// checked in the version in use and the newest version, with thinking on and off.
func TestOneSetting(t *testing.T) {
	s := build(user(hi), answer(stepStart, thinking, `"type":"text","text":""`), user(hi))
	one := newSimulation(s, repair.Request{Options: repair.Options{Now: now, Version: "1.18.33"}}, Environment{})
	if len(one.settings) != 2 || one.settings[own].profile != render.ProfileFor("1.18.33") || one.settings[1].thinking == one.settings[own].thinking {
		t.Errorf("the settings of the newest version are %d, want two with thinking on and off", len(one.settings))
	}
	one.request.Version = "1.1.53"
	if all := one.settingsFor(one.s); len(all) != 4 {
		t.Errorf("the settings of an older version are %d, want four", len(all))
	}
	one.request.AllSettings = true
	if all := one.settingsFor(one.s); len(all) != 2*len(render.Profiles()) {
		t.Errorf("all settings are %d, want %d", len(all), 2*len(render.Profiles()))
	}
	linked := build(user(`"type":"file","mime":"image/png","filename":"x.png","url":"file:///x.png"`), answer(hi))
	for _, latent := range []bool{false, true} {
		o := repair.Options{Now: now, Version: "1.1.53", AllSettings: latent}
		found := Diagnose(linked, o, Environment{}).Found
		if hasMedia := slices.ContainsFunc(found, func(d repair.Diagnosis) bool { return d.Rule == render.FailureMedia && d.Severity == repair.Latent }); hasMedia != latent {
			t.Errorf("with all settings %t, a failure of another version is reported: %t: %s", latent, hasMedia, summary(found))
		}
	}
}
