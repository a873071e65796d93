package request

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Subject is what an error is about.
type Subject string

// The subjects of errors.
const (
	AboutSession Subject = "session"
	AboutUnclear Subject = "unclear" // the text does not name the cause: any session may be affected
	AboutStore   Subject = "store"   // the agent cannot use its store, or does not find a session there
	AboutOther   Subject = "other"   // an agent that mend does not support
	AboutService Subject = "service" // the provider, the account, the network or the settings, but nothing stored
)

// An APIError is a parsed error of a model API, or of the agent that used it.
type APIError struct {
	Text  string   // the message as given
	Whole string   // the whole error: JSON that contains the message, or a text
	Class Class    // "" if repairing the store does not help
	Rule  string   // the code of the violated rule of the provider; "" if no rule matches
	API   string   // the provider whose words name the rule or the place, or ""
	Index int      // N of messages.N, input[N] or contents[N], the place in the API's request, or -1
	Block int      // M of messages.N.content.M or contents[N].parts[M], or -1
	Calls []string // the ids of tool calls in the text, each once
	Items []string // the ids of other items in the text, each once
	Tool  string   // the name of an unavailable tool in lower case, or ""

	// Recognised means that the error is known, although it may have no class.
	Recognised bool
	Agent      string  // the only agent that uses these words; "" for an API or several agents
	About      Subject // "" for an unknown error
	Rank       int     // an error with a lower rank has more specific words; 0 for an unknown error

	// Explanation tells a person what the error means and what to do.
	Explanation string
}

// Quotes reports whether the error names the item of a block, or quotes the beginning and the end of its encrypted
// content.
func (e *APIError) Quotes(b *Block) bool {
	if b.ItemID != "" && slices.Contains(e.Items, b.ItemID) {
		return true
	}
	q := encryptedPattern().FindStringSubmatch(e.Text)
	switch {
	case q == nil || b.Signature == "":
		return false
	case q[2] == "":
		return b.Signature == q[1]
	}
	return strings.HasPrefix(b.Signature, q[1]) && strings.HasSuffix(b.Signature, q[2])
}

var (
	encryptedPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)encrypted content ([\w+/=-]+)(?:(?:\.\.\.|…)([\w+/=-]+))?`)
	})
	statusPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)(?:\\?"(?:status_?code|status|code)\\?"\s*:\s*` +
			`|\b(?:API Error|status(?: code)?|HTTP(?:/[0-9.]+)?)[: ]\s*)([45][0-9]{2})\b`)
	})
	linkPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)failed to download (https?://\S+?):? `)
	})
	requestPattern = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\brequest[-_ ]?id(?:\\?"|)\s*[:=]\s*\\?"?([A-Za-z0-9][A-Za-z0-9_-]{5,127})`)
	})
)

// Status returns the HTTP status in the error, or 0.
func (e *APIError) Status() int {
	n, _ := strconv.Atoi(firstGroup(statusPattern(), e.Whole))
	return n
}

// RequestID returns the provider's id of the request, or "".
func (e *APIError) RequestID() string { return firstGroup(requestPattern(), e.Whole) }

// Link returns the link that could not be downloaded, or "".
func (e *APIError) Link() string { return firstGroup(linkPattern(), e.Text+" ") }

func firstGroup(p *regexp.Regexp, text string) string {
	if m := p.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
