package diagnose

import "testing"

// A store that OpenCode does not read is not judged by what OpenCode's other versions
// and its screen make of it (item 21).
func TestForeignStoreHasNothingLatent(t *testing.T) {
	odd := build(user(hi), turn{role: "assistant", parts: []string{`"type":"text","text":"a","time":{"start":"x"}`, `"type":"novel"`}}, user(hi))
	if got := diagnosed(odd, Options{Now: now}); len(got) == 0 {
		t.Fatal("nothing is latent for OpenCode")
	}
	if got := diagnosed(odd, Options{Now: now, Foreign: true}); len(got) > 0 {
		t.Errorf("Diagnose = %s, want nothing", summary(got))
	}
	blank := build(user(hi), answer(`"type":"text","text":" "`), user(hi))
	r, err := Plan(blank, Request{Options: Options{Now: now, Foreign: true}, Latent: true})
	if err != nil || len(r.Plan.Ops) != 1 || len(r.Remaining) > 0 {
		t.Errorf("Plan = %d ops, %s, %v; want what is broken fixed", len(r.Plan.Ops), summary(r.Remaining), err)
	}
}
