package request

import (
	"regexp"
	"strconv"
	"sync"
)

// sizePatterns find the size of a request and the size that the model takes, in tokens, in
// the errors of providers (docs/providers.md). The larger number is that of the request.
var sizePatterns = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)(\d+) tokens? > (\d+) maximum`),
		regexp.MustCompile(`(?i)token count of (\d+) exceeds the limit of (\d+)`),
		regexp.MustCompile(`(?i)input token count \((\d+)\) exceeds the maximum number of tokens allowed \((\d+)\)`),
		regexp.MustCompile(`(?i)maximum context length is (\d+) tokens.{0,80}?(\d+) tokens`),
		regexp.MustCompile(`(?i)maximum prompt length is (\d+) .{0,40}?(\d+) tokens`),
	}
})

// Sizes returns the size of the request and of the model's context window, in tokens,
// as far as the error says; 0 if it does not.
func (e APIError) Sizes() (actual, window int) {
	for _, p := range sizePatterns() {
		if m := p.FindStringSubmatch(e.Text); m != nil {
			a, err1 := strconv.Atoi(m[1])
			b, err2 := strconv.Atoi(m[2])
			if err1 == nil && err2 == nil {
				return max(a, b), min(a, b)
			}
		}
	}
	return 0, 0
}
