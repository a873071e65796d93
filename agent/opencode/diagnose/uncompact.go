package diagnose

import (
	"cmp"
	"fmt"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
	"mend/request"
	"mend/session"
)

// Uncompact plans to remove the newest finished compaction of a session: its prompt and its
// summary. OpenCode then sends the messages before it again. What is broken in these is
// fixed in the same plan, and with [repair.UncompactRequest.Trim] the request is trimmed so
// that it fits into the context window.
//
// The error wraps [repair.ErrBusy] if the agent is working in the session and Force is not
// set, [repair.ErrNotCompacted], [repair.ErrHarmful] if what comes back cannot be fixed, or
// is a [*repair.TooLargeError].
func Uncompact(s *record.Session, r repair.UncompactRequest, e Environment) (repair.Uncompacted, error) {
	u, err := uncompact(newSimulation(s, repair.Request{Options: r.Options, Force: r.Force}, e), r)
	if err != nil {
		return repair.Uncompacted{}, fmt.Errorf("uncompacting %s: %w", s.ID, err)
	}
	return u, nil
}

func uncompact(c *simulation, r repair.UncompactRequest) (u repair.Uncompacted, err error) {
	if why := c.Busy(); why != "" && !r.Force {
		return u, fmt.Errorf("%w: %s", repair.ErrBusy, why)
	}
	q := c.inUse()
	u.Window, u.Before = c.window(q), q.Tokens()
	d := c.draft()
	if u.Earlier = d.removeNewestCompaction() - 1; u.Earlier < 0 {
		return u, repair.ErrNotCompacted
	}
	after := c.withSession(d.s)
	fixed, err := repair.Plan(c.s.ID, after, repair.Request{Options: r.Options, Force: r.Force})
	if err != nil {
		return u, err
	}
	u.Fixed, after = fixed.Fixed, fixed.After.(*simulation)
	limit := cmp.Or(u.Window, repair.DefaultWindow) * repair.MaxPercent / 100
	if u.After = after.inUse().Tokens(); u.After > limit && r.Trim {
		var t repair.Trimmed
		after, t, err = after.trim(repair.TrimRequest{Options: r.Options, Goal: limit, KeepTurns: repair.DefaultKeepTurns, Protected: r.Protected})
		if err != nil {
			return u, err
		}
		u.After, u.Outputs = t.After, t.Outputs
	}
	if u.After > limit {
		return u, &repair.TooLargeError{Tokens: u.After, Limit: limit}
	}
	if err := repair.CheckHarm(c, after); err != nil {
		return u, err
	}
	u.Messages = messagesIn(after.inUse()) - messagesIn(q)
	u.Plan = change.Plan{Session: c.s.ID, Cause: change.Cause{Kind: change.CauseUncompact}, Ops: change.Diff(c.Records, after.Records)}
	return u, nil
}

// removeNewestCompaction removes the newest finished compaction, if there is one, and
// returns how many finished ones the session had.
func (d *draft) removeNewestCompaction() (had int) {
	summaries := map[string][]int{} // of finished compactions, by the id of their prompt
	for i := range d.s.Messages {
		m := &d.s.Messages[i]
		body := js.Parse(m.Data)
		if m.Role != session.RoleAssistant || !body.Get("summary").Truthy() || !body.Get("finish").Truthy() || body.Get("error").Truthy() {
			continue
		}
		parent, _ := body.Get("parentID").Text()
		summaries[parent] = append(summaries[parent], i)
	}
	newest := -1
	for i := range d.s.Messages {
		if m := &d.s.Messages[i]; m.Role == session.RoleUser && summaries[m.ID] != nil && compactionPart(m) != nil {
			newest = i
			had++
		}
	}
	if newest < 0 {
		return 0
	}
	m := &d.s.Messages[newest]
	for _, i := range summaries[m.ID] {
		d.removeMessage(i)
	}
	if len(m.Parts) == 1 {
		d.removeMessage(newest)
	} else {
		_ = d.remove(compactionPart(m).Ref) // it is there
	}
	d.arrange()
	return had
}

// compactionPart returns the part that makes the message a compaction, or nil.
func compactionPart(m *record.Message) *record.Part {
	for i := range m.Parts {
		if m.Parts[i].Type == "compaction" {
			return &m.Parts[i]
		}
	}
	return nil
}

// messagesIn returns how many stored messages the request is made of.
func messagesIn(q request.Request) int {
	n := 0
	for _, t := range q.Turns {
		n += len(t.Messages)
	}
	return n
}
