package diagnose

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/repair"
)

// This file fixes messages that are dated in the future because a clock was wrong. Newer
// versions of OpenCode read messages in the order of their times: until that time every
// new prompt comes before such a message.

// isInFuture reports whether the message is dated later than the next prompt.
func (c *simulation) isInFuture(m *record.Message) bool {
	return !c.now.IsZero() && max(m.Created, render.CreatedInJSON(m)) >= c.now.UnixMilli()
}

// isMisdated reports whether the fault is about a message that is dated in the future.
func (c *simulation) isMisdated(f finding) bool { return c.futureDate(f) != "" }

// futureDate returns the date of the message that the fault is about, "" if it is not in the future.
func (c *simulation) futureDate(f finding) string {
	m := c.message(f.Ref)
	if m == nil || !c.isInFuture(m) {
		return ""
	}
	return time.UnixMilli(max(m.Created, render.CreatedInJSON(m))).UTC().Format("2006-01-02 15:04 MST")
}

func whyEndsWithAnswer(c *simulation, f finding) string {
	if original := c.original(c.message(f.Ref)); original != nil {
		return fmt.Sprintf("%s is a copy of the message %s, and its name sorts after every new prompt. OpenCode does not see that the prompt was answered, and asks again.", f.Ref.Message, original.Ref.Message)
	}
	at := c.futureDate(f)
	if at == "" {
		return "The request ends with an assistant message."
	}
	return fmt.Sprintf("The request ends with an assistant message that is dated in the future (%s), so every new prompt sorts before it.", at)
}

func whyEndless(c *simulation, f finding) string {
	return c.sortsLast(f, "assistant message") + "OpenCode does not see that a prompt was answered, and asks the model again without end."
}

// sortsLast says that a message sorts after every new prompt.
func (c *simulation) sortsLast(f finding, what string) string {
	if at := c.futureDate(f); at != "" {
		return fmt.Sprintf("The %s is dated in the future (%s) and sorts after every new prompt. ", what, at)
	}
	return fmt.Sprintf("The %s sorts after every new prompt. ", what)
}

// findLatePrompt finds a prompt that the agent considers newer than its next one. Latent: a turn
// in which the model calls no tool ends, although the model may answer the wrong prompt.
func findLatePrompt(c *simulation) []finding {
	if late := c.render(c.settings[own]).Late; late != (change.Ref{}) {
		return []finding{{Ref: late}}
	}
	return nil
}

func whyLatePrompt(c *simulation, f finding) string {
	return c.sortsLast(f, "prompt") + "OpenCode works on it instead, and again after each tool call."
}

// classOfClock returns the class of a fault that ends a request with an answer: a wrong
// date has the same effect as a wrong id.
func classOfClock(c *simulation, f finding) repair.Class {
	if c.isMisdated(f) {
		return repair.AssistantPrefillUnsupported
	}
	return IDsBeforeWrap
}

// fixClock returns the fixes of messages that sort after every new prompt: by their ids
// in older versions, or by their times in all.
func fixClock(c *simulation, f finding) []repair.Fix {
	return slices.Concat(fixCopies(c), fixDates(c, f), clockFixes(c.s, f))
}

// original returns the message that m is a copy of under another name: the one that is
// stored under the id inside m; nil if there is none.
func (c *simulation) original(m *record.Message) *record.Message {
	if m == nil || m.ID == "" || m.ID == m.Ref.Message {
		return nil
	}
	ref := m.Ref
	ref.Message = m.ID
	return c.message(ref)
}

// fixLateAnswer returns the fixes of an answer that sorts after every new prompt, by
// its time, which may be missing, or by its id.
func fixLateAnswer(c *simulation, f finding) []repair.Fix {
	return append(c.completions(func(r change.Ref) bool { return r.Message == f.Ref.Message }), fixClock(c, f)...)
}

// fixCopies removes copies of messages that sort after the next prompt.
func fixCopies(c *simulation) []repair.Fix {
	_, next := render.NextPrompt(c.s, c.now)
	copies, loses := map[change.Ref]bool{}, ""
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		original := c.original(m)
		if original == nil || m.Ref.Message < next {
			continue
		}
		copies[m.Ref] = true
		if len(m.Parts) > 0 || !bytes.Equal(m.Data, original.Data) {
			loses = "Whatever is only in a copy and not in its message."
		}
	}
	if len(copies) == 0 {
		return nil
	}
	return []repair.Fix{{
		Text:  "Copies of messages that sort after every new prompt are removed. The messages stay.",
		Loses: loses,
		Whole: true,
		Edit: draftEdit(func(d *draft) error {
			d.s.Messages = slices.DeleteFunc(d.s.Messages, func(m record.Message) bool { return copies[m.Ref] })
			return nil
		}),
	}}
}

// fixDates returns fixes that change the times of messages dated in the future, or
// their times and ids.
func fixDates(c *simulation, _ finding) []repair.Fix {
	if !slices.ContainsFunc(c.s.Messages, func(m record.Message) bool { return c.isInFuture(&m) }) {
		return nil
	}
	const text = "Messages dated in the future get times right after the message before them"
	return []repair.Fix{{Text: text + ". Nothing else in them changes.", Loses: repair.LosesTimes, Whole: true, Edit: draftEdit(func(d *draft) error {
		return c.redate(d.s)
	})}, {Text: text + ", and ids that sort before new ones.", Loses: repair.LosesTimes, Whole: true, Edit: draftEdit(func(d *draft) error {
		if err := c.redate(d.s); err != nil {
			return err
		}
		_, next := render.NextPrompt(d.s, c.now)
		n := 0
		for i := range d.s.Messages {
			if d.s.Messages[i].ID >= next {
				n = i + 1
			}
		}
		if n == 0 {
			return errors.New("all ids sort before that of a new prompt")
		}
		return renumber(d.s, n)
	})}}
}

// inOrderOfIDs returns the messages in the order of their times, but those in the
// future in the order of their ids if these sort before that of the next prompt: then
// only the time is wrong. Other ids are from before the id clock wrapped.
func inOrderOfIDs(s *record.Session, now time.Time) []*record.Message {
	ms := now.UnixMilli()
	_, next := render.NextPrompt(s, now)
	var all, moved []*record.Message
	for i := range s.Messages {
		if m := &s.Messages[i]; m.Created >= ms && m.ID < next {
			moved = append(moved, m)
		} else {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(moved, func(a, b *record.Message) int { return cmp.Compare(a.ID, b.ID) })
	merged := make([]*record.Message, 0, len(s.Messages))
	for _, m := range all {
		for len(moved) > 0 && (m.Created >= ms || m.ID < next && moved[0].ID < m.ID) {
			merged, moved = append(merged, moved[0]), moved[1:]
		}
		merged = append(merged, m)
	}
	return append(merged, moved...)
}

// redate gives messages that are dated in the future times between those of their
// neighbours, see [inOrderOfIDs]. The present decides only which messages
// these are.
func (c *simulation) redate(s *record.Session) error {
	order := inOrderOfIDs(s, c.now)
	ms := c.now.UnixMilli()
	last := int64(0) // the latest time before the message, of those that are not in the future
	if s.Created > 0 && s.Created < ms {
		last = s.Created
	}
	nexts := make([]int64, len(order)) // the time of the next message that is not in the future
	for i, next := len(order)-1, int64(math.MaxInt64); i >= 0; i-- {
		if order[i].Created < ms {
			next = order[i].Created
		}
		nexts[i] = next
	}
	times := make([]int64, len(order))
	for i, m := range order {
		switch {
		case m.Created < ms:
			times[i] = m.Created
			if last = max(last, m.Created); m.Completed < ms {
				last = max(last, m.Completed)
			}
		case nexts[i] < math.MaxInt64: // messages of one time are in the order of their ids
			times[i] = min(last, nexts[i])
		case last == 0: // there is no other time: the id clock wrapped meanwhile
			turns := record.ClockWraps(order[len(order)-1].Created-ms) + 1
			times[i] = m.Created - record.ClockStart(turns)
		default:
			last++
			times[i] = last
		}
		if times[i] < 0 {
			return errors.New("no time is known in the session")
		}
	}
	for i, m := range order {
		if m.Created < ms && render.CreatedInJSON(m) < ms {
			continue
		}
		if err := setCreated(m, times[i]); err != nil {
			return err
		}
	}
	s.Sort()
	return nil
}

// setCreated sets the time at which the message was created, and moves the time of its
// completion by the same duration, unless that is after the new time already.
func setCreated(m *record.Message, to int64) error {
	data, from := m.Data, render.CreatedInJSON(m)
	var inside []string // a damaged record has only the time of its row
	if !m.Malformed() {
		inside = []string{"created", "completed"}
	}
	for _, name := range inside {
		raw, ok := jsonedit.Get(data, "time", name)
		was, err := strconv.ParseFloat(string(raw), 64)
		if was = min(was, render.MaxTime); !ok || err != nil || int64(was) < from || from < to && to <= int64(was) {
			continue
		}
		if name == "created" {
			was = float64(from)
		}
		if data, err = jsonedit.Set(data, strconv.AppendInt(nil, to+int64(was)-from, 10), "time", name); err != nil {
			return err
		}
	}
	r := m.Record
	r.Data = data
	if _, ok := r.Col("time_created"); ok {
		r = r.WithCol(change.IntCol("time_created", to))
	}
	parts := m.Parts
	*m = record.NewMessage(r)
	m.Parts = parts
	if m.Created != to {
		return fmt.Errorf("%s: its time is not where the agent reads it", m.Ref)
	}
	return nil
}
