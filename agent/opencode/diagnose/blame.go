package diagnose

import (
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/jsonedit"
	"mend/repair"
	"mend/request"
	"mend/session"
)

// Blame implements [repair.Blamer].
func (c *simulation) Blame(e repair.APIError) repair.Case { return c.inSettingOf(e).requesting(e) }

// requesting returns the simulation with the rules that apply only if an error asks for
// them.
func (c *simulation) requesting(e repair.APIError) *simulation {
	n := c.withSession(c.s)
	n.requested, n.tool, n.blamed = []repair.Class{e.Class}, e.Tool, true
	if e.Class == repair.InvalidFile {
		n.file, _ = n.blockAndTurn(e)
		n.link = linkIn(e)
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

// inSettingOf returns the simulation for the setting in which the error occurred. If
// the session does not show whether the model is asked to think, an error about an open
// tool loop does.
func (c *simulation) inSettingOf(e repair.APIError) *simulation {
	n := c.withSession(c.s)
	if target, other := c.targetOf(e); other {
		n.env.Target = func(request.Model) render.Target { return target }
		n.settings = n.settingsFor(n.s)
		return n
	}
	use := c.settings[own]
	use.thinking = e.Rule == "R3"
	if at := slices.Index(c.settings, use); at > own && isLoopRule(e.Rule) && c.request.Thinking == nil {
		n.settings = slices.Clone(c.settings)
		n.settings[own], n.settings[at] = n.settings[at], n.settings[own]
	}
	return n
}

// targetOf returns the target of the provider in whose words the error is, and whether that is
// another one than the session's seems to be: a gateway may have passed it on, or the
// settings are not known.
func (c *simulation) targetOf(e repair.APIError) (render.Target, bool) {
	api := c.api()
	switch {
	case e.API == "", e.API == api.String(), e.API == render.Chat.String() && isChat(api):
		return render.Target{}, false
	case e.API == render.Anthropic.String() && api == render.Bedrock: // where its models say the same
		return render.Target{}, false
	case strings.Contains(e.Text, placeWords[api]):
		return render.Target{}, false
	}
	for _, o := range otherTargets {
		if o.api.String() == e.API {
			return o.target, true
		}
	}
	return render.Target{}, false
}

// placeWords are what the places in an API's errors begin with.
var placeWords = map[render.API]string{
	render.Anthropic: "messages.", render.Bedrock: "messages.", render.OpenAI: "input[", render.Gemini: "contents[",
	render.Chat: "messages[", render.OpenRouter: "messages[", render.Copilot: "messages[",
}

// isChat reports whether the API is one for chat completions.
func isChat(a render.API) bool {
	return a == render.Chat || a == render.OpenRouter || a == render.Copilot
}

// isAboutThinking reports whether the fix of such an error removes thinking.
func isAboutThinking(e repair.APIError) bool {
	return e.Class == repair.ThinkingDisabledViolation || e.Class == repair.ThinkingSignature || e.Class == repair.ThinkingBlockModified
}

// Locate implements [repair.Blamer]. It looks for the records in this order: the calls
// that the error names; what is beside them in their steps; the block, then the turn
// with the number in the error, in the simulated request; the message near that number
// in the store, because the store may have changed since the error.
//
// An error about thinking that names no number is about the newest message that has a
// finding. So is every error that says that thinking was changed: the provider compares
// only the newest.
func (c *simulation) Locate(e repair.APIError, faults []repair.Finding) (in func(session.Ref) bool, only bool) {
	// Thinking is removed from the located message only: that of all others is signed and
	// would be lost for nothing.
	return c.locate(e, faults), isAboutThinking(e)
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
	items := c.namedItems(e)
	for _, in := range [...]func(session.Ref) bool{
		func(r session.Ref) bool { return items[r.Message] },
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
	if isAboutThinking(e) && (e.Index >= 0 || e.Class != repair.ThinkingDisabledViolation) {
		return among(c.newestOf(faults))
	}
	return nil
}

// namedCalls returns the calls that the error names by their ids, and the parts in the
// same steps: one of them may separate a call from its result.
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

// namedItems returns the messages with the items that the error names, by their ids. An item
// that the provider does not have is not alone: then none of those of its account is there.
func (c *simulation) namedItems(e repair.APIError) map[string]bool {
	in := map[string]bool{}
	if e.Rule == "O10" {
		return in
	}
	c.eachPart(func(m *record.Message, p *record.Part) {
		for _, path := range itemPaths(p) {
			if raw, _ := jsonedit.Get(p.Data, path...); slices.Contains(e.Items, jsonedit.Unquote(raw)) {
				in[m.Ref.Message] = true
			}
		}
	})
	return in
}

// blockAndTurn returns the record of the block that the error names, and the ids of the
// messages of its turn.
func (c *simulation) blockAndTurn(e repair.APIError) (block session.Ref, turn map[string]bool) {
	r := c.render(c.settings[own])
	if m := c.s.LatestAssistant(); m != nil && m.Failed { // the error may be about the request that this message was the answer to
		r = c.view().Render(render.Settings{Profile: c.settings[own].profile, Missing: c.env.Missing, Reads: c.env.Reads, Target: c.env.Target, NoPrompt: true})
	}
	turn = map[string]bool{}
	if e.Index < 0 || e.Index >= len(r.Turns) {
		return block, turn
	}
	at := e.Block
	if len(r.Turns[e.Index].Blocks) == 1 {
		at = 0
	}
	block, _ = r.At(e.Index, at)
	for _, ref := range r.Turns[e.Index].Messages {
		turn[ref.Message] = true
	}
	return block, turn
}

// nearest selects the message with a finding that is nearest to the number in the
// error.
func (c *simulation) nearest(e repair.APIError, faults []fault) func(session.Ref) bool {
	at := messageIDs(faults)
	return c.inMessage(c.s.Near(e.Index, func(i int) bool { return at[c.s.Messages[i].Ref.Message] }))
}

// newestOf selects the newest message with a finding.
func (c *simulation) newestOf(faults []fault) func(session.Ref) bool {
	at := messageIDs(faults)
	i := len(c.s.Messages) - 1
	for i >= 0 && !at[c.s.Messages[i].Ref.Message] {
		i--
	}
	return c.inMessage(i)
}

// messageIDs returns the ids of the messages with findings.
func messageIDs(faults []fault) map[string]bool {
	at := map[string]bool{}
	for _, f := range faults {
		at[f.Ref.Message] = true
	}
	return at
}

// inMessage selects the records of message number i, none for -1.
func (c *simulation) inMessage(i int) func(session.Ref) bool {
	return func(r session.Ref) bool { return i >= 0 && r.Message == c.s.Messages[i].Ref.Message }
}
