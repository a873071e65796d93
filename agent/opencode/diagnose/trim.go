package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
	"mend/request"
	"mend/session"
)

// Trim plans to mark outputs of tools as cleared, as OpenCode does it when it prunes a
// session: it then sends a short text in their place, and the outputs stay in the store.
// It marks copies first: calls of the same tool with the same input, except the newest.
// Then it marks the largest outputs, of equal ones the oldest. It stops when the estimate
// for the next request is at most the goal.
//
// The error wraps [repair.ErrBusy] if the agent is working in the session and Force is not
// set, or [repair.ErrHarmful] if the plan would break the session.
func Trim(s *record.Session, r repair.TrimRequest, e Environment) (repair.Trimmed, error) {
	c := newSimulation(s, repair.Request{Options: r.Options, Force: r.Force}, e)
	if !r.Force && c.Busy() {
		return repair.Trimmed{}, fmt.Errorf("trimming %s: %w", s.ID, repair.ErrBusy)
	}
	after, t, err := c.trim(r)
	if err == nil {
		err = c.harms(after)
	}
	if err != nil {
		return repair.Trimmed{}, fmt.Errorf("trimming %s: %w", s.ID, err)
	}
	t.Plan = change.Plan{Session: s.ID, Cause: change.Cause{Kind: change.CauseTrim}, Ops: change.Diff(c.Records, after.Records)}
	return t, nil
}

// trim returns the simulation of the trimmed session, and what was trimmed, without a plan.
func (c *simulation) trim(r repair.TrimRequest) (after *simulation, t repair.Trimmed, err error) {
	q := c.inUse()
	t = repair.Trimmed{Before: q.Tokens(), Goal: r.Goal, Window: cmp.Or(r.Window, c.window(q))}
	if t.Goal == 0 {
		t.Goal = cmp.Or(t.Window, repair.DefaultWindow) * r.Percent / 100
		if r.Actual > 0 { // the estimate is in other units, and without the system prompt and the tools
			t.Goal = int(int64(t.Goal) * int64(t.Before) / int64(r.Actual))
		}
	}
	t.After = t.Before
	d := c.draft()
	for _, o := range c.trimmable(q, r) {
		if t.After <= t.Goal {
			break
		}
		_, p, err := d.part(o.Ref)
		if err != nil {
			return nil, t, err
		}
		if p.Set(clearedAt(p), "state", "time", "compacted") != nil {
			continue // a state without a time is not one that OpenCode wrote
		}
		t.Outputs = append(t.Outputs, o)
		t.After -= o.Tokens
	}
	after = c.withSession(d.s)
	if len(t.Outputs) > 0 {
		t.After = after.inUse().Tokens()
	}
	return after, t, nil
}

// inUse returns the request in the setting in use.
func (c *simulation) inUse() request.Request { return c.render(c.settings[own]).Request }

// window returns the context window of the request's model in tokens, 0 if it is unknown.
func (c *simulation) window(q request.Request) int {
	if c.env.Window == nil {
		return 0
	}
	return c.env.Window(q.Model)
}

// harms returns an error if something is broken or latent after a change that was not
// before.
func (c *simulation) harms(after *simulation) error {
	for _, f := range after.Findings().All() {
		if f.Severity != repair.Note && !c.Findings().Has(f) {
			return fmt.Errorf("%w: %s", repair.ErrHarmful, f.Says)
		}
	}
	return nil
}

// minTrimmed is the size in tokens of an output below which marking it gains nothing.
const minTrimmed = 50

// trimmable returns the outputs of the messages in the request that may be marked, in the
// order in which they are. A request for a compaction has their texts in another form, and
// may not name the messages: then those of all messages may be marked.
func (c *simulation) trimmable(q request.Request, r repair.TrimRequest) []repair.TrimmedOutput {
	sent := map[string]bool{}
	for _, turn := range q.Turns {
		for _, m := range turn.Messages {
			sent[m.Message] = true
		}
	}
	type call struct{ tool, input string }
	newest := map[call]session.Ref{}
	calls := map[session.Ref]call{}
	var all []repair.TrimmedOutput
	last := c.firstKept(r.KeepTurns)
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		for j := range m.Parts {
			p := &m.Parts[j]
			if !p.IsTool() || p.Status != record.StatusCompleted || len(sent) > 0 && !sent[m.Ref.Message] {
				continue
			}
			state := js.Parse(p.Data).Get("state")
			k := call{p.Tool, string(state.Get("input").Stringify())}
			calls[p.Ref], newest[k] = k, p.Ref
			tokens := outputTokens(state)
			if i < last && tokens >= minTrimmed && !state.Get("time").Get("compacted").Truthy() && !slices.Contains(r.Protected, p.Tool) {
				all = append(all, repair.TrimmedOutput{Ref: p.Ref, Tool: p.Tool, Tokens: tokens})
			}
		}
	}
	for i := range all {
		all[i].Copy = newest[calls[all[i].Ref]] != all[i].Ref
	}
	slices.SortStableFunc(all, func(a, b repair.TrimmedOutput) int {
		if a.Copy != b.Copy {
			if a.Copy {
				return -1
			}
			return 1
		}
		return cmp.Compare(b.Tokens, a.Tokens)
	})
	return all
}

// outputTokens returns the estimated size of what a call adds to the request with its result.
func outputTokens(state js.Value) int {
	output, _ := state.Get("output").Text()
	b := request.Block{Type: request.ToolResult, Text: output}
	files, _ := state.Get("attachments").List()
	for range files {
		b.Content = append(b.Content, &request.Block{Type: request.Image})
	}
	return b.Tokens()
}

// firstKept returns the index of the first message of the newest turns, each of which
// begins with a prompt.
func (c *simulation) firstKept(turns int) int {
	for i := len(c.s.Messages); i > 0; i-- {
		if turns <= 0 {
			return i
		}
		m := &c.s.Messages[i-1]
		if m.Role == session.RoleUser {
			if turns--; turns == 0 {
				return i - 1
			}
		}
	}
	return 0
}

// clearedAt returns the time that marks the output of a call as cleared: when the call
// ended. A plan depends on no clock.
func clearedAt(p *record.Part) []byte {
	return strconv.AppendInt(nil, max(p.End, p.Start, 1), 10)
}
