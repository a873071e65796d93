package diagnose

import (
	"testing"

	"mend/internal/test/damage"
	"mend/repair"
)

// TestLatePrompt checks a prompt that is dated in the future and has no answer: versions that
// read messages in the order of their times work on it instead of a new prompt. It is reported, and can be
// set aside.
func TestLatePrompt(t *testing.T) {
	for i, version := range damage.Versions {
		s := unpack(t, i, func(s damage.Store) {
			messages, parts := s.Records()
			for _, p := range parts {
				if p.Owner == messages[damage.Goodbye].ID {
					s.Drop(p)
				}
			}
			s.Drop(messages[damage.Goodbye])
			damage.ByName(t, "last prompt dated in the future")(s)
		}).load()
		want := "latent clock"
		if version == "1.1.53" { // it reads messages in the order of their ids
			want = ""
		}
		req := Request{
			Options: Options{Now: fixtureTime, Version: version, Missing: missing},
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
