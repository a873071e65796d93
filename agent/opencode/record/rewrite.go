package record

import (
	"bytes"
	"slices"

	"mend/change"
	"mend/internal/jsonedit"
)

// Rewrite returns r with other data: an object of the members, after the record's own ids
// if it is a file. Ids, mode and columns stay. The white space is that of a readable
// record: a part of the same message, else a record of the same kind, else any other.
func (s *Session) Rewrite(r change.Record, members ...jsonedit.Member) change.Record {
	if !r.IsRow() {
		members = append(ownIDs(r.Ref), members...)
	}
	like := s.readableLike(r.Ref)
	if like == nil {
		like = &r
	}
	r.Data, r.Class, r.Defect = styleOf(like).Object(members...), 0, nil
	return r
}

// Salvage returns r with what [jsonedit.ParsePartial] reads of its data, under its own ids,
// and what was read. If that is nothing, or if the data column of a row is neither text nor
// a blob, the record has no members but its ids.
func (s *Session) Salvage(r change.Record) (change.Record, jsonedit.Partial) {
	var v jsonedit.Partial
	if r.Class == 0 || r.Class == change.ClassBlob {
		v = jsonedit.ParsePartial(r.Data)
	}
	if v.Data == nil || !hasMembers(v.Data) && !v.Complete {
		return s.Rewrite(r), jsonedit.Partial{}
	}
	r.Data, r.Class, r.Defect = v.Data, 0, nil
	if r.IsRow() {
		return r, v
	}
	var err error
	for _, id := range ownIDs(r.Ref) {
		if slices.Equal(v.Cut, []string{id.Name}) {
			v.Cut = []string{} // the record's ref has it
		}
		if raw, _ := jsonedit.Get(r.Data, id.Name); bytes.Equal(raw, id.Raw) {
			continue
		}
		if r.Data, err = jsonedit.Set(r.Data, id.Raw, id.Name); err != nil {
			return s.Rewrite(r), jsonedit.Partial{}
		}
	}
	v.Data = r.Data
	return r, v
}

func hasMembers(data []byte) bool {
	for range jsonedit.Parse(data).Children() {
		return true
	}
	return false
}

// ownIDs returns the ids in a file of the record, in the agent's order.
func ownIDs(r change.Ref) []jsonedit.Member {
	ids := []jsonedit.Member{textMember("id", r.ID())}
	if r.Kind != change.KindSession {
		ids = append(ids, textMember("sessionID", r.Session))
	}
	if r.Kind == change.KindPart {
		ids = append(ids, textMember("messageID", r.Message))
	}
	return ids
}

// readableLike returns the readable record that is most like one with that ref: a part of
// the same message, else a record of the same kind, else any other; nil if there is none.
func (s *Session) readableLike(ref change.Ref) (best *change.Record) {
	for i := range s.Messages {
		if ref.Kind != change.KindPart {
			break
		}
		m := &s.Messages[i]
		if m.Ref.Message != ref.Message {
			continue
		}
		for j := range m.Parts {
			if p := &m.Parts[j].Record; !p.Malformed() && p.Ref != ref {
				return p
			}
		}
	}
	for r := range s.Records {
		switch {
		case r.Malformed() || r.Ref == ref:
		case r.Ref.Kind == ref.Kind:
			return r
		case best == nil:
			best = r
		}
	}
	return best
}
