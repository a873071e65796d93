package record

import (
	"bytes"
	"slices"

	"mend/change"
	"mend/internal/jsonedit"
)

// Rewrite returns r with other data: an object with these members. In a file, the record's own ids come first. Ids,
// mode and columns stay.
func Rewrite(r change.Record, members ...jsonedit.Member) change.Record {
	if !r.IsRow() {
		members = append(ownIDs(r.Ref), members...)
	}
	r.Data, r.Class, r.Defect = jsonedit.Object(members...), 0, nil
	return r
}

// Salvage returns r with its own ids and the data that [jsonedit.ParsePartial] can read, and that data itself. If
// nothing can be read, or if the data column of a row is neither text nor a blob, the record has only its ids.
func Salvage(r change.Record) (change.Record, jsonedit.Partial) {
	var v jsonedit.Partial
	if r.Class == 0 || r.Class == change.ClassBlob {
		v = jsonedit.ParsePartial(r.Data)
	}
	if v.Data == nil || !hasMembers(v.Data) && !v.Complete {
		return Rewrite(r), jsonedit.Partial{}
	}
	r.Data, r.Class, r.Defect = v.Data, 0, nil
	if r.IsRow() {
		return r, v
	}
	var err error
	for _, id := range ownIDs(r.Ref) {
		if slices.Equal(v.Cut, []string{id.Name}) {
			v.Cut = []string{} // only an id was cut off, and the record's ref has it
		}
		if raw, _ := jsonedit.Get(r.Data, id.Name); bytes.Equal(raw, id.Raw) {
			continue
		}
		if r.Data, err = jsonedit.Set(r.Data, id.Raw, id.Name); err != nil {
			return Rewrite(r), jsonedit.Partial{}
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

// ownIDs returns the ids in a record's file, in the agent's order.
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
