package endpoint

import (
	"fmt"
	"maps"
)

// Compare returns an error if another checker disagrees with Violations about a request.
// found is the first message that the checker reports for each rule. R7 and R8 are left out:
// only the endpoint can check signatures. For R13 only the rule must agree, not the block.
func Compare(body []byte, thinking bool, found map[string]string) error {
	r, err := Parse(body)
	if err != nil {
		return fmt.Errorf("%s: %w", body, err)
	}
	if thinking {
		r.Thinking.Type = "enabled"
	}
	want := map[string]string{}
	for _, v := range Violations(r) {
		if v.Rule != "R7" && v.Rule != "R8" {
			want[v.Rule] = v.Message
		}
	}
	got := maps.Clone(found)
	if got["R13"] != "" && want["R13"] != "" {
		got["R13"] = want["R13"]
	}
	if !maps.Equal(got, want) {
		return fmt.Errorf("%s, thinking %t: found\n%v, the endpoint reports\n%v", body, thinking, got, want)
	}
	return nil
}
