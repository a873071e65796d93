package request

import (
	"regexp"
	"strconv"
	"sync"
)

// A Binding defines what happens to thinking in a request if the conversation before it has changed since the model
// wrote it. Anthropic's newest models bind thinking to that conversation (docs/providers.md, R28).
type Binding uint8

// The bindings.
const (
	Unbound Binding = iota // the model does not bind thinking
	Refused                // the provider refuses the request
	Dropped                // the agent asks the provider to leave such thinking out, or tries again without it
)

// boundSince is the first version of Claude that binds thinking to the conversation before it.
var boundSince = [2]int{5, 1}

// claudeVersion matches the version in the id of a Claude model. Some versions are followed by a date, as in
// claude-sonnet-4-20250514, so a number has at most two digits.
var claudeVersion = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`claude-[a-z]+-(\d{1,2})[-.](\d{1,2})(?:\D|$)`)
})

// BindsThinking reports whether a model binds thinking to the conversation before it (docs/providers.md, R28). The id
// may be a gateway's or a cloud's: anthropic/claude-opus-5.5, us.anthropic.claude-opus-5-5-v1:0.
func BindsThinking(model string) bool {
	v := claudeVersion().FindStringSubmatch(model)
	if v == nil {
		return false
	}
	major, _ := strconv.Atoi(v[1])
	minor, _ := strconv.Atoi(v[2])
	return major > boundSince[0] || major == boundSince[0] && minor >= boundSince[1]
}
