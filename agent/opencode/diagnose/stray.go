package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// Findings about entries in the place of a record that are not records. mend does not change them.

// stray completes the rule that [simulation.strayCode] chooses for a stray. The %s in format is the path with its
// problem.
func stray(format string, r repair.Rule) repair.Rule {
	r.Class = repair.UnreadableRecord
	r.Find = func(s *repair.Case) []finding {
		c := stateOf(s)
		if c.isUnknown() && !slices.Contains([]string{"place", "hidden", "row"}, r.Code) {
			return nil
		}
		return c.findStrays(r.Code)
	}
	r.Why = whyText(format)
	return r
}

// strayCode returns the code of the rule for a stray, and its severity.
func (c *simulation) strayCode(s change.Stray) (code string, bad repair.Severity) {
	inTree := repair.Latent // OpenCode reads the tree once, to import it
	if c.settings[own].profile.Tree() {
		inTree = repair.Broken
	}
	switch s.Kind {
	case change.StrayFile:
		return "beside", inTree
	case change.StrayHidden:
		return "hidden", repair.Broken
	case change.StrayPlace:
		return "place", inTree
	case change.StrayUnread:
		return "row", repair.Broken
	case change.StrayLink:
		return "linked", repair.Latent
	case change.StraySession:
		return "row", repair.Latent
	case change.StrayRow:
		if c.settings[own].profile.Strict() {
			return "row", repair.Broken
		}
	case change.StrayOther, change.StrayIgnored:
	}
	return "stray", repair.Note
}

// findStrays returns the strays that have the rule.
func (c *simulation) findStrays(code string) (fs []finding) {
	for _, s := range c.s.Stray {
		strayCode, bad := c.strayCode(s)
		if strayCode != code {
			continue
		}
		ref := change.Ref{Kind: change.KindSession, Session: c.s.ID}
		if s.Message != "" {
			ref = change.Ref{Kind: change.KindMessage, Session: c.s.ID, Message: s.Message}
		}
		fs = append(fs, finding{Ref: ref, Severity: bad, Detail: s.Path, Text: shown(s.Path) + ": " + s.Why})
	}
	return fs
}

// hasLink reports whether OpenCode reads records through a link, which mend does not follow.
func (c *simulation) hasLink() bool {
	return slices.ContainsFunc(c.s.Stray, func(s change.Stray) bool { return s.Kind == change.StrayLink })
}

// isUnknown reports whether mend cannot diagnose or change the session because an essential part is unknown: a folder
// that the agent needs for every prompt, a row, or the data of a newer generation.
func (c *simulation) isUnknown() bool {
	return c.s.TakenOver || slices.ContainsFunc(c.s.Stray, func(s change.Stray) bool {
		return s.Kind == change.StrayPlace || s.Kind == change.StrayUnread || s.Kind == change.StrayHidden && s.Message == ""
	})
}

// yourFile explains why a file that is not a record stays.
const yourFile = "The session works without the file. It may be your own, so mend leaves it where it is."

// shown returns a path with unprintable characters escaped as in a Go string.
func shown(path string) string {
	quoted := strconv.Quote(path)
	return strings.ReplaceAll(quoted[1:len(quoted)-1], "\ufffd", `\ufffd`)
}

// whyHidden returns why no change to the message is safe, as a sentence; "" if mend can read all of it.
func (c *simulation) whyHidden(ref change.Ref) string {
	return c.hiddenMessages()[ref.Message]
}

// hiddenMessages returns the results of [simulation.whyHidden] that are not "", by message id.
func (c *simulation) hiddenMessages() map[string]string {
	if c.blind != nil {
		return c.blind
	}
	c.blind = map[string]string{}
	beside := map[string]string{}
	for _, s := range c.s.Stray {
		if s.Kind != change.StrayIgnored && s.Kind != change.StrayFile {
			beside[s.Message] = cmp.Or(beside[s.Message],
				fmt.Sprintf("%s cannot be read as content of a message (%s), %s", s.Path, s.Why, adviceHidden))
		}
	}
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		if why := cmp.Or(whyMessageHidden(m), beside[m.Ref.Message]); why != "" && c.message(m.Ref) == m {
			c.blind[m.Ref.Message] = why
		}
	}
	return c.blind
}

const adviceHidden = "so mend changes nothing in this message. Make it readable, then scan again."

func whyMessageHidden(m *record.Message) string {
	why := func(r *change.Record) string {
		switch {
		case r.Unreadable():
			return fmt.Sprintf("%s cannot be read (%s), %s", r.Ref, r.Defect.Why, adviceHidden)
		case r.Ref.Validate() != nil:
			return fmt.Sprintf("mend changes nothing in this message, because it cannot use the id %s in it.", r.Ref)
		}
		return ""
	}
	text := why(&m.Record)
	for i := range m.Parts {
		text = cmp.Or(text, why(&m.Parts[i].Record))
	}
	return text
}
