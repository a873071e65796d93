package diagnose

import (
	"fmt"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// RemoveCompaction implements [repair.Editor]. It removes the prompt that requested the compaction, and the summary.
func (d *draft) RemoveCompaction() (earlier int, err error) {
	summaries := map[string][]int{} // of finished compactions, by the id of their prompt
	for i := range d.s.Messages {
		m := &d.s.Messages[i]
		if isSummary(m) && m.JSON.Get("finish").Truthy() && !m.Failed {
			summaries[m.Parent] = append(summaries[m.Parent], i)
		}
	}
	var finished []int
	for i := range d.s.Messages {
		if m := &d.s.Messages[i]; m.Role == change.RoleUser && summaries[m.ID] != nil && compactionPart(m) != nil {
			finished = append(finished, i)
		}
	}
	earlier = len(finished) - 1
	if earlier < 0 {
		return 0, repair.ErrNotCompacted
	}
	newest := finished[earlier]
	for _, i := range summaries[d.s.Messages[newest].ID] {
		d.removeMessage(i)
	}
	err = d.removeRequest(newest)
	d.arrange()
	return earlier, err
}

// removeRequest removes the request for a compaction from the message at i.
func (d *draft) removeRequest(i int) error {
	m := &d.s.Messages[i]
	if len(m.Parts) > 1 {
		return d.remove(compactionPart(m).Ref)
	}
	d.removeMessage(i)
	return nil
}

// isSummary reports whether the message is the summary of a finished or unfinished compaction.
func isSummary(m *record.Message) bool {
	return m.Role == change.RoleAssistant && m.JSON.Get("summary").Truthy()
}

// replaces reports whether the message replaces earlier ones in requests. The summary of a failed compaction does so
// only with OpenCode 1.1.
func (c *simulation) replaces(m *record.Message) bool {
	return isSummary(m) && m.Finish != "" && (!m.Failed || c.settings[own].profile.Tree())
}

// findOpenSummaries finds summaries of compactions that have no end time. OpenCode 1 does not need the time; the import
// of OpenCode 2 drops such a compaction (docs/opencode.md).
func findOpenSummaries(c *simulation) (fs []finding) {
	for i := range c.s.Messages {
		m := &c.s.Messages[i]
		if isSummary(m) && m.Completed == 0 && m.Finish != "" && !m.Failed && !m.IsMalformed() &&
			!c.settings[own].profile.Tree() {
			const why = "The summary of a compaction has no end. OpenCode 2 would not import the compaction, and would send " +
				"all that it replaced again."
			fs = append(fs, finding{Ref: m.Ref, Tier: repair.Ask, Text: why})
		}
	}
	return fs
}

func fixOpenSummary(c *simulation, f finding) []repair.Fix {
	g, ok := c.contextOf(f.Ref)
	if !ok {
		return nil
	}
	data, err := g.markFinished(g.m.Data)
	if err != nil {
		return nil
	}
	return []repair.Fix{g.replaceMessage(withData(g.m.Record, data), "The summary ends when its last part does.", "")}
}

// findRefusedCompaction finds a pending compaction that the provider has refused at least twice in a row. OpenCode
// repeats it before each prompt, and answers none until it succeeds (docs/opencode.md F18).
func findRefusedCompaction(c *simulation) []finding {
	for i, refused := len(c.s.Messages)-1, 0; i >= 0; i-- {
		m := &c.s.Messages[i]
		switch {
		case m.Role == change.RoleUser && compactionPart(m) != nil:
			if refused < 2 || c.render(c.settings[own]).Next == nil {
				return nil
			}
			newest := c.s.Messages[len(c.s.Messages)-1].JSON.Get("error").Get("data").TextAt("message")
			return []finding{{Ref: m.Ref, Tier: repair.Ask, Short: "refused compaction", Text: fmt.Sprintf(
				"OpenCode repeats a compaction before each prompt, and answers none until it succeeds. The provider has "+
					"refused it %d times: %.200s", refused, newest)}}
		case m.Role == change.RoleUser:
		case !isSummary(m) || !isRefused(m):
			return nil
		default:
			refused++
		}
	}
	return nil
}

// isRefused reports whether the provider refused the request of the answer as such, rather than its time or its key.
func isRefused(m *record.Message) bool {
	status := m.JSON.Get("error").Get("data").Get("statusCode").Number()
	return isOverflow(m) || status == 400 || status == 413 || status == 422
}

func isOverflow(m *record.Message) bool {
	return m.JSON.Get("error").TextAt("name") == "ContextOverflowError"
}

func fixRefusedCompaction(c *simulation, f finding) []repair.Fix {
	if isOverflow(&c.s.Messages[len(c.s.Messages)-1]) { // the next prompt would be too long, too
		return nil
	}
	return []repair.Fix{{
		Text: "The session no longer asks for the compaction, so OpenCode answers the next prompt.",
		Edit: draftEdit(func(d *draft) error { return d.removeRequest(d.index.indexOf(f.Ref)) }),
	}}
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
