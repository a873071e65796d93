package diagnose

import (
	"bytes"
	"slices"

	"mend/agent/claude/transcript"
	"mend/jsonedit"
	"mend/repair"
	"mend/request"
	"mend/session"
)

// findThinkingLast reports answers whose last block is thinking (R10). The fix gives the
// records of the answer the same contents in another order.
func (c *Case) findThinkingLast(q request.Request) {
	ends := map[session.Ref]bool{} // the records with the last blocks of the turns
	for _, t := range q.Turns {
		if n := len(t.Blocks); n > 0 && t.Blocks[n-1].IsThinking() {
			ends[t.Blocks[n-1].Ref()] = true
		}
	}
	answers := map[string][]*transcript.Record{}
	var ids []string
	for _, r := range c.linked.Chain {
		if r.Type == transcript.Assistant && r.MessageID != "" && r.Sendable() > 0 {
			if answers[r.MessageID] == nil {
				ids = append(ids, r.MessageID)
			}
			answers[r.MessageID] = append(answers[r.MessageID], r)
		}
	}
	for _, id := range ids {
		rs := answers[id]
		last := rs[len(rs)-1]
		onlyThinking := !slices.ContainsFunc(rs, func(r *transcript.Record) bool { return !thinks(r) })
		immovable := slices.ContainsFunc(rs, func(r *transcript.Record) bool { return len(r.Blocks()) != 1 || !c.canEdit(r.UUID) })
		if blocks := last.Blocks(); !blocks[len(blocks)-1].IsThinking() || !ends[c.ref(last)] || onlyThinking || immovable {
			continue
		}
		f := c.recordFinding("R10", repair.ThinkingBlockOrder, last.UUID)
		f.Text = "The final block in an assistant message cannot be `thinking`."
		c.report(f, found{why: "The answer ends with thinking, and the provider refuses that.", fixes: []repair.Fix{{
			Text: "The thinking moves before the text. It is not changed.", Whole: true,
			Edit: func(d repair.Draft) error { return d.(*draft).thinkFirst(rs) },
		}}})
	}
}

func thinks(r *transcript.Record) bool {
	return slices.ContainsFunc(r.Blocks(), func(b *transcript.Block) bool { return b.IsThinking() })
}

// thinkFirst gives the records of an answer their contents in the order thinking, text, calls.
func (d *draft) thinkFirst(rs []*transcript.Record) error {
	contents := make([][]byte, len(rs))
	order := slices.Clone(rs)
	slices.SortStableFunc(order, func(a, b *transcript.Record) int { return contentRank(a) - contentRank(b) })
	for i, r := range order {
		contents[i] = bytes.Clone(r.Content())
	}
	for i, r := range rs {
		if bytes.Equal(contents[i], r.Content()) {
			continue
		}
		raw, err := jsonedit.Set(d.raw(r.UUID), contents[i], "message", "content")
		if err != nil {
			return err
		}
		d.set(r.UUID, raw)
	}
	return nil
}

func contentRank(r *transcript.Record) int {
	if thinks(r) {
		return 0
	}
	return 1
}

// findResultOrder reports records in which something is before the result of a call (R1).
func (c *Case) findResultOrder(q request.Request, blocks []sentBlock) {
	late := map[session.Ref]bool{} // records with a result behind something else
	for _, t := range q.Turns {
		for i, b := range t.Blocks {
			if i > 0 && b.Type == request.ToolResult && t.Blocks[i-1].Type != request.ToolResult {
				late[b.Ref()] = true
			}
		}
	}
	seen := map[*transcript.Record]bool{}
	for _, b := range blocks {
		r := b.record
		if b.Type != request.ToolResult || seen[r] || !late[b.Ref()] {
			continue
		}
		seen[r] = true
		stored := r.Blocks()
		first := slices.IndexFunc(stored, func(x *transcript.Block) bool {
			return x.Type != request.ToolResult && (x.Type != request.Text || !transcript.IsBlank(x.Text))
		})
		last := -1
		for i, x := range stored {
			if x.Type == request.ToolResult {
				last = i
			}
		}
		if first < 0 || first > last || !c.canEdit(r.UUID) {
			continue
		}
		f := c.recordFinding("R1", repair.ToolResultMissing, r.UUID)
		f.Text = "`tool_use` ids were found without `tool_result` blocks immediately after"
		c.report(f, found{why: "A text is before the result of a tool call, so the provider does not see the result.", fixes: []repair.Fix{{
			Text: "The result moves before the text.", Alike: true,
			Edit: func(d repair.Draft) error { return d.(*draft).resultsFirst(r) },
		}}})
	}
}

func (d *draft) resultsFirst(r *transcript.Record) error {
	blocks := slices.Clone(r.Blocks())
	slices.SortStableFunc(blocks, func(a, b *transcript.Block) int { return blockRank(a) - blockRank(b) })
	list := []byte{'['}
	for i, b := range blocks {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, b.Raw...)
	}
	raw, err := jsonedit.Set(d.raw(r.UUID), append(list, ']'), "message", "content")
	if err == nil {
		d.set(r.UUID, raw)
	}
	return err
}

func blockRank(b *transcript.Block) int {
	if b.Type == request.ToolResult {
		return 0
	}
	return 1
}

// lostPrompt is the text in place of a first prompt that is lost.
const lostPrompt = "[the first prompt was lost]"

// findFirstPrompt reports a conversation that begins with an answer (R16). The fix puts a
// prompt before it.
func (c *Case) findFirstPrompt(q request.Request) {
	if len(q.Turns) == 0 || q.Turns[0].Role == session.RoleUser || len(c.linked.Chain) == 0 {
		return
	}
	first := c.linked.Chain[0]
	f := c.recordFinding("R16", repair.FirstPromptMissing, first.UUID)
	f.Text = `messages: first message must use the "user" role`
	start := found{why: "The conversation begins with an answer, and the provider refuses that: its first prompt is lost."}
	uuid := newID([]byte("prompt before " + first.UUID))
	line := c.base.last[first.UUID]
	if first.IsBoundary() || !c.canEdit(first.UUID) {
		start.refusal = &repair.RefusalError{Why: "The record has no line of its own."}
		c.report(f, start)
		return
	}
	start.fixes = []repair.Fix{{
		Text: "A prompt that says so is put before it.", Whole: true,
		Edit: func(d repair.Draft) error {
			raw, err := promptBefore(first, uuid)
			if err != nil {
				return err
			}
			d.(*draft).add(uuid, raw, line-1)
			return d.(*draft).setParent(first.UUID, uuid)
		},
	}}
	c.report(f, start)
}

// promptBefore returns a prompt with the fields of a record that every record has.
func promptBefore(r *transcript.Record, uuid string) ([]byte, error) {
	out := []byte(`{"parentUuid":null,"isSidechain":false,"type":"user","message":{"role":"user","content":""},"isMeta":false}`)
	var err error
	set := func(raw []byte, path ...string) {
		if err == nil && raw != nil {
			out, err = jsonedit.Set(out, raw, path...)
		}
	}
	set(jsonedit.Quote(lostPrompt), "message", "content")
	set(jsonedit.Quote(uuid), "uuid")
	for _, name := range []string{"timestamp", "userType", "entrypoint", "cwd", "sessionId", "version", "gitBranch"} {
		raw, _ := jsonedit.Get(r.Raw, name)
		set(raw, name)
	}
	return out, err
}
