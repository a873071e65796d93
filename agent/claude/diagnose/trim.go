package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mend/change"
	"mend/jsonedit"
	"mend/repair"
	"mend/request"
)

// cleared is what the program itself sends in place of an old result.
const cleared = "[Old tool result content cleared]"

// Trim plans to clear results of tools: the record of a result is appended again with a short
// text in its place, so the model no longer sees the result. The line before stays in the
// transcript. Copies go first: results of calls of the same tool with the same input, except
// the newest. Then the largest results go, of equal ones the oldest, until the estimate for the
// next request is at most the goal. If that is not enough and Hard is set, lines of text take the
// places of large files and of the middle of large texts.
//
// The error wraps [repair.ErrBusy] if a process uses the session and Force is not set, or
// [repair.ErrHarmful] if the plan would break something.
func Trim(s Source, r repair.TrimRequest) (repair.Trimmed, error) {
	c := New(s)
	if why := c.Busy(); why != "" && !r.Force {
		return repair.Trimmed{}, fmt.Errorf("trimming %s: %w: %s", s.Ref.Session, repair.ErrBusy, why)
	}
	after, t, err := c.trim(r)
	if err == nil {
		err = repair.CheckHarm(c, after)
	}
	if err != nil {
		return repair.Trimmed{}, fmt.Errorf("trimming %s: %w", s.Ref.Session, err)
	}
	t.Plan = change.Plan{Session: s.Ref.Session, Cause: change.Cause{Kind: change.CauseTrim}, Ops: change.Diff(c.Records, after.Records), Force: r.Force}
	return t, nil
}

// trim returns the trimmed case, and what was trimmed, without a plan.
func (c *Case) trim(r repair.TrimRequest) (after *Case, t repair.Trimmed, err error) {
	q := c.Request()
	t = repair.Trimmed{Before: q.Tokens(), Goal: r.Goal, Window: r.Window}
	if t.Goal == 0 {
		t.Goal = cmp.Or(t.Window, repair.DefaultWindow) * r.Percent / 100
		if r.Actual > 0 { // the estimate is in other units, and without the system prompt and the tools
			t.Goal = int(int64(t.Goal) * int64(t.Before) / int64(r.Actual))
		}
	}
	t.After = t.Before
	d := c.Draft().(*draft)
	for _, o := range c.trimmable(q, r) {
		if t.After <= t.Goal {
			break
		}
		_, err := d.Apply(repair.Finding{}, repair.Fix{Edit: func(repair.Draft) error {
			return d.editContent(o.block.Ref().Message, o.block.Index, func(raw []byte) ([]byte, error) {
				return jsonedit.Set(raw, jsonedit.Quote(cleared), "content")
			})
		}})
		if err != nil {
			return nil, t, err
		}
		t.Outputs = append(t.Outputs, o.TrimmedOutput)
		t.After -= o.Tokens
	}
	after = d.Case().(*Case)
	if len(t.Outputs) > 0 {
		t.After = after.Request().Tokens()
	}
	if !r.Hard || t.After <= t.Goal {
		return after, t, nil
	}
	for _, o := range c.removable(q, r) {
		if t.After <= t.Goal {
			break
		}
		if _, err := d.Apply(repair.Finding{}, repair.Fix{Edit: func(repair.Draft) error { return d.takeOut(o) }}); err != nil {
			return nil, t, err
		}
		t.Removed = append(t.Removed, o.RemovedContent)
		t.After -= o.Tokens
	}
	after = d.Case().(*Case)
	t.After = after.Request().Tokens()
	return after, t, nil
}

// minRemoved is the size in tokens of a file or a text below which it is not large.
const minRemoved = 500

// keptOfText is how many characters stay at each end of a text whose middle is taken out.
const keptOfText = 400

// A removable content is one that may be taken out.
type removable struct {
	repair.RemovedContent
	block *request.Block
}

// removable returns the large files and texts of the request, the largest first, of equal ones
// the oldest. Summaries of compactions stay.
func (c *Case) removable(q request.Request, r repair.TrimRequest) (all []removable) {
	kept := c.keptRecords(r.KeepTurns)
	for _, t := range q.Turns {
		for _, b := range t.Blocks {
			record := c.conv.Record(b.Ref().Message)
			if record == nil || !record.IsMessage() || record.Summary || kept[record.UUID] || !c.canEdit(record.UUID) ||
				b.Index >= len(record.Blocks()) || record.Blocks()[b.Index].Type != b.Type {
				continue
			}
			o := repair.RemovedContent{Ref: b.Ref(), File: b.Type != request.Text, Tokens: b.Tokens()}
			switch b.Type {
			case request.Text:
				if _, tail := ends(b.Text, keptOfText); tail == "" {
					continue
				}
				o.Name, _ = ends(b.Text, 60)
				o.Tokens -= 2 * keptOfText / 4
			case request.Image, request.Document:
				o.Name = b.Mime
			default:
				continue
			}
			if o.Tokens >= minRemoved {
				all = append(all, removable{o, b})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b removable) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return all
}

// takeOut replaces a file, or the middle of a text, by a line of text.
func (d *draft) takeOut(o removable) error {
	head, tail := ends(o.block.Text, keptOfText)
	var text string
	if o.File {
		text = lostFile(o.block, "it was taken out of this conversation to make room")
	} else {
		text = fmt.Sprintf("%s\n[%d bytes of this text were taken out of this conversation to make room]\n%s", head, len(o.block.Text)-len(head)-len(tail), tail)
	}
	return d.editContent(o.block.Ref().Message, o.block.Index, func(raw []byte) ([]byte, error) {
		if raw[0] == '"' {
			return jsonedit.Quote(text), nil
		}
		return textBlock(text), nil
	})
}

// ends returns the first and the last n characters of a text that is longer than both.
func ends(text string, n int) (head, tail string) {
	r := []rune(text)
	if len(r) <= 2*n {
		return text, ""
	}
	return string(r[:n]), string(r[len(r)-n:])
}

// minTrimmed is the size in tokens of a result below which clearing it gains nothing.
const minTrimmed = 50

// A trimmable result is one that may be cleared.
type trimmable struct {
	repair.TrimmedOutput
	block *request.Block
}

// trimmable returns the results in the request that may be cleared, in the order in which they
// are.
func (c *Case) trimmable(q request.Request, r repair.TrimRequest) (all []trimmable) {
	type call struct{ tool, input string }
	calls, newest := map[string]call{}, map[call]string{}
	kept := c.keptRecords(r.KeepTurns)
	for _, t := range q.Turns {
		for _, b := range t.Blocks {
			switch b.Type {
			case request.ToolUse:
				k := call{b.ToolName, string(b.Input)}
				calls[b.ToolID], newest[k] = k, b.ToolID
			case request.ToolResult:
				record, tool := c.conv.Record(b.Ref().Message), calls[b.ToolID].tool
				tokens := b.Tokens() - (len(cleared)+3)/4
				if record == nil || kept[record.UUID] || b.Error || tokens < minTrimmed || isProtected(tool, r.Protected) || !c.canEdit(record.UUID) ||
					b.Index >= len(record.Blocks()) || record.Blocks()[b.Index].Type != request.ToolResult {
					continue
				}
				all = append(all, trimmable{repair.TrimmedOutput{Ref: b.Ref(), Tool: tool, Tokens: tokens}, b})
			default:
			}
		}
	}
	for i := range all {
		all[i].Copy = newest[calls[all[i].block.ToolID]] != all[i].block.ToolID
	}
	slices.SortStableFunc(all, func(a, b trimmable) int {
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

// isProtected reports whether the results of a tool stay. Claude Code capitalizes names, and
// since 2.1 calls the tool task Agent.
func isProtected(tool string, protected []string) bool {
	return slices.ContainsFunc(protected, func(p string) bool {
		return strings.EqualFold(p, tool) || strings.EqualFold(p, "task") && tool == "Agent"
	})
}

// keptRecords returns the ids of the records of the newest turns, each of which begins with a
// prompt.
func (c *Case) keptRecords(turns int) map[string]bool {
	kept := map[string]bool{}
	for i := len(c.conv.Chain); i > 0 && turns > 0; i-- {
		r := c.conv.Chain[i-1]
		kept[r.UUID] = true
		if r.IsPrompt() {
			turns--
		}
	}
	return kept
}
