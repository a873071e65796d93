package diagnose

import (
	"testing"

	"mend/internal/test/damage"
	"mend/repair"
)

// TestLatePrompt: a prompt that is dated in the future and has no answer is at risk for versions that order messages by
// their times, because they answer it instead of a new prompt. It can be set aside.
func TestLatePrompt(t *testing.T) {
	for i, version := range damage.Versions {
		s := unpack(t, i, func(s damage.Store) {
			dropMessages(s, damage.Goodbye)
			damage.ByName(t, "last prompt dated in the future")(s)
		}).load()
		want := "latent clock"
		if version == "1.1.53" { // orders messages by their ids
			want = ""
		}
		req := Request{
			Options: Options{Now: now, Version: version, Missing: missing},
			Classes: []repair.Class{repair.AssistantPrefillUnsupported}, Latent: true, SetAside: true,
		}
		got := ""
		for _, d := range diagnosed(s, req.Options) {
			got = d.Severity.String() + " " + d.Rule
		}
		if got != want {
			t.Errorf("%s: found %q, want %q", version, got, want)
		}
		r, err := Plan(s, req)
		if err != nil {
			t.Fatal(err)
		}
		if found := diagnosed(r.After, req.Options); (len(r.Fixed) > 0) != (want != "") || len(found) > 0 {
			t.Errorf("%s: fixed %s, left %s", version, summary(r.Fixed), summary(found))
		}
	}
}
