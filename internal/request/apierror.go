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
	AboutUnclear Subject = "unclear" // the text does not name the cause: any session may be it
	AboutStore   Subject = "store"   // the agent cannot use its store, or does not find a session there
	AboutOther   Subject = "other"   // an agent whose sessions mend does not read
	AboutService Subject = "service" // the provider, the account, the network or the settings: nothing stored
)

// An APIError is a parsed error of a model API, or of the agent that asked it.
type APIError struct {
	Text  string   // the message, as it was given
	Whole string   // the whole error: JSON with the message in it, or a text
	Class Class    // "" for an error that no repair of the store answers
	Rule  string   // the code of the provider's rule that is violated; "" if the text fits none
	API   string   // the provider whose words name the rule or the place; "" if none do
	Index int      // N of messages.N, input[N] or contents[N], the place in the API's request; -1 if it names none
	Block int      // M of messages.N.content.M or contents[N].parts[M]; -1 if it names none
	Calls []string // the ids of tool calls in the text, each once
	Items []string // the ids of other items in the text, each once
	Tool  string   // the name of an unavailable tool in lower case; "" if the text does not name it

	// Recognised says that the error is a known one, though it may have no class.
	Recognised bool
	Agent      string  // the agent whose own words they are; "" for those of an API, or of several agents
	About      Subject // of a known one

	// Explanation says for a person what the error means and what to do.
	Explanation string
}

// Quotes reports whether the error names the item of a block, or quotes what the provider has encrypted in it: the
// beginning and the end.
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

// Status returns the status of HTTP that the error names, 0 for none.
func (e *APIError) Status() int {
	n, _ := strconv.Atoi(firstGroup(statusPattern(), e.Whole))
	return n
}

// RequestID returns the id by which the provider knows the request, "" if the error names none.
func (e *APIError) RequestID() string { return firstGroup(requestPattern(), e.Whole) }

// Link returns the link that could not be downloaded, "" if the error names none.
func (e *APIError) Link() string { return firstGroup(linkPattern(), e.Text+" ") }

func firstGroup(p *regexp.Regexp, text string) string {
	if m := p.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return ""
}
