package diagnose

import (
	"cmp"
	"fmt"

	"mend/agent/opencode/record"
	"mend/change"
)

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
