package render

import (
	"cmp"
	"slices"

	"mend/agent/opencode/record"
)

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
