package request

import (
	"regexp"
	"strconv"
	"sync"
)

// sizePatterns match the size of a request and the model's limit, in tokens, in providers' errors
// (docs/providers.md). The larger number is the request's.
var sizePatterns = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)(\d+) tokens? > (\d+) maximum`),
		regexp.MustCompile(`(?i)token count of (\d+) exceeds the limit of (\d+)`),
		regexp.MustCompile(`(?i)input token count \((\d+)\) exceeds the maximum number of tokens allowed \((\d+)\)`),
		regexp.MustCompile(`(?i)maximum context length is (\d+) tokens.{0,80}?(\d+) tokens`),
		regexp.MustCompile(`(?i)maximum prompt length is (\d+) .{0,40}?(\d+) tokens`),
	}
})

// Sizes returns the size of the request and of the model's context window, in tokens, or 0 if the
// error does not have them.
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
