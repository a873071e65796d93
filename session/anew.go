package session

import (
	"bytes"
	"slices"

	"mend/jsonedit"
)

// Anew is the record under its own ids, mode and columns with another content:
// an object of the members, behind the ids where it is a file. White space is
// that of a neighbour: a part of the same message, else a record of that kind,
// else any that can be read.
func (s *Session) Anew(r Record, members ...jsonedit.Member) Record {
	if r.Cols == nil {
		members = append(ownIDs(r.Ref), members...)
	}
	r.Data, r.Class, r.Defect = styleOf(s.legibleLike(&r)).Object(members...), 0, nil
	return r
}

// Salvage is the record under its own ids with what [jsonedit.ParsePartial] reads of its data,
// which for a row whose data column is neither text nor a blob is nothing.
func (s *Session) Salvage(r Record) (Record, jsonedit.Partial) {
	var v jsonedit.Partial
	if r.Class == 0 || r.Class == ClassBlob {
		v = jsonedit.ParsePartial(r.Data)
	}
	if v.Data == nil || !hasMembers(v.Data) && !v.Complete {
		return s.Anew(r), jsonedit.Partial{}
	}
	r.Data, r.Class, r.Defect = v.Data, 0, nil
	if r.Cols != nil {
		return r, v
	}
	var err error
	for _, id := range ownIDs(r.Ref) {
		if slices.Equal(v.Cut, []string{id.Name}) {
			v.Cut = []string{} // it is known all the same
		}
		if raw, _ := jsonedit.Get(r.Data, id.Name); bytes.Equal(raw, id.Raw) {
			continue
		}
		if r.Data, err = jsonedit.Set(r.Data, id.Raw, id.Name); err != nil {
			return s.Anew(r), jsonedit.Partial{}
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

// ownIDs are the ids that stand in a file, in the agent's order.
func ownIDs(r Ref) []jsonedit.Member {
	ids := []jsonedit.Member{textMember("id", r.ID())}
	if r.Kind != KindSession {
		ids = append(ids, textMember("sessionID", r.Session))
	}
	if r.Kind == KindPart {
		ids = append(ids, textMember("messageID", r.Message))
	}
	return ids
}

// legibleLike is the record that can be read and is most like r, r itself if
// there is none.
func (s *Session) legibleLike(r *Record) *Record {
	for i := range s.Messages {
		m := &s.Messages[i]
		if r.Ref.Kind != KindPart || m.Ref.Message != r.Ref.Message {
			continue
		}
		for j := range m.Parts {
			if p := &m.Parts[j].Record; !p.Malformed() && p.Ref != r.Ref {
				return p
			}
		}
	}
	best := r
	for other := range s.Records {
		switch {
		case other.Malformed() || other.Ref == r.Ref:
		case other.Ref.Kind == r.Ref.Kind:
			return other
		case best == r:
			best = other
		}
	}
	return best
}
