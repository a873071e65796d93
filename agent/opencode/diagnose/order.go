package diagnose

import (
	"fmt"
	"slices"
	"time"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/repair"
)

// Findings about messages that sort after every new prompt. Their ids are from before the id clock wrapped
// (docs/opencode.md F3), or a wrong clock set their times. Older versions of OpenCode read messages in the order of
// their ids, newer ones in the order of their times. Only ids are fixed.

// futureDate returns the date of the finding's message, "" if it is not in the future.
func (c *simulation) futureDate(f finding) string {
	m := c.message(f.Ref)
	if m == nil || !render.IsInFuture(m, c.now) {
		return ""
	}
	return time.UnixMilli(max(m.Created, render.CreatedInJSON(m))).UTC().Format("2006-01-02 15:04 MST")
}

func whyEndsWithAnswer(c *simulation, f finding) string {
	if at := c.futureDate(f); at != "" {
		return "The request ends with an assistant message that is dated in the future (" + at +
			"), so every new prompt sorts before it."
	}
	return "The request ends with an assistant message."
}

func whyOrder(c *simulation, f finding) string {
	why := "Its id is from before the id clock wrapped on 2026-08-14"
	if at := c.futureDate(f); at != "" {
		why = fmt.Sprintf("It is dated in the future (%s)", at)
	}
	return fmt.Sprintf("%s, so it sorts after every new prompt: %s.", why, f.Text)
}

// findLatePrompt finds a prompt that the agent considers newer than its next one. It is latent: a turn without a
// tool call ends, although the model may answer the wrong prompt.
func findLatePrompt(c *simulation) []finding {
	if late := c.render(c.settings[own]).Late; late != (change.Ref{}) {
		const text = "OpenCode works on that prompt instead of the new one, and again after each tool call"
		return []finding{{Ref: late, Severity: repair.Latent, Text: text}}
	}
	return nil
}

// classOfOrder returns the class of a finding about a request that ends with an answer: a wrong date and a wrong id
// have the same effect.
func classOfOrder(c *simulation, f finding) repair.Class {
	if c.futureDate(f) != "" {
		return repair.AssistantPrefillUnsupported
	}
	return IDsBeforeWrap
}

// whyNoTime explains why a message that is dated in the future has no fix; the date follows. A fork does not help: it
// has the same dates (seen with 1.18.34).
const whyNoTime = "mend does not know the right time of that message. OpenCode answers new prompts again after "

// fixOrder returns the fix of messages that sort after every new prompt, or whose ids sort in another order than
// their times. A message that is dated in the future has none.
func fixOrder(c *simulation, _ finding) []repair.Fix {
	inFuture := func(m record.Message) bool { return render.IsInFuture(&m, c.now) }
	n := oldIDs(c.s, c.now)
	if n == 0 || slices.ContainsFunc(c.s.Messages, inFuture) {
		return nil
	}
	return []repair.Fix{{
		Text: "Messages from before 2026-08-14, and what is in them, get ids that sort before today's. " +
			"Their order stays, and all references are updated.",
		Whole: true, Edit: draftEdit(func(d *draft) error { return renumber(d.s, n) }),
	}}
}

// oldIDs returns the number of messages up to and including the last one whose id sorts after the id of the next prompt
// or of a later message.
func oldIDs(s *record.Session, now time.Time) int {
	_, lowest := render.NextPrompt(s, now)
	for i := range slices.Backward(s.Messages) {
		if s.Messages[i].ID >= lowest {
			return i + 1
		}
		lowest = s.Messages[i].ID
	}
	return 0
}

// renumber gives the first n messages and their parts ids that keep their order and sort before the ids of all other
// messages.
func renumber(s *record.Session, n int) error {
	ids := map[string]string{}
	highest, parts := "", 0
	for i := range s.Messages[:n] {
		m := &s.Messages[i]
		highest = record.Renumber(change.KindMessage, m.ID, i+1)
		ids[m.Ref.Message] = highest
		for _, p := range m.Parts {
			parts++
			ids[p.Ref.Part] = record.Renumber(change.KindPart, p.ID, parts)
		}
	}
	for _, m := range s.Messages[n:] {
		if m.ID <= highest {
			return fmt.Errorf("no ids for %d messages sort before %s", n, m.Ref)
		}
	}
	return s.Rename(ids)
}
