package repair

import (
	"slices"

	"mend/session"
	"mend/wire"
)

// answer treats what an API error tells of: the faults of its kind at the record
// that it names, or else all of its kind.
func (c *chart) answer(e APIError) *treatment {
	asked := *c
	asked.asked, asked.tool = []Class{e.Class}, e.Tool
	kind := asked.kind(e)
	if at := asked.located(e, kind); at != nil {
		t := asked.treat(func(f finding) bool { return kind(f) && at(f.ref) })
		// Thinking goes from the message at fault alone, or what was signed in all
		// others would be lost for nothing.
		if len(t.cured) > 0 || takesThinking(e) {
			return t.unasked(c)
		}
	}
	return asked.treat(kind).unasked(c)
}

// kind tells which findings the error is about: those of its rule, or else of its
// class.
func (c *chart) kind(e APIError) func(finding) bool {
	exact := func(f finding) bool { return e.Rule != "" && f.code == e.Rule }
	if slices.ContainsFunc(c.survey().findings, exact) {
		return exact
	}
	return func(f finding) bool { return e.Class != "" && c.classOf(f) == e.Class }
}

// unasked is the treatment, with a chart that does not ask for classes.
func (t *treatment) unasked(c *chart) *treatment {
	t.c = c.of(t.s)
	return t
}

func takesThinking(e APIError) bool {
	switch e.Class {
	case ThinkingDisabledViolation, ThinkingSignature, ThinkingBlockModified:
		return true
	}
	return false
}

// located tells which records the error is about, nil where it names none with a
// fault of the kind: the block, or else the turn, that it numbers, in the request
// as it is simulated; or else the message near that number in the store, since
// the store may not be what it was when the error came.
func (c *chart) located(e APIError, kind func(finding) bool) func(session.Ref) bool {
	var faults []finding
	for _, f := range c.survey().findings {
		if kind(f) {
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
	block, turn := c.place(e)
	for _, in := range [...]func(session.Ref) bool{
		func(r session.Ref) bool { return r == block && block.Kind != 0 && e.Rule != "R8" },
		func(r session.Ref) bool { return turn[r.Message] },
		c.near(e, faults),
	} {
		if at := among(in); at != nil {
			return at
		}
	}
	return nil
}

// place is the record behind the block that the error names, and the messages
// behind its turn, by their ids.
func (c *chart) place(e APIError) (block session.Ref, turn map[string]bool) {
	r := c.render(c.settings[own].profile)
	if m := c.s.LatestAssistant(); m != nil && m.Failed { // the error may be about the request that it answered
		r = c.wire.Render(c.s, wire.Settings{Profile: c.settings[own].profile, Missing: c.missing, Standing: true})
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

// near is the message at fault that is next to the number in the error; for
// thinking without a number it is the newest.
func (c *chart) near(e APIError, faults []finding) func(session.Ref) bool {
	at := map[string]bool{}
	for _, f := range faults {
		at[f.ref.Message] = true
	}
	i := c.s.Near(e.Index, func(i int) bool { return at[c.s.Messages[i].Ref.Message] })
	if i < 0 && e.Index < 0 && (e.Rule == "R7" || e.Rule == "R8") {
		for i = len(c.s.Messages) - 1; i >= 0 && !at[c.s.Messages[i].Ref.Message]; i-- {
		}
	}
	if i < 0 {
		return func(session.Ref) bool { return false }
	}
	id := c.s.Messages[i].Ref.Message
	return func(r session.Ref) bool { return r.Message == id }
}
