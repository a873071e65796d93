package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/jsonedit"
	"mend/repair"
	"mend/request"
	"mend/session"
)

// Trim plans to mark outputs of tools as cleared, as OpenCode does it when it prunes a
// session: it then sends a short text in their place, and the outputs stay in the store.
// It marks copies first: calls of the same tool with the same input, except the newest.
// Then it marks the largest outputs, of equal ones the oldest. It stops when the estimate
// for the next request is at most the goal. If that is not enough and Hard is set, lines of
// text replace the largest files and the middle of the largest texts.
//
// The error wraps [repair.ErrBusy] if the agent is working in the session and Force is not
// set, or [repair.ErrHarmful] if the plan would break the session.
func Trim(s *record.Session, r repair.TrimRequest, e Environment) (repair.Trimmed, error) {
	c := newSimulation(s, repair.Request{Options: r.Options, Force: r.Force}, e)
	if why := c.Busy(); why != "" && !r.Force {
		return repair.Trimmed{}, fmt.Errorf("trimming %s: %w: %s", s.ID, repair.ErrBusy, why)
	}
	after, t, err := c.trim(r)
	if err == nil {
		err = repair.CheckHarm(c, after)
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
		} else if r.TooLong {
			t.Goal = min(t.Goal, t.Before*r.Percent/100)
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
	if !r.Hard || t.After <= t.Goal {
		return after, t, nil
	}
	for _, o := range c.removable(q, r) {
		if t.After <= t.Goal {
			break
		}
		if err := d.takeOut(o); err != nil {
			return nil, t, err
		}
		t.Removed = append(t.Removed, o)
		t.After -= o.Tokens
	}
	after = c.withSession(d.s)
	t.After = after.inUse().Tokens()
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
			k := call{p.Tool, string(jsonedit.Minify(state.Get("input").Raw()))}
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

// minRemoved is the size in tokens of a file or a text below which it is not large.
const minRemoved = 500

// removable returns the large files and texts of the request, the largest first, of equal
// ones the oldest. Summaries of compactions stay: they are all that the model knows of what
// was before them.
func (c *simulation) removable(q request.Request, r repair.TrimRequest) []repair.RemovedContent {
	sent := map[session.Ref]int{}
	for _, turn := range q.Turns {
		for _, b := range turn.Blocks {
			sent[b.Ref()] += b.Tokens()
		}
	}
	var all []repair.RemovedContent
	for _, m := range c.s.Messages[:c.firstKept(r.KeepTurns)] {
		if m.Role == session.RoleAssistant && js.Parse(m.Data).Get("summary").Truthy() {
			continue
		}
		for _, p := range m.Parts {
			o := repair.RemovedContent{Ref: p.Ref, File: p.Type == record.TypeFile, Name: textAt(p.Data, "filename"), Tokens: sent[p.Ref]}
			if p.Type == record.TypeText {
				o.Name = firstRunes(textAt(p.Data, "text"), 60)
				o.Tokens -= 2 * keptOfText / 4
			}
			if o.Tokens >= minRemoved && (o.File || p.Type == record.TypeText) {
				all = append(all, o)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b repair.RemovedContent) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return all
}

// keptOfText is how many characters stay at each end of a text whose middle is taken out.
// The beginning of a prompt often says what the rest is for.
const keptOfText = 400

// takenOut is what happened to a file that mend trim took out.
const takenOut = "it was taken out of this conversation to make room"

// takeOut replaces a file, or the middle of a text, by a line of text.
func (d *draft) takeOut(o repair.RemovedContent) error {
	if o.File {
		return d.ReplaceFiles(&request.Block{Source: &o.Ref}, nil, takenOut)
	}
	_, p, err := d.part(o.Ref)
	if err != nil {
		return err
	}
	text := textAt(p.Data, "text")
	head := firstRunes(text, keptOfText)
	tail := strings.TrimPrefix(text, head)
	at := len(tail)
	for n := 0; n < keptOfText && at > 0; n++ {
		_, size := utf8.DecodeLastRuneInString(tail[:at])
		at -= size
	}
	tail = tail[at:]
	middle := fmt.Sprintf("[%d bytes of this text were taken out of this conversation to make room]", len(text)-len(head)-len(tail))
	return p.Set(jsonedit.Quote(head+"\n"+middle+"\n"+tail), "text")
}

// firstRunes returns the first n characters of a text.
func firstRunes(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
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
