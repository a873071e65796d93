package endpoint

import (
	"fmt"
	"maps"
	"regexp"
	"strconv"
)

// A Place is the position of a violation: the number of the message, and of the block in it.
type Place struct{ N, M int }

// places matches the beginning of a message of Anthropic's API.
var places = regexp.MustCompile(`^messages\.(\d+)(?:\.content\.(\d+))?`)

// Compare returns an error if another checker disagrees with Violations about a request. found is the first
// position that the checker reports for each rule. R7 and R8 are left out: only the endpoint can check
// signatures. For R13 only the rule has to agree, not the position.
func Compare(body []byte, thinking bool, found map[string]Place) error {
	r, err := Parse(body)
	if err != nil {
		return fmt.Errorf("%s: %w", body, err)
	}
	if thinking {
		r.Thinking.Type = "enabled"
	}
	want, message := map[string]Place{}, map[string]string{}
	for _, v := range Violations(r) {
		if v.Rule == "R7" || v.Rule == "R8" {
			continue
		}
		place := found[v.Rule] // a position that the message does not name agrees
		if at := places.FindStringSubmatch(v.Message); at != nil && v.Rule != "R13" {
			place.N, _ = strconv.Atoi(at[1])
			if at[2] != "" {
				place.M, _ = strconv.Atoi(at[2])
			}
		}
		want[v.Rule], message[v.Rule] = place, v.Message
	}
	if !maps.Equal(found, want) {
		return fmt.Errorf("%s, thinking %t: found\n%v, the endpoint reports\n%v", body, thinking, found, message)
	}
	return nil
}
