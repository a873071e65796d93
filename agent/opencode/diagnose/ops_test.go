package diagnose

import (
	"maps"

	"pgregory.net/rapid"

	"mend/agent/opencode/record"
	"mend/change"
)

// wantOpsApply checks that the ops lead from before to after, and their inverse back.
func wantOpsApply(t *rapid.T, before *record.Session, r Result) {
	if len(r.Plan.Ops) == 0 {
		return
	}
	if err := change.Validate(r.Plan.Ops); err != nil {
		t.Fatal(err)
	}
	store := images(before)
	apply(t, store, r.Plan.Ops)
	if !maps.EqualFunc(store, images(r.After), (*change.Image).Equal) {
		t.Fatalf("the ops do not lead to After")
	}
	apply(t, store, change.Inverse(r.Plan.Ops))
	if !maps.EqualFunc(store, images(before), (*change.Image).Equal) {
		t.Fatalf("the inverse does not lead back")
	}
}

func images(s *record.Session) map[change.Ref]*change.Image {
	all := map[change.Ref]*change.Image{}
	for r := range s.Records {
		all[r.Ref] = change.ImageOf(r)
	}
	return all
}

func apply(t *rapid.T, store map[change.Ref]*change.Image, ops []change.Op) {
	for _, o := range ops {
		if !store[o.Ref].Equal(o.Pre) {
			t.Fatalf("%s is not equal to the op's Pre", o.Ref)
		}
		delete(store, o.Ref)
		if o.Post != nil {
			store[o.Ref] = o.Post
		}
	}
}
