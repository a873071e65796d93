package diagnose

import (
	"strings"
	"testing"

	"mend/repair"
)

// TestOpenSummary: the summary of a compaction without an end time is at risk. Only a user starts its repair, which
// sets only the end time.
func TestOpenSummary(t *testing.T) {
	compaction := user(`"type":"compaction","auto":true`)
	for _, r := range []struct {
		name, fields string
		found        bool
	}{
		{"no end", `"summary":true,"finish":"stop"`, true},
		{"not finished", `"summary":true`, false},
		{"failed", `"summary":true,"finish":"stop","error":{"name":"UnknownError","data":{"message":"x"}}`, false},
		{"no summary", `"finish":"stop"`, false},
	} {
		s := build(user(hi), answer(done), compaction, turn{"assistant", r.fields, []string{done}}, user(hi), answer(done))
		var found []repair.Diagnosis
		for _, d := range diagnosed(s, Options{Now: now}) {
			if d.Rule == "open-summary" {
				found = append(found, d)
			}
		}
		if (len(found) == 1) != r.found {
			t.Errorf("%s: found %+v, want a finding: %t", r.name, found, r.found)
		}
		if !r.found || len(found) != 1 {
			continue
		}
		if found[0].Severity != repair.Latent || found[0].Tier != repair.Ask {
			t.Errorf("%s: %v, %s; want at risk, ask", r.name, found[0].Severity, found[0].Tier)
		}
		got := plan(t, s, Request{Latent: true})
		before := records(s)
		want := strings.Replace(before, `"time":{"created":4000}`, `"time":{"created":4000,"completed":4000}`, 1)
		if after := records(got.After); after != want || want == before {
			t.Errorf("%s: after the repair\n%s\nwant\n%s", r.name, after, want)
		}
	}
}
