package repair

import (
	"slices"

	"mend/agent/opencode/render"
	"mend/session"
)

// answer treats what an API error tells of: the faults of its kind at the record
// that it names, or else, or where all are asked for, all of its kind.
func (c *chart) answer(e APIError, all bool) *treatment {
	c = c.as(e)
	asked := c.of(c.s)
	asked.asked, asked.tool = []Class{e.Class}, e.Tool
	if e.Class == InvalidFile {
		asked.file, _ = c.place(e)
	}
	kind := asked.kind(e)
	if at := asked.located(e, kind); at != nil && !all {
		t := asked.treat(func(c *chart, f finding) bool { return kind(c, f) && at(f.ref) })
		// Thinking goes from the message at fault alone, or what was signed in all
		// others would be lost for nothing.
		if len(t.cured) > 0 || takesThinking(e) {
			return t.unasked(c)
		}
	}
	return asked.treat(kind).unasked(c)
}

// suspects are the records of the kind of the error of which only the provider can
// tell whether they are at fault.
func (c *chart) suspects(e APIError) (ds []Diagnosis) {
	asked := c.of(c.s)
	asked.asked, asked.tool = []Class{e.Class}, e.Tool
	for _, f := range asked.survey().findings {
		if ruleOf(f.code).Asked && asked.classOf(f) == e.Class {
			ds = append(ds, asked.describe(f))
		}
	}
	return once(ds)
}

// as is the chart for the setting that the error came under: that it speaks of an
// open tool loop tells whether the model was asked to think, if nothing else did.
func (c *chart) as(e APIError) *chart {
	n := c.of(c.s)
	use := c.settings[own]
	use.thinking = e.Rule == "R3"
	if at := slices.Index(c.settings, use); at > own && aboutLoops(e.Rule) && !c.told {
		n.settings = slices.Clone(c.settings)
		n.settings[own], n.settings[at] = n.settings[at], n.settings[own]
	}
	return n
}

// kind tells which findings the error is about: those of its rule, or else of its
// class.
func (c *chart) kind(e APIError) wanted {
	exact := func(_ *chart, f finding) bool { return e.Rule != "" && (f.code == e.Rule || f.shows == e.Rule) }
	if slices.ContainsFunc(c.survey().findings, func(f finding) bool { return exact(c, f) }) {
		return exact
	}
	return func(c *chart, f finding) bool { return e.Class != "" && c.classOf(f) == e.Class }
}

// unasked is the treatment, with a chart that does not ask for classes.
func (t *treatment) unasked(c *chart) *treatment {
	t.c = c.of(t.s)
	return t
}

func takesThinking(e APIError) bool {
	return e.Class == ThinkingDisabledViolation || e.Class == ThinkingSignature || e.Class == ThinkingBlockModified
}

// located tells which records the error is about, nil where it names none with a
// fault of the kind: the call that it names; or the block, or else the turn, that
// it numbers, in the request as it is simulated; or else the message near that
// number in the store, since the store may not be what it was when the error came.
// Of thinking it is the newest that goes out where the number leads nowhere, and
// always where it is said to be changed, which the provider looks at in no other.
func (c *chart) located(e APIError, kind wanted) func(session.Ref) bool {
	var faults []finding
	for _, f := range c.survey().findings {
		if kind(c, f) {
			faults = append(faults, f)
		}
	}
	among := func(in func(session.Ref) bool) func(session.Ref) bool {
		for _, f := range faults {
			if in(f.ref) {
				return in
			}
		}
		return nil
	}
	if e.Rule == "R8" {
		return among(c.newestOf(faults))
	}
	block, turn := c.place(e)
	called, beside := c.calls(e)
	for _, in := range [...]func(session.Ref) bool{
		func(r session.Ref) bool { return called[r] },
		func(r session.Ref) bool { return beside[r] },
		func(r session.Ref) bool { return r == block && block.Kind != 0 },
		func(r session.Ref) bool { return turn[r.Message] },
		c.near(e, faults),
	} {
		if at := among(in); at != nil {
			return at
		}
	}
	if takesThinking(e) && (e.Index >= 0 || e.Class != ThinkingDisabledViolation) {
		return among(c.newestOf(faults))
	}
	return nil
}

// calls are the calls that the error names by their ids, and what stands beside
// them in their steps, which may be what parts them from their results.
func (c *chart) calls(e APIError) (called, beside map[session.Ref]bool) {
	called, beside = map[session.Ref]bool{}, map[session.Ref]bool{}
	c.eachPart(func(m *session.Message, p *session.Part) {
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

// place is the record behind the block that the error names, and the messages
// behind its turn, by their ids.
func (c *chart) place(e APIError) (block session.Ref, turn map[string]bool) {
	r := c.render(c.settings[own].profile)
	if m := c.s.LatestAssistant(); m != nil && m.Failed { // the error may be about the request that it answered
		r = c.read().Render(render.Settings{Profile: c.settings[own].profile, Missing: c.missing, Reads: c.reads, NoPrompt: true})
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

// near is the message at fault that is next to the number in the error.
func (c *chart) near(e APIError, faults []finding) func(session.Ref) bool {
	at := messagesOf(faults)
	return c.inMessage(c.s.Near(e.Index, func(i int) bool { return at[c.s.Messages[i].Ref.Message] }))
}

// newestOf is the newest message at fault.
func (c *chart) newestOf(faults []finding) func(session.Ref) bool {
	at := messagesOf(faults)
	i := len(c.s.Messages) - 1
	for i >= 0 && !at[c.s.Messages[i].Ref.Message] {
		i--
	}
	return c.inMessage(i)
}

// messagesOf are the messages at fault, by their ids.
func messagesOf(faults []finding) map[string]bool {
	at := map[string]bool{}
	for _, f := range faults {
		at[f.ref.Message] = true
	}
	return at
}

// inMessage tells the records of message number i; -1 is none.
func (c *chart) inMessage(i int) func(session.Ref) bool {
	return func(r session.Ref) bool { return i >= 0 && r.Message == c.s.Messages[i].Ref.Message }
}
