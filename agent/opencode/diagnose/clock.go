package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"mend/session"
)

// clockFixes cure a session that older versions of the agent take for answered
// whatever the user types: its answers have ids from before the clock of ids
// started anew, which sort behind those of today (docs/opencode.md F3).
// Messages up to the last such one get ids that sort before all that follow, and
// if that is not enough, all messages do.
func clockFixes(s *session.Session, f fault) []fix {
	i := slices.IndexFunc(s.Messages, func(m session.Message) bool { return m.Ref.Message == f.Ref.Message })
	if i < 0 {
		return nil
	}
	return renumberings(max(beforeStart(s, i), outOfOrder(s)), len(s.Messages))
}

// orderFixes cure messages whose ids sort in another way than their times, as the
// clock's start leaves them; there are none where all is in order.
func orderFixes(s *session.Session) []fix {
	if n := outOfOrder(s); n > 0 {
		return renumberings(n, len(s.Messages))
	}
	return nil
}

// renumberings are fixes that give other ids to the first messages, for each
// number of them.
func renumberings(numbers ...int) []fix {
	var fixes []fix
	for _, n := range numbers {
		fixes = append(fixes, fix{
			cure:  "The messages from before the clock of ids started anew get ids that sort before today's, and so do their parts: the order stays, and all that refers to them follows.",
			whole: true,
			edit:  func(d *draft) error { return renumber(d.s, n) },
		})
	}
	return fixes
}

// beforeStart is how many messages come before the clock's last start, or among
// such ones, where at is one of them: all, if that start was after the newest
// record.
func beforeStart(s *session.Session, at int) int {
	limit := session.ClockID(session.KindMessage, s.LatestTime()+1)
	if s.Messages[at].ID < limit {
		return len(s.Messages)
	}
	for i := range slices.Backward(s.Messages) {
		if s.Messages[i].ID >= limit {
			return i + 1
		}
	}
	return 0
}

// outOfOrder is how many messages there are up to the last whose id sorts behind
// that of a later one.
func outOfOrder(s *session.Session) int {
	lowest := ""
	for i := range slices.Backward(s.Messages) {
		id := s.Messages[i].ID
		if lowest != "" && id > lowest {
			return i + 1
		}
		lowest = id
	}
	return 0
}

// renumber gives the first n messages of the session and their parts ids that
// keep their order and sort before those of all other messages.
func renumber(s *session.Session, n int) error {
	ids := map[string]string{}
	highest, parts := "", 0
	for i := range s.Messages[:n] {
		m := &s.Messages[i]
		highest = session.Renumber(session.KindMessage, m.ID, i+1)
		ids[m.Ref.Message] = highest
		for _, p := range inOrderOfTime(m) {
			parts++
			id := session.Renumber(session.KindPart, p.ID, parts)
			ids[p.Ref.Part] = id
		}
	}
	inside := func(id, stored string) { // of a copy it is that of another record
		if _, ok := ids[id]; !ok {
			ids[id] = ids[stored]
		}
	}
	for i := range s.Messages[:n] {
		m := &s.Messages[i]
		inside(m.ID, m.Ref.Message)
		for j := range m.Parts {
			inside(m.Parts[j].ID, m.Parts[j].Ref.Part)
		}
	}
	for _, m := range s.Messages[n:] {
		if m.ID <= highest {
			return fmt.Errorf("no ids for %d messages sort before %s", n, m.Ref)
		}
	}
	return s.Rename(ids)
}

// inOrderOfTime is the parts of a message in the order in which they were made.
// It is that of their ids, unless the clock started anew meanwhile.
func inOrderOfTime(m *session.Message) []session.Part {
	parts := slices.Clone(m.Parts)
	last := m.LatestTime()
	if session.ClockWraps(m.Created) == session.ClockWraps(last) {
		return parts
	}
	turn := func(p session.Part) int {
		if session.MadeSince(p.ID, last) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(parts, func(a, b session.Part) int { return cmp.Compare(turn(a), turn(b)) })
	return parts
}
