package fsstore

import (
	"fmt"
	"path"
	"strings"

	"mend/change"
)

// Paths is a [Layout] of plain paths: each file is a record, named by its path below the root. The value of Paths is
// the session of every ref and plan, which the journal records.
type Paths string

// Ref returns the ref of the file at a slash-separated path below the root. [change.Ref.Validate] refuses a path that
// leads out of the root or has a hidden element.
func (s Paths) Ref(path string) change.Ref {
	return change.Ref{Kind: change.KindFile, Session: string(s), Part: path}
}

// Path implements [Layout].
func (s Paths) Path(ref change.Ref) (string, change.Ref, error) {
	plain := s.Ref(ref.Part)
	if ref.Kind == change.KindFolder {
		plain.Kind = change.KindFolder
	}
	file := s.Ref(ref.Part)
	if err := file.Validate(); err != nil || ref != plain || ref.Part == "" {
		return "", ref, fmt.Errorf("%v %s is not a path of %s", ref.Kind, ref, string(s))
	}
	return path.Clean(ref.Part), ref, nil
}

// Folder implements [Layout].
func (s Paths) Folder(ref change.Ref, n int) (change.Ref, bool) {
	names := strings.Split(ref.Part, "/")
	folder := s.Ref(strings.Join(names[:n], "/"))
	folder.Kind = change.KindFolder
	return folder, true
}
