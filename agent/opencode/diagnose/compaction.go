package diagnose

import (
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
	m := &d.s.Messages[newest]
	for _, i := range summaries[m.ID] {
		d.removeMessage(i)
	}
	if len(m.Parts) == 1 {
		d.removeMessage(newest)
	} else {
		err = d.remove(compactionPart(m).Ref)
	}
	d.arrange()
	return earlier, err
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

// compactionPart returns the part that makes the message a compaction, or nil.
func compactionPart(m *record.Message) *record.Part {
	for i := range m.Parts {
		if m.Parts[i].Type == "compaction" {
			return &m.Parts[i]
		}
	}
	return nil
}
