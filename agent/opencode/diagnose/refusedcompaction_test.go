package diagnose

import (
	"strings"
	"testing"

	"mend/repair"
)

// TestRefusedCompaction: a compaction that the provider refused at least twice, and that is pending, is broken. The repair
// removes the request for it, unless the session is too long.
func TestRefusedCompaction(t *testing.T) {
	const refusal = `"name":"APIError","data":{"message":"No.","statusCode":400}`
	compaction := user(`"type":"compaction","auto":false`)
	failed := func(err string) turn { return turn{"assistant", `"summary":true,"error":{` + err + `}`, nil} }
	for _, r := range []struct {
		name         string
		turns        []turn
		found, fixed bool
	}{
		{"refused twice", []turn{compaction, failed(refusal), user(hi), failed(refusal)}, true, true},
		{"refused once", []turn{compaction, failed(refusal), user(hi)}, false, false},
		{"an answer since", []turn{compaction, failed(refusal), user(hi), failed(refusal), user(hi), answer(done)}, false, false},
		{"without a request", []turn{failed(refusal), user(hi), failed(refusal)}, false, false},
		{"overloaded", []turn{compaction, failed(refusal), user(hi), failed(strings.Replace(refusal, "400", "529", 1))}, false, false},
		{"cancelled", []turn{compaction, failed(refusal), user(hi), failed(`"name":"MessageAbortedError","data":{"message":"x"}`)}, false, false},
		{"too long", []turn{compaction, failed(refusal), user(hi), failed(`"name":"ContextOverflowError","data":{"message":"x"}`)}, true, false},
	} {
		s := build(append([]turn{user(hi), answer(done)}, r.turns...)...)
		var found []repair.Diagnosis
		for _, d := range diagnosed(s, Options{Now: now}) {
			if d.Rule == "compaction" {
				found = append(found, d)
			}
		}
		if (len(found) == 1) != r.found || r.found && (found[0].Severity != repair.Broken || (found[0].Fix != "") != r.fixed) {
			t.Errorf("%s: %+v, found %t, fixed %t is wanted", r.name, found, r.found, r.fixed)
		}
		if !r.fixed {
			continue
		}
		after := records(plan(t, s, Request{}).After)
		if strings.Contains(after, `"compaction"`) || strings.Count(after, "hi") != strings.Count(records(s), "hi") {
			t.Errorf("%s: after the repair\n%s", r.name, after)
		}
	}
}
