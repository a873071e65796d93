package render

import (
	"cmp"
	"math"
	"slices"

	"mend/agent/opencode/record"
	"mend/change"
)

// keptMessages returns the messages that the agent uses for a request: all, or those since the last finished
// compaction. reached is the number of messages that it reads, newest first, to find them.
func keptMessages(all []*message, p Profile) (kept []*message, reached int) {
	compacted := map[string]bool{} // prompts whose compaction is finished
	tail := ""                     // the first message that the compaction kept
	for _, m := range slices.Backward(all) {
		reached++
		end := false
		switch {
		case tail != "":
			end = m.ID == tail
		case m.Role == change.RoleUser && compacted[m.ID] && m.compaction != nil:
			tail = m.tailID(p)
			end = tail == "" || tail == m.ID
		case m.isSummary(p):
			compacted[m.JSON.TextAt("parentID")] = true
		}
		if end {
			break
		}
	}
	kept = all[len(all)-reached:]
	if p.isSince(v115) {
		kept = moveTailLast(kept)
	}
	return kept, reached
}

// isSummary reports whether the message is the summary of a finished compaction.
func (m *message) isSummary(p Profile) bool {
	return m.Role == change.RoleAssistant && m.summary && m.finished &&
		(!p.isSince(v12) || !m.Failed)
}

// tailID returns the id of the first message that the message's compaction kept, or "".
func (m *message) tailID(p Profile) string {
	if !p.isSince(v115) {
		return ""
	}
	return m.compaction.JSON.TextAt("tail_start_id")
}

// moveTailLast moves the messages that the newest compaction kept after the summary. The
// order is then: compaction, summary, kept messages, later messages.
func moveTailLast(all []*message) []*message {
	at, tail := -1, ""
	for i, m := range slices.Backward(all) {
		j := slices.IndexFunc(m.parts, func(p *record.Part) bool {
			return p.Type == "compaction" &&
				p.JSON.Get("tail_start_id").Exists()
		})
		if m.Role == change.RoleUser && j >= 0 {
			at = i
			tail = m.parts[j].JSON.TextAt("tail_start_id")
			break
		}
	}
	if tail == "" {
		return all
	}
	summary := slices.IndexFunc(all, func(m *message) bool {
		return m.Role == change.RoleAssistant && m.summary && m.JSON.TextAt("parentID") == all[at].ID
	})
	start := slices.IndexFunc(all, func(m *message) bool { return m.ID == tail })
	if start < 0 || start >= at || summary <= at {
		return all
	}
	return slices.Concat(all[at:summary+1], all[start:at], all[summary+1:])
}

// A newest has the newest message of each kind, in the profile's order. The agent uses them to decide what to do next.
type newest struct {
	user, assistant *message
	finished        *message // the newest assistant message that is finished
}

func newestOf(all []*message, p Profile) newest {
	var l newest
	for _, m := range all {
		newer := func(than *message) bool { return than == nil || p.newer(m, than) }
		if (m.isPrompt || m.Role == change.RoleUser) && newer(l.user) {
			l.user = m
		}
		if m.Role != change.RoleAssistant {
			continue
		}
		if newer(l.assistant) {
			l.assistant = m
		}
		if m.finished && newer(l.finished) {
			l.finished = m
		}
	}
	return l
}

// newer reports whether the agent considers a newer than b.
func (p Profile) newer(a, b *message) bool {
	if p.isSince(v11815) && a.created != b.created && !(math.IsNaN(a.created) && math.IsNaN(b.created)) {
		return a.created > b.created
	}
	if p.isSince(v115) {
		return a.ID > b.ID
	}
	return p.compare(a, b) >= 0
}

// isAnswered reports whether the agent considers its newest prompt answered. If so, it sends no
// request.
func (l newest) isAnswered(p Profile) bool {
	if l.user == nil || l.assistant == nil || !l.assistant.endsTurn() {
		return false
	}
	if p.isSince(v115) && l.assistant.hasPart(record.TypeTool) {
		return false
	}
	if !p.isSince(v11815) {
		return l.assistant.ID > l.user.ID
	}
	return l.assistant.JSON.TextAt("parentID") == l.user.ID
}

// answeredReason returns why the agent considers its newest prompt answered. The text does not
// contain the time and the id of the new prompt, which differ in every run.
func (l newest) answeredReason() string {
	if !l.user.isPrompt {
		return "the prompt " + l.user.ID + ", which it answered, sorts after every new prompt, so new prompts are never " +
			"answered"
	}
	return "its id " + l.assistant.ID + " is higher than that of a new prompt, so the prompt counts as answered"
}

// endsTurn reports whether the model ended the turn with this message.
func (m *message) endsTurn() bool {
	return m.finished && m.Finish != "tool-calls" && m.Finish != "unknown"
}

// hasPendingCompaction reports whether a message since the newest finished assistant message requests a compaction.
func (l newest) hasPendingCompaction(all []*message, p Profile) bool {
	return slices.ContainsFunc(all, func(m *message) bool {
		return m.compaction != nil && m != l.finished && (l.finished == nil || p.newer(m, l.finished))
	})
}

// missingTokens returns the missing field of the token counts, or "". The agent adds the counts to
// decide whether the conversation is too long.
func (l newest) missingTokens(p Profile) (missing string) {
	if l.finished == nil || l.finished.JSON.Get("summary").Kind() == 't' {
		return ""
	}
	tokens := l.finished.JSON.Get("tokens")
	switch {
	case tokens.Nullish():
		return "tokens"
	case p.isSince(v12) && tokens.Get("total").Truthy():
		return ""
	case tokens.Get("cache").Nullish():
		return "tokens.cache"
	}
	return ""
}

// applyRevert returns the messages that are left once the next prompt makes the session's revert
// final. reverted reports whether the session has a revert.
func applyRevert(s *record.Session, all []*message, p Profile) (left []*message, reverted bool) {
	v, _ := s.Field("revert")
	if !v.Truthy() {
		return all, false
	}
	id := v.TextAt("messageID")
	part, keep := v.Get("partID").Text()
	keep = keep && part != "" && p.isSince(v12)
	if p.isSince(v12) && !p.isSince(v117) {
		for _, m := range all {
			switch c := cmp.Compare(m.ID, id); {
			case c < 0:
				left = append(left, m)
			case c == 0 && keep:
				left = append(left, m.partsBefore(part))
			}
		}
		return left, true
	}
	i := slices.IndexFunc(all, func(m *message) bool { return m.ID == id })
	if i < 0 {
		return all, true
	}
	left = all[:i:i]
	if keep {
		left = append(left, all[i].partsBefore(part))
	}
	return left, true
}

// partsBefore returns the message with the parts before the part with the id, or with all parts if
// that part does not exist.
func (m *message) partsBefore(id string) *message {
	left := *m
	if i := slices.IndexFunc(m.parts, func(p *record.Part) bool { return p.ID == id }); i >= 0 {
		left.parts = m.parts[:i]
		left.setCompaction()
	}
	return &left
}
