package provider

import (
	"strings"
	"testing"
)

// TestQuotedErrors: an error may quote another one. The number of levels is limited, because each level is parsed
// separately.
func TestQuotedErrors(t *testing.T) {
	quoted := func(n int) string {
		return strings.Repeat(`{"responseBody":`, n) + `{"message":"messages.3: text content blocks must be non-empty"}` + strings.Repeat("}", n)
	}
	if got := messagesIn(quoted(5), maxQuotes); !strings.HasPrefix(got[len(got)-1], "messages.3") {
		t.Errorf("five levels: the last text is %q", got[len(got)-1])
	}
	if got := len(messagesIn(quoted(1000), maxQuotes)); got > maxQuotes+1 {
		t.Errorf("1000 levels: %d were parsed", got)
	}
}
