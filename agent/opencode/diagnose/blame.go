package diagnose

import (
	"slices"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/repair"
	"mend/session"
)

// Blame implements [repair.Blamer].
func (c *simulation) Blame(e repair.APIError) repair.Case { return c.inSettingOf(e).requesting(e) }

// requesting returns the simulation with the rules that only the error asks for.
func (c *simulation) requesting(e repair.APIError) *simulation {
	n := c.withSession(c.s)
	n.requested, n.tool, n.blamed = []repair.Class{e.Class}, e.Tool, true
	if e.Class == repair.InvalidFile {
		n.file, _ = n.blockAndTurn(e)
	}
	return n
}

// Suspects implements [repair.Blamer].
func (c *simulation) Suspects(e repair.APIError) (fs []repair.Finding) {
	n := c.withSession(c.s)
	n.requested, n.tool = []repair.Class{e.Class}, e.Tool
	for _, f := range n.Findings().All() {
		if ruleOf(f.Code).Asked && f.Class == e.Class {
			fs = append(fs, f)
		}
	}
	return fs
}

// inSettingOf returns the simulation for the setting that the error came under: that it speaks of an
// open tool loop tells whether the model was asked to think, if nothing else did.
func (c *simulation) inSettingOf(e repair.APIError) *simulation {
	n := c.withSession(c.s)
	use := c.settings[own]
	use.thinking = e.Rule == "R3"
	if at := slices.Index(c.settings, use); at > own && isLoopRule(e.Rule) && c.request.Thinking == nil {
		n.settings = slices.Clone(c.settings)
		n.settings[own], n.settings[at] = n.settings[at], n.settings[own]
	}
	return n
}

func takesThinking(e repair.APIError) bool {
	return e.Class == repair.ThinkingDisabledViolation || e.Class == repair.ThinkingSignature || e.Class == repair.ThinkingBlockModified
}

// Locate implements [repair.Blamer]. The records are the call that it names; or the block, or else the turn, that
// it numbers, in the request as it is simulated; or else the message near that
// number in the store, since the store may not be what it was when the error came.
// For thinking it is the newest that is sent if the number names none; and always if the
// error says that thinking was changed, since the provider compares only the newest.
func (c *simulation) Locate(e repair.APIError, faults []repair.Finding) (in func(session.Ref) bool, only bool) {
	// Thinking goes from the message at fault alone, or what was signed in all others
	// would be lost for nothing.
	return c.locate(e, faults), takesThinking(e)
}

// locate returns the first result of [simulation.Locate].
func (c *simulation) locate(e repair.APIError, faults []fault) func(session.Ref) bool {
	among := func(in func(session.Ref) bool) func(session.Ref) bool {
		for _, f := range faults {
			if in(f.Ref) {
				return in
			}
		}
		return nil
	}
	if e.Rule == "R8" {
		return among(c.newestOf(faults))
	}
	block, turn := c.blockAndTurn(e)
	called, beside := c.namedCalls(e)
	for _, in := range [...]func(session.Ref) bool{
		func(r session.Ref) bool { return called[r] },
		func(r session.Ref) bool { return beside[r] },
		func(r session.Ref) bool { return r == block && block.Kind != 0 },
		func(r session.Ref) bool { return turn[r.Message] },
		c.nearest(e, faults),
	} {
		if at := among(in); at != nil {
			return at
		}
	}
	if takesThinking(e) && (e.Index >= 0 || e.Class != repair.ThinkingDisabledViolation) {
		return among(c.newestOf(faults))
	}
	return nil
}

// namedCalls returns the calls that the error names by their ids, and what stands beside
// them in their steps, which may be what parts them from their results.
func (c *simulation) namedCalls(e repair.APIError) (called, beside map[session.Ref]bool) {
	called, beside = map[session.Ref]bool{}, map[session.Ref]bool{}
	c.eachPart(func(m *record.Message, p *record.Part) {
		if !p.IsTool() || !slices.Contains(e.Calls, p.Call()) {
			return
		}
		called[p.Ref] = true
		for _, q := range stepOf(m, p.Ref) {
			beside[q.Ref] = true
		}
	})
	return called, beside
}

// blockAndTurn returns the record behind the block that the error names, and the messages
// behind its turn, by their ids.
func (c *simulation) blockAndTurn(e repair.APIError) (block session.Ref, turn map[string]bool) {
	r := c.render(c.settings[own].profile)
	if m := c.s.LatestAssistant(); m != nil && m.Failed { // the error may be about the request that it answered
		r = c.view().Render(render.Settings{Profile: c.settings[own].profile, Missing: c.env.Missing, Reads: c.env.Reads, NoPrompt: true})
	}
	turn = map[string]bool{}
	if e.Index < 0 || e.Index >= len(r.Turns) {
		return block, turn
	}
	block, _ = r.At(e.Index, e.Block)
	for _, ref := range r.Turns[e.Index].Messages {
		turn[ref.Message] = true
	}
	return block, turn
}

// nearest returns the message at fault that is next to the number in the error.
func (c *simulation) nearest(e repair.APIError, faults []fault) func(session.Ref) bool {
	at := messageIDs(faults)
	return c.inMessage(c.s.Near(e.Index, func(i int) bool { return at[c.s.Messages[i].Ref.Message] }))
}

// newestOf returns the newest message at fault.
func (c *simulation) newestOf(faults []fault) func(session.Ref) bool {
	at := messageIDs(faults)
	i := len(c.s.Messages) - 1
	for i >= 0 && !at[c.s.Messages[i].Ref.Message] {
		i--
	}
	return c.inMessage(i)
}

// messageIDs returns the messages at fault, by their ids.
func messageIDs(faults []fault) map[string]bool {
	at := map[string]bool{}
	for _, f := range faults {
		at[f.Ref.Message] = true
	}
	return at
}

// inMessage tells the records of message number i; -1 is none.
func (c *simulation) inMessage(i int) func(session.Ref) bool {
	return func(r session.Ref) bool { return i >= 0 && r.Message == c.s.Messages[i].Ref.Message }
}
