package mend_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/agent/opencode/diagnose"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/repair"
)

// TestMessagesMadeAndRenamed: in every generation, a repair that renames or creates messages leaves no finding of its
// class, and its undo restores the identical store. A plain run has one of the two databases.
func TestMessagesMadeAndRenamed(t *testing.T) {
	for version, archive := range generations {
		if version == "1.2.27" && !storetest.AllCases() {
			continue
		}
		for name, class := range map[string]repair.Class{
			"ids from before the clock's wrap":        diagnose.IDsBeforeWrap,
			"ids from both sides of the clock's wrap": repair.FirstPromptMissing,
			"first ids from before the clock's wrap":  diagnose.IDsBeforeWrap,
			"first prompt lost its parts":             repair.FirstPromptMissing,
			"first prompt gone":                       repair.FirstPromptMissing,
			"first prompt gone, its parts stay":       repair.FirstPromptMissing,
			"every prompt gone":                       repair.FirstPromptMissing,
		} {
			t.Run(version+"/"+name, func(t *testing.T) {
				t.Parallel()
				b := benchOf(t, archive, func(_ bench, s damage.Store) { damage.ByName(t, name)(s) })
				damaged := b.snapshot(t)
				r, err := b.client.ProposeRepair(t.Context(), b.head(t), repair.Request{Latent: true})
				if err != nil || len(r.Plan.Ops) == 0 {
					t.Fatalf("ProposeRepair = %+v, %v, want a plan", r, err)
				}
				isOfClass := func(d repair.Diagnosis) bool { return d.Class == class }
				if !slices.ContainsFunc(r.Fixed, isOfClass) || slices.ContainsFunc(r.Remaining, isOfClass) {
					t.Errorf("fixed: %+v\nremaining: %+v", r.Fixed, r.Remaining)
				}
				e, err := b.client.Apply(t.Context(), r.Plan)
				if err != nil {
					t.Fatal(err)
				}
				again, err := b.client.ProposeRepair(t.Context(), b.head(t), repair.Request{Latent: true})
				if err != nil || len(again.Plan.Ops) > 0 {
					t.Errorf("a second repair: %v, %v, want nothing to do", again.Plan.Ops, err)
				}
				p, err := b.client.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{e.ID}})
				if err != nil {
					t.Fatal(err)
				}
				if _, err := b.client.Apply(t.Context(), p); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(damaged, b.snapshot(t)); diff != "" {
					t.Errorf("after undo (-want +got):\n%s", diff)
				}
			})
		}
	}
}
