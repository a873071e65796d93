package session

import (
	"bytes"
	"slices"
)

// A Member is a member of an object that is to be written.
type Member struct {
	Name string
	Raw  []byte // one JSON value
}

// Anew is the record under its own ids, mode and columns with another content:
// an object of the members, behind the ids where it is a file. White space is
// that of a neighbour: a part of the same message, else a record of that kind,
// else any that can be read.
func (s *Session) Anew(r Record, members ...Member) Record {
	var fields []field
	if r.Cols == nil {
		fields = ownIDs(r.Ref)
	}
	for _, m := range members {
		fields = append(fields, field{m.Name, m.Raw})
	}
	r.Data, r.Class, r.Defect = writeObject(fields, s.legibleLike(&r)), 0, nil
	return r
}

// Salvage is the record under its own ids with what [Salvage] reads of its data,
// which for a row whose data column is neither text nor a blob is nothing.
func (s *Session) Salvage(r Record) (Record, Salvaged) {
	var v Salvaged
	if r.Class == 0 || r.Class == ClassBlob {
		v = Salvage(r.Data)
	}
	obj, err := parseObject(v.Data)
	if err != nil || len(obj) == 0 && !v.Whole {
		return s.Anew(r), Salvaged{}
	}
	r.Data, r.Class, r.Defect = v.Data, 0, nil
	if r.Cols != nil {
		return r, v
	}
	for _, id := range ownIDs(r.Ref) {
		if slices.Equal(v.Cut, []string{id.name}) {
			v.Cut = []string{} // it is known all the same
		}
		if raw, _ := Field(r.Data, id.name); bytes.Equal(raw, id.raw) {
			continue
		}
		if r.Data, err = SetField(r.Data, id.raw, id.name); err != nil {
			return s.Anew(r), Salvaged{}
		}
	}
	v.Data = r.Data
	return r, v
}

// ownIDs are the ids that stand in a file, in the agent's order.
func ownIDs(r Ref) []field {
	ids := []field{{"id", Quote(r.ID())}}
	if r.Kind != KindSession {
		ids = append(ids, field{"sessionID", Quote(r.Session)})
	}
	if r.Kind == KindPart {
		ids = append(ids, field{"messageID", Quote(r.Message)})
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
