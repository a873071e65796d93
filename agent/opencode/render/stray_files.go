package render

import (
	"path"
	"slices"
	"strings"

	"mend/agent/opencode/record"
	"mend/session"
)

// WithFiles returns the session as versions that store trees of files read it: each of its
// Files for which keep returns true is a further part or message, under the file's own Ref.
// A nil keep keeps all. A file that leads such a version to a path where nothing exists
// becomes a record that it cannot read.
func WithFiles(s *record.Session, keep func(*record.File) bool) *record.Session {
	read := s.Clone()
	read.Files = nil
	if len(s.Files) == 0 {
		return read
	}
	records := map[session.Ref]*session.Record{}
	for r := range s.Records {
		records[r.Ref] = r
	}
	for i := range s.Files {
		records[s.Files[i].Ref] = &s.Files[i].Record
	}
	at := make(map[string]int, len(s.Messages))
	for i := range s.Messages {
		at[s.Messages[i].Ref.Message] = i
	}
	for i := range s.Files {
		f := &s.Files[i]
		if f.Opens == "" || keep != nil && !keep(f) {
			continue
		}
		r := session.Record{Ref: f.Ref, Defect: &session.Defect{Kind: session.Malformed, Why: "the file does not exist"}}
		if read := records[f.Reads]; read != nil {
			r.Data, r.Defect = read.Data, read.Defect
		}
		if f.Ref.Message == "" && r.Defect == nil && !strings.HasPrefix(path.Base(f.Opens), record.MessagePrefix) {
			r.Data, r.Defect = nil, &session.Defect{Kind: session.Malformed, Why: "its name does not begin with " + record.MessagePrefix}
		}
		if f.Ref.Message == "" {
			m := record.NewMessage(r)
			if j, ok := at[f.Reads.Message]; ok && f.Reads.Kind == session.KindMessage {
				m.Parts = slices.Clone(s.Messages[j].Parts)
			}
			read.Messages = append(read.Messages, m)
		} else if j, ok := at[f.Ref.Message]; ok {
			read.Messages[j].Parts = append(read.Messages[j].Parts, record.NewPart(r))
		}
	}
	read.Sort()
	return read
}
