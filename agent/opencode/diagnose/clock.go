package diagnose

import (
	"cmp"
	"fmt"
	"slices"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/repair"
)

// clockFixes returns the fixes of a session in which older versions of OpenCode take
// every prompt for answered: its answers have ids from before the id clock wrapped,
// which sort after new ones (docs/opencode.md F3). The messages up to the last such
// answer get ids that sort before all others; if that is not enough, all messages get
// new ids.
func clockFixes(s *record.Session, f finding) []repair.Fix {
	if s.Message(f.Ref.Message) == nil {
		return nil
	}
	return renumberings(s, func(s *record.Session) int {
		i := slices.IndexFunc(s.Messages, func(m record.Message) bool { return m.Ref.Message == f.Ref.Message })
		if i < 0 {
			return outOfOrder(s)
		}
		return max(beforeStart(s, i), outOfOrder(s))
	})
}

// orderFixes returns the fixes of messages whose ids and times have different orders,
// as they have after the id clock wrapped.
func orderFixes(s *record.Session) []repair.Fix {
	if outOfOrder(s) > 0 {
		return renumberings(s, outOfOrder)
	}
	return nil
}

// renumberings returns fixes that give new ids to the first messages, as many as count
// returns, or to all. A damaged record cannot get another id, even if the version in
// use reads it: the last two fixes salvage such records first.
func renumberings(s *record.Session, count func(*record.Session) int) (fixes []repair.Fix) {
	const text = "Messages from before 2026-08-14, and what is in them, get ids that sort before today's. Their order stays, and all references are updated."
	all := func(s *record.Session) int { return len(s.Messages) }
	for _, n := range []func(*record.Session) int{count, all} {
		fixes = append(fixes, repair.Fix{Text: text, Whole: true, Edit: draftEdit(func(d *draft) error { return renumber(d.s, n(d.s)) })})
	}
	if len(malformed(s, change.KindMessage))+len(malformed(s, change.KindPart)) == 0 {
		return fixes
	}
	for _, x := range fixes {
		fixes = append(fixes, repair.Fix{
			Text:  "What is damaged is rebuilt from what can be read. " + text,
			Loses: "What cannot be read.",
			Whole: true,
			Edit: draftEdit(func(d *draft) error {
				for _, kind := range []change.Kind{change.KindMessage, change.KindPart} {
					d.salvage(malformed(d.s, kind))
				}
				return x.Edit(d)
			}),
		})
	}
	return fixes
}

// malformed returns the refs of the damaged records of a kind.
func malformed(s *record.Session, kind change.Kind) (refs []change.Ref) {
	for r := range s.Records {
		if r.Ref.Kind == kind && r.Malformed() {
			refs = append(refs, r.Ref)
		}
	}
	return refs
}

// salvage rebuilds damaged records. Each is rebuilt by the first of its fixes that can
// be applied.
func (d *draft) salvage(refs []change.Ref) {
	k := &facts{s: d.s}
	for _, ref := range refs {
		for _, x := range k.recordFixes(finding{Ref: ref}) {
			if x.Edit(d) == nil {
				break
			}
		}
	}
	d.arrange()
}

// beforeStart returns the number of messages up to the last with an id from before the
// newest wrap of the id clock. If message at has an id from after that wrap, it returns
// the number of all messages.
func beforeStart(s *record.Session, at int) int {
	limit := record.ClockID(change.KindMessage, s.LatestTime()+1)
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

// outOfOrder returns the number of messages up to the last whose id sorts after that of
// a later message.
func outOfOrder(s *record.Session) int {
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

// renumber gives the first n messages and their parts ids that keep their order and
// sort before those of all other messages.
func renumber(s *record.Session, n int) error {
	ids := map[string]string{}
	highest, parts := "", 0
	for i := range s.Messages[:n] {
		m := &s.Messages[i]
		highest = record.Renumber(change.KindMessage, m.ID, i+1)
		ids[m.Ref.Message] = highest
		for _, p := range inOrderOfTime(m) {
			parts++
			id := record.Renumber(change.KindPart, p.ID, parts)
			ids[p.Ref.Part] = id
		}
	}
	inside := func(id, stored string) { // in a copy, id is that of another record
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

// inOrderOfTime returns the parts of a message in the order in which they were created:
// that of their ids, unless the id clock wrapped in between.
func inOrderOfTime(m *record.Message) []record.Part {
	parts := slices.Clone(m.Parts)
	last := m.LatestTime()
	if record.ClockWraps(m.Created) == record.ClockWraps(last) {
		return parts
	}
	turn := func(p record.Part) int {
		if record.MadeSince(p.ID, last) {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(parts, func(a, b record.Part) int { return cmp.Compare(turn(a), turn(b)) })
	return parts
}
