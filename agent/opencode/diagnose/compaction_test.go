package diagnose

import (
	"testing"

	"mend/internal/test/damage"
	"mend/repair"
)

// TestPendingCompaction: damage is broken even if the next request is for a compaction, which has no files and, in
// 1.18.33, no calls: after it the agent sends the prompt with the whole conversation (docs/opencode.md F18). Without
// damage there is no broken finding.
func TestPendingCompaction(t *testing.T) {
	for i, version := range damage.Versions {
		for _, name := range []string{"", "one callID in two messages", "image without data in a prompt", "blank first prompt", "image of no bytes attached"} {
			load := unpack(t, i, func(s damage.Store) {
				if name != "" {
					damage.ByName(t, name)(s)
				}
				dropMessages(s, damage.Goodbye)
				_, parts := s.Records()
				last := parts[len(parts)-1] // of the last prompt
				s.Put(damage.Record{Table: "part", ID: last.ID + "a", Owner: last.Owner, Data: `{"type":"compaction","auto":true}`})
			}).load
			o := Options{Now: now, Version: version, Missing: missing}
			broken := func(ds []repair.Diagnosis) (n int) {
				for _, d := range ds {
					if d.Severity == repair.Broken {
						n++
					}
				}
				return n
			}
			if n := broken(diagnosed(load(), o)); (n > 0) != (name != "") {
				t.Errorf("%s: %q with a pending compaction has %d broken findings", version, name, n)
			}
			r, err := Plan(load(), Request{Options: o})
			if err != nil {
				t.Fatal(err)
			}
			if n := broken(diagnosed(r.After, o)); n > 0 {
				t.Errorf("%s: %q with a pending compaction has %d broken findings after its repair", version, name, n)
			}
		}
	}
}
