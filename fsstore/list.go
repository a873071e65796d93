package fsstore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"mend/session"
)

// List returns the sessions of the store without their messages: those that have
// a record, and those that only have messages. What stands where a session
// should be and is none is in the Stray of one more Session, the last one, whose
// ID is empty; Load takes that, too.
//
// The error says that the tree as a whole cannot be read, or that ctx ended.
func (s *Store) List(ctx context.Context) ([]session.Session, error) {
	v, err := s.view(ctx)
	if err != nil {
		return nil, err
	}
	defer v.close()
	known := map[string]bool{}
	heads := v.recorded(known)
	heads = append(heads, v.unrecorded(known)...)
	v.filesInTheWay()
	v.filesAmongProjects()
	if v.failed() {
		return nil, fmt.Errorf("listing sessions: %w", v.err)
	}
	slices.SortFunc(v.stray, func(a, b session.Stray) int { return cmp.Compare(a.Path, b.Path) })
	if v.stray = slices.Compact(v.stray); len(v.stray) > 0 { // two patterns may lead to one folder
		heads = append(heads, session.Session{Stray: v.stray})
	}
	return heads, nil
}

// recorded lists the sessions that have a record.
func (v *view) recorded(known map[string]bool) []session.Session {
	p, ok := v.layout.pattern(session.KindSession, true)
	if !ok {
		return nil
	}
	var heads []session.Session
	for _, at := range v.expand(p.names[:len(p.names)-1], session.Ref{}, nil) {
		d := v.open(at.path(), "")
		if d == nil {
			if name := at.names[len(at.names)-1]; !strings.Contains(name, ".") { // else it is none of a project
				v.fileInTheWay(at.path())
			}
			continue
		}
		v.records(d, "", func(_, id string) {
			ref := session.Ref{Kind: session.KindSession, Project: at.ref.Project, Session: id}
			if r, ok := v.read(d, ref); ok {
				heads = append(heads, headOf(r))
				known[id] = true
			}
		})
		d.Close()
	}
	return heads
}

// unrecorded lists the sessions that only have messages.
func (v *view) unrecorded(known map[string]bool) []session.Session {
	var heads []session.Session
	for _, p := range v.layout.patterns {
		if p.kind != session.KindMessage {
			continue
		}
		// A folder that is a session's own is no project with sessions in it.
		for _, at := range v.expand(p.names[:len(p.names)-1], session.Ref{}, known) {
			before := len(v.stray)
			if !v.holdsRecords(at) && len(v.stray) == before {
				continue
			}
			known[at.ref.Session] = true
			heads = append(heads, session.Session{ID: at.ref.Session, Project: at.ref.Project})
			v.stray = v.stray[:before] // Load tells of them again
		}
	}
	return heads
}

func (v *view) holdsRecords(at spot) bool {
	if v.failed() {
		return false
	}
	d := v.open(at.path(), "")
	if d == nil {
		return false
	}
	defer d.Close()
	found := false
	v.records(d, "", func(string, string) { found = true })
	return found
}

// headOf decodes the record of a session. It never fails: what cannot be read is
// told in the record's Defect.
func headOf(r session.Record) session.Session {
	s := session.Session{ID: r.Ref.Session, Project: r.Ref.Project, Info: r}
	if r.Unreadable() {
		return s
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(bytes.TrimPrefix(r.Data, []byte("\ufeff")), &members); err != nil || members == nil {
		s.Info.Defect = &session.Defect{Kind: session.Malformed, Why: malformed(r.Data, err)}
		return s
	}
	id := member[string](members, "id")
	s.Directory = member[string](members, "directory")
	s.Title = member[string](members, "title")
	s.Version = member[string](members, "version")
	if p := member[string](members, "projectID"); p != "" {
		s.Project = p
	}
	times := member[map[string]json.RawMessage](members, "time")
	s.Created, s.Updated = millis(times, "created"), millis(times, "updated")
	if id != "" && id != s.ID { // the agent does without it
		s.Info.Defect = &session.Defect{Kind: session.WrongName, Why: "the id inside is " + id}
	}
	return s
}

func malformed(data []byte, err error) string {
	switch {
	case len(data) == 0:
		return "empty, zero bytes"
	case err == nil:
		return "not a JSON object"
	}
	return "not a JSON object: " + err.Error()
}

// member is the value of that name, the zero value if it has another type.
func member[T any](members map[string]json.RawMessage, name string) T {
	var v, zero T
	if json.Unmarshal(members[name], &v) != nil {
		return zero
	}
	return v
}

// millis is a time that the agent could have written, else 0.
func millis(members map[string]json.RawMessage, name string) int64 {
	if f := member[float64](members, name); f > 0 && f <= 1<<53 {
		return int64(f)
	}
	return 0
}
