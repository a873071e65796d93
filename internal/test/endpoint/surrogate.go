package endpoint

import (
	"fmt"
	"regexp"
)

// surrogates matches an escaped pair of surrogates, or half of one. After an even number of backslashes it is
// escaped text.
var surrogates = regexp.MustCompile(`\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[dD][89a-fA-F][0-9a-fA-F]{2}`)

// halfPair returns the violation of a body with half of a surrogate pair, which no provider's JSON parser
// accepts, and whether it has one.
func halfPair(setting string, body []byte) (Violation, bool) {
	for _, at := range surrogates.FindAllIndex(body, -1) {
		if at[1]-at[0] != len(`\ud800`) {
			continue
		}
		where := fmt.Sprintf("no low surrogate in string: line 1 column %d (char %d)", at[0]+1, at[0])
		switch setting {
		case "v1":
			return Violation{"R27", "The request body is not valid JSON: " + where}, true
		case "openai":
			return Violation{"O15", "The request body is not valid JSON: " + where}, true
		case "gemini":
			return Violation{"G13", "Invalid JSON payload received. " + where}, true
		case "bedrock":
			return Violation{"B12", "The request body is not valid JSON: " + where}, true
		default:
			return Violation{"C10", "The request body is not valid JSON: " + where}, true
		}
	}
	return Violation{}, false
}
