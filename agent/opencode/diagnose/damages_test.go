package diagnose

import (
	"os"
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/repair"
)

// TestDamages: mend predicts the effect of every damage on the real program, and fixes the damage: no broken finding is
// left, and a second plan changes nothing. A signature, which only the provider can check, is fixed with the provider's
// error.
func TestDamages(t *testing.T) {
	for i, version := range damage.Versions {
		for _, w := range damage.Table {
			if !storetest.AllCases() && !damage.Everyday(w.Name) {
				continue
			}
			t.Run(version+"/"+w.Name, func(t *testing.T) {
				s := unpack(t, i, w.Apply).load()
				req := Request{Options: Options{Now: now, Version: version, Missing: missing}}
				ds := diagnosed(s, req.Options)
				if damage.AddsFile(w.Name) {
					wantMoved(t, s, ds, w.Want[i])
					return
				}
				if got, want := verdict(ds), w.Want[i]; got != want && want != "R7" && want != "R8" {
					t.Errorf("mend predicts %s, the real program: %s; found %s", got, want, summary(ds))
				}
				if w.Want[i] == "R7" || w.Want[i] == "R8" {
					e := ParseAPIError([]byte("messages.9.content.0: Invalid `signature` in `thinking` block"))
					req.Error = &e
				}
				r, err := Plan(s, req)
				if err != nil {
					t.Fatal(err)
				}
				if slices.ContainsFunc(r.Remaining, func(d repair.Diagnosis) bool { return d.Severity == repair.Broken }) {
					t.Errorf("Plan leaves %s: %s", summary(r.Remaining), r.Remaining[0].WhyNot)
				}
				if changes := len(r.Plan.Ops) > 0; changes != (w.Want[i] != damage.Alive) {
					t.Errorf("Plan has %d ops", len(r.Plan.Ops))
				}
				if again, err := Plan(r.After, Request{Options: req.Options}); err != nil || len(again.Plan.Ops) > 0 {
					t.Errorf("the second plan has %d ops, %v", len(again.Plan.Ops), err)
				}
			})
		}
		for _, w := range damage.Reported {
			t.Run(version+"/"+w.Name, func(t *testing.T) {
				s := unpack(t, i, w.Apply).load()
				req := Request{Options: Options{Now: now, Version: version}, Latent: true}
				if got := verdict(diagnosed(s, req.Options)); got != w.Want[i] {
					t.Errorf("mend predicts %s, the real program: %s", got, w.Want[i])
				}
				r, err := Plan(s, req)
				if repaired := func(d repair.Diagnosis) bool { return d.Class == repair.IncompleteRecord }; err != nil || slices.ContainsFunc(r.Fixed, repaired) {
					t.Errorf("Plan fixes %s, %v", summary(r.Fixed), err)
				}
			})
		}
		if ds := diagnosed(unpack(t, i, func(damage.Store) {}).load(), Options{Now: now}); len(ds) > 0 {
			t.Errorf("the undamaged fixture of %s has findings: %s", version, summary(ds))
		}
	}
}

// wantMoved checks that a file that the agent reads as a record is the only broken finding, and has no fix.
func wantMoved(t *testing.T, s *record.Session, ds []repair.Diagnosis, want string) {
	t.Helper()
	broken := slices.ContainsFunc(s.Stray, func(x change.Stray) bool { return x.Kind == change.StrayFile })
	if !broken && want != damage.Alive {
		t.Error("the real program fails, and no file is reported")
	}
	for _, d := range ds {
		if d.Severity == repair.Broken && (!broken || d.Rule != "beside" || d.Fix != "" || !strings.Contains(d.WhyNot, "works without the file")) {
			t.Errorf("Diagnose = %+v", d)
		}
	}
}

// missing reports whether there is no file at a path.
func missing(path string) bool {
	_, err := os.Stat(path)
	return err != nil
}

// verdict returns the result of the next prompt that findings predict.
func verdict(ds []repair.Diagnosis) string {
	verdict := damage.Alive
	for _, d := range ds {
		if d.Severity != repair.Broken {
			continue
		}
		if !strings.HasPrefix(d.Rule, "R") {
			return damage.Dead
		}
		if verdict == damage.Alive {
			verdict = d.Rule
		}
	}
	return verdict
}

// TestRenumberedIsNotFixed: findings that remain in messages with new ids are not reported as fixed.
func TestRenumberedIsNotFixed(t *testing.T) {
	s := unpack(t, 0, func(st damage.Store) {
		damage.ByName(t, "unknown part type")(st)
		damage.ByName(t, "ids from before the clock's wrap")(st)
	}).load()
	r, err := Plan(s, Request{Options: Options{Now: now, Version: "1.1.53"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range r.Fixed {
		if d.Rule == render.FailureScreen {
			t.Errorf("Fixed has %s %s, which stays: %s", d.Rule, d.Ref, summary(r.Remaining))
		}
	}
	if len(r.Fixed) == 0 || len(r.Remaining) == 0 {
		t.Errorf("Fixed = %s, Remaining = %s", summary(r.Fixed), summary(r.Remaining))
	}
}

// TestHealed: a finding has Healed exactly if a newer version of the real program continues with that damage
// (testdata/found.md). Each rule with Healed has such damage.
func TestHealed(t *testing.T) {
	storetest.NeedAllCases(t)
	missing := map[string]bool{}
	for _, r := range rows {
		missing[r.Code] = r.Healed != ""
	}
	for i, version := range damage.Versions[:len(damage.Versions)-1] {
		for _, w := range slices.Concat(damage.Table, damage.Reported) {
			alive := w.Want[len(w.Want)-1] == damage.Alive
			if w.Want[i] == damage.Alive || damage.AddsFile(w.Name) {
				continue
			}
			for _, d := range diagnosed(unpack(t, i, w.Apply).load(), Options{Now: now, Version: version}) {
				switch {
				case d.Severity != repair.Broken:
				case d.Healed != "" && !alive:
					t.Errorf("%s: %s: %s has Healed, and %s does not continue", version, w.Name, d.Rule, damage.Versions[len(damage.Versions)-1])
				case d.Healed == "" && alive && d.Rule != render.FailureField && rules().Rule(d.Rule).Healed != "": // a store of an older version does not name the model
					t.Errorf("%s: %s: %s has no Healed", version, w.Name, d.Rule)
				case d.Healed != "":
					missing[d.Rule] = false
				}
			}
		}
	}
	for code, lacks := range missing {
		if lacks {
			t.Errorf("no damage shows that %s is healed", code)
		}
	}
}
