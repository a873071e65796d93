package fsstore

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mend/session"
)

// A folder needs a ref of its own, since a new record may need a new folder and
// undo takes that away too. The folder that holds a message's parts, or a
// session's messages, is named by those ids alone. Any other on the way there
// has in Part which one is meant: the kind of record, a dot, and the number of
// names down to it. So "part.1" is the folder of all parts in layout opencode.

// folderRef is the ref of the folder that is the first n names of the path of
// the record of.
func (l *layout) folderRef(of session.Ref, n int) session.Ref {
	if of.Kind == session.KindFile {
		of.Kind = recordsBeside(of)
	}
	p, _ := l.pattern(of.Kind, of.Project != "")
	r := session.Ref{Kind: session.KindFolder, Session: of.Session}
	for _, name := range p.names[:n] {
		switch name {
		case "{project}":
			r.Project = of.Project
		case "{message}":
			r.Message = of.Message
		}
	}
	if n < len(p.names)-1 || of.Kind == session.KindSession || of.Kind == session.KindProject {
		r.Part = fmt.Sprintf("%v.%d", of.Kind, n)
	}
	return r
}

// folderPath is path for the ref of a folder.
func (l *layout) folderPath(r session.Ref) (string, session.Ref, error) {
	names := l.folderPattern(r)
	filled := fill(names, r)
	for i, name := range filled {
		if name == "" || variable(names[i], &r) != nil && l.taken(names[:i], name) {
			names = nil
			break
		}
	}
	if len(names) == 0 {
		return "", r, fmt.Errorf("folder %s: layout %s has no place for it", r, l.name)
	}
	return strings.Join(filled, "/"), r, nil
}

// folderPattern is the names that lead to the folder, none if there is no such.
func (l *layout) folderPattern(r session.Ref) []string {
	kind, number, labelled := strings.Cut(r.Part, ".")
	n, err := strconv.Atoi(number)
	switch {
	case labelled && (err != nil || n < 1):
		return nil
	case labelled:
	case r.Message != "":
		kind = session.KindPart.String()
	default:
		kind = session.KindMessage.String()
	}
	for _, p := range l.patterns {
		names := p.names[:len(p.names)-1]
		if labelled && n > len(names) {
			continue
		}
		if labelled {
			names = names[:n]
		}
		if p.kind.String() == kind && slices.Contains(names, "{project}") == (r.Project != "") {
			return names
		}
	}
	return nil
}
