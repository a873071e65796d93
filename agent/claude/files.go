package claude

import (
	"fmt"
	"io/fs"
	"strings"

	"mend/change"
)

// Path implements [fsstore.Layout]. A file is named by its path below the folder of its session, which
// is beside the transcript; a folder by its path below that of the project.
func (l *layout) Path(ref change.Ref) (string, change.Ref, error) {
	if ref.Kind == change.KindSession {
		at, _, err := l.Locate(ref)
		return at, ref, err
	}
	if ref.Project == "" || ref.Kind != change.KindFile && ref.Kind != change.KindFolder {
		return "", ref, fmt.Errorf("%v %s: no file of a session", ref.Kind, ref)
	}
	if err := ref.Validate(); err != nil {
		return "", ref, err
	}
	folder, err := l.folder(ref.Project)
	if err != nil {
		return "", ref, err
	}
	below := ref.Part
	if ref.Kind == change.KindFile {
		below = ref.Session + "/" + ref.Part
	}
	if below != "" && !fs.ValidPath(below) || ref.Kind == change.KindFile && ref.Part == "" {
		return "", ref, fmt.Errorf("%v %s: no path below a session", ref.Kind, ref)
	}
	return strings.TrimSuffix(projects+"/"+folder+"/"+below, "/"), ref, nil
}

// Folder implements [fsstore.Layout].
func (l *layout) Folder(ref change.Ref, n int) (change.Ref, bool) {
	at, _, err := l.Path(ref)
	names := strings.Split(at, "/")
	if err != nil || n < 2 || n >= len(names) {
		return change.Ref{}, false
	}
	session := ref.Session
	if owner, _, ok := subagent(session); ok && owner != "" {
		session = owner
	}
	return change.Ref{Kind: change.KindFolder, Project: ref.Project, Session: session, Part: strings.Join(names[2:n], "/")}, true
}
