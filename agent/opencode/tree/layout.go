package tree

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mend/change"
)

// A layout describes where the records of a tree are. The table below has all that differs
// between the programs that write such trees.
type layout struct {
	name string
	// roots are the places of the root relative to the folder that a user names: the data
	// folder of a program, or the root itself.
	roots []string
	// base is the usual name of the root. marks are folders by which a root is recognised:
	// one of them if it has that name, two otherwise. An element * matches any folder.
	base  string
	marks []string
	// defaultRoots are where the program keeps its data.
	defaultRoots []defaultRoot
	// foreign means that another program than OpenCode reads the tree.
	foreign bool
	// opensAllFiles means that the program takes any file below a folder of messages or
	// parts for a record, unless it is hidden: see otherfiles.go.
	opensAllFiles bool
	// patterns are the paths of records below the root, in the order in which they are
	// tried.
	patterns []pattern
}

type defaultRoot struct{ env, home, below string }

// A pattern is the path of one kind of record, name by name. {project}, {session},
// {message} and {part} stand for an id each.
type pattern struct {
	kind  change.Kind
	names []string
}

func newPattern(kind change.Kind, path string) pattern {
	return pattern{kind, strings.Split(path, "/")}
}

// hasProject reports whether the path depends on the project.
func (p pattern) hasProject() bool {
	return slices.ContainsFunc(p.names, func(name string) bool { return strings.TrimSuffix(name, suffix) == "{project}" })
}

// layouts returns the table, in the order in which the layouts are tried.
func layouts() []*layout {
	return []*layout{{
		name: "opencode", base: "storage", opensAllFiles: true,
		roots: []string{"storage", "opencode/storage", "."}, marks: []string{"session", "message", "part"},
		defaultRoots: []defaultRoot{{"XDG_DATA_HOME", ".local/share", "opencode/storage"}},
		patterns: []pattern{
			newPattern(change.KindSession, "session/{project}/{session}.json"),
			newPattern(change.KindMessage, "message/{session}/{message}.json"),
			newPattern(change.KindMessage, "message/{project}/{session}/{message}.json"),
			newPattern(change.KindPart, "part/{message}/{part}.json"),
			newPattern(change.KindProject, "project/{project}.json"),
		},
	}, {
		name: "opencode-0", base: "opencode",
		roots:        []string{".", "opencode"},
		marks:        []string{"project/*/storage/session/info", "project/*/storage/session/message", "project/*/storage/session/part"},
		defaultRoots: []defaultRoot{{"XDG_DATA_HOME", ".local/share", "opencode"}},
		patterns: []pattern{
			newPattern(change.KindSession, "project/{project}/storage/session/info/{session}.json"),
			newPattern(change.KindMessage, "project/{project}/storage/session/message/{session}/{message}.json"),
			newPattern(change.KindPart, "project/{project}/storage/session/part/{session}/{message}/{part}.json"),
		},
	}, {
		name: "opencode-state", base: "opencode",
		roots: []string{".", "opencode"}, marks: []string{"messages", "parts"},
		defaultRoots: []defaultRoot{{"", ".local/state", "opencode"}},
		patterns: []pattern{
			newPattern(change.KindMessage, "messages/{session}/{message}.json"),
			newPattern(change.KindPart, "parts/{message}/{part}.json"),
		},
	}, {
		name: "supercode", base: ".supercoin", foreign: true,
		roots: []string{".supercoin", "."}, marks: []string{"sessions", "sessions/parts"},
		defaultRoots: []defaultRoot{{"PWD", "", ".supercoin"}, {"", "", ".supercoin"}},
		patterns: []pattern{
			newPattern(change.KindMessage, "sessions/{session}/messages/{message}.json"),
			newPattern(change.KindPart, "sessions/parts/{message}/{part}.json"),
		},
	}}
}

// CheckLayout returns an error that wraps [ErrLayout] and lists the known layouts if there
// is none with that name.
func CheckLayout(name string) error {
	_, err := layoutNamed(name)
	return err
}

// layoutNamed returns the layout with that name. The error lists the known ones.
func layoutNamed(name string) (*layout, error) {
	var known []string
	for _, l := range layouts() {
		if l.name == name {
			return l, nil
		}
		known = append(known, l.name)
	}
	return nil, fmt.Errorf("%w: %q; there are %s", ErrLayout, name, strings.Join(known, ", "))
}

// suffix ends the name of every record.
const suffix = ".json"

// idField returns the field of the ref that the name of a pattern stands for; nil for a
// literal name.
func idField(name string, r *change.Ref) *string {
	switch strings.TrimSuffix(name, suffix) {
	case "{project}":
		return &r.Project
	case "{session}":
		return &r.Session
	case "{message}":
		return &r.Message
	case "{part}":
		return &r.Part
	}
	return nil
}

// isReserved reports whether the name of a folder is a literal name of a pattern after the
// given names, so that it is not an id there.
func (l *layout) isReserved(before []string, name string) bool {
	return slices.ContainsFunc(l.patterns, func(p pattern) bool {
		return len(p.names) > len(before) && p.names[len(before)] == name && slices.Equal(p.names[:len(before)], before)
	})
}

// partPattern returns the pattern of parts: each layout has one.
func (l *layout) partPattern() pattern {
	p, _ := l.pattern(change.KindPart, true)
	return p
}

// pattern returns the pattern of that kind for a ref with, or without, a project.
func (l *layout) pattern(kind change.Kind, project bool) (pattern, bool) {
	var found pattern
	for _, p := range l.patterns {
		if p.kind != kind {
			continue
		}
		if p.hasProject() == project {
			return p, true
		}
		if project { // a part whose path has no project
			found = p
		}
	}
	return found, found.kind != 0
}

// Path implements [fsstore.Layout].
func (l *layout) Path(r change.Ref) (string, change.Ref, error) {
	if err := r.Validate(); err != nil {
		return "", r, err
	}
	if l.opensAllFiles && r.Project == diffs && r.Message == "" && r.Part == "" {
		switch r.Kind {
		case change.KindFolder:
			return diffs, r, nil
		case change.KindFile:
			return diffs + "/" + r.Session + suffix, r, nil
		default:
		}
	}
	switch r.Kind {
	case change.KindFolder:
		return l.folderPath(r)
	case change.KindFile:
		return l.filePath(r)
	default:
	}
	p, ok := l.pattern(r.Kind, r.Project != "")
	if !ok {
		return "", r, fmt.Errorf("%v %s: layout %s has no place for it", r.Kind, r, l.name)
	}
	if !p.hasProject() {
		r.Project = ""
	}
	names := fill(p.names, r)
	path := strings.Join(names, "/")
	if back, ok := l.parse(path); !ok || back.Kind != r.Kind {
		return "", r, fmt.Errorf("%v %s: layout %s keeps something else at %s", r.Kind, r, l.name, path)
	}
	return path, r, nil
}

// fill replaces the ids in the names of a pattern by those of the ref.
func fill(names []string, r change.Ref) []string {
	filled := make([]string, len(names))
	for i, name := range names {
		filled[i] = name
		if id := idField(name, &r); id != nil {
			filled[i] = *id
			if strings.HasSuffix(name, suffix) {
				filled[i] += suffix
			}
		}
	}
	return filled
}

// parse returns the ref of the record at path, with the ids in the path; ok is false if no
// record has that path.
func (l *layout) parse(path string) (change.Ref, bool) {
	names := strings.Split(path, "/")
	for _, p := range l.patterns {
		if r, ok := l.match(p.names, names); ok && len(names) == len(p.names) {
			r.Kind = p.kind
			return r, true
		}
	}
	return change.Ref{}, false
}

// match returns the ids in names, which are a prefix of a path that matches the pattern.
func (l *layout) match(pattern, names []string) (change.Ref, bool) {
	var r change.Ref
	if len(names) > len(pattern) {
		return r, false
	}
	for i, name := range names {
		want := pattern[i]
		id := idField(want, &r)
		if id == nil {
			if name != want {
				return r, false
			}
			continue
		}
		if strings.HasSuffix(want, suffix) {
			var isRecord bool
			if name, isRecord = strings.CutSuffix(name, suffix); !isRecord {
				return r, false
			}
		} else if l.isReserved(pattern[:i], name) {
			return r, false
		}
		if change.ValidateID(name) != nil {
			return r, false
		}
		*id = name
	}
	return r, true
}

// A folder has a ref of its own, since a new record may need a new folder, which undo
// removes again. The folder of a message's parts, or of a session's messages, is named by
// those ids alone. Any other folder has the kind of record, a dot, and the number of names
// down to it in Part: "part.1" is the folder of all parts in layout opencode.

// folderRef returns the ref of the folder at the first n names of the path of a record.
func (l *layout) folderRef(rec change.Ref, n int) change.Ref {
	if rec.Kind == change.KindFile {
		rec.Kind = recordKind(rec)
	}
	p, _ := l.pattern(rec.Kind, rec.Project != "")
	r := change.Ref{Kind: change.KindFolder, Session: rec.Session}
	for _, name := range p.names[:n] {
		switch name {
		case "{project}":
			r.Project = rec.Project
		case "{message}":
			r.Message = rec.Message
		}
	}
	if n < len(p.names)-1 || rec.Kind == change.KindSession || rec.Kind == change.KindProject {
		r.Part = fmt.Sprintf("%v.%d", rec.Kind, n)
	}
	return r
}

// folderPath is Path for the ref of a folder.
func (l *layout) folderPath(r change.Ref) (string, change.Ref, error) {
	names := l.folderPattern(r)
	filled := fill(names, r)
	for i, name := range filled {
		if name == "" || idField(names[i], &r) != nil && l.isReserved(names[:i], name) {
			names = nil
			break
		}
	}
	if len(names) == 0 {
		return "", r, fmt.Errorf("folder %s: layout %s has no place for it", r, l.name)
	}
	return strings.Join(filled, "/"), r, nil
}

// folderPattern returns the names of the path of the folder; nil if the layout has no such
// folder.
func (l *layout) folderPattern(r change.Ref) []string {
	kind, number, labelled := strings.Cut(r.Part, ".")
	n, err := strconv.Atoi(number)
	switch {
	case labelled && (err != nil || n < 1):
		return nil
	case labelled:
	case r.Message != "":
		kind = change.KindPart.String()
	default:
		kind = change.KindMessage.String()
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

// An earlier version of mend moved files beside the records away. They have refs of
// KindFile, which undo uses to put them back.

// recordKind returns the kind of the records beside the file.
func recordKind(file change.Ref) change.Kind {
	if file.Message == "" {
		return change.KindMessage
	}
	return change.KindPart
}

// filePath is Path for the ref of a file.
func (l *layout) filePath(r change.Ref) (string, change.Ref, error) {
	name := r.Part
	r.Part = ""
	p, r, err := l.folderPath(r)
	if r.Part = name; name != "" {
		p += "/" + name
	}
	if err == nil && isRecordName(r.Message, name) {
		err = fmt.Errorf("file %s: layout %s keeps a record there", r, l.name)
	}
	return p, r, err
}

// diffs is the folder, in the place of a project, of what sessions have changed of files. OpenCode shows it, and no request has it.
const diffs = "session_diff"

// diffRef returns the ref of what a session has changed of files.
func diffRef(session string) change.Ref {
	return change.Ref{Kind: change.KindFile, Project: diffs, Session: session}
}

// Folder implements [fsstore.Layout]. The folders inside a folder of records in which a
// file was are not made again.
func (l *layout) Folder(ref change.Ref, n int) (change.Ref, bool) {
	if ref == diffRef(ref.Session) {
		ref.Kind = change.KindFolder
		return ref, n == 1
	}
	if ref.Kind == change.KindFile {
		if p, _ := l.pattern(recordKind(ref), ref.Project != ""); n >= len(p.names) {
			return change.Ref{}, false
		}
	}
	return l.folderRef(ref, n), true
}
