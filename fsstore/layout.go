package fsstore

import (
	"fmt"
	"slices"
	"strings"

	"mend/session"
)

// A layout says where the records of a tree are. All that differs between the
// programs that write such trees stands in the table below.
type layout struct {
	name string
	// roots are the places at which the root may be, seen from a folder that
	// somebody names: the data folder of a program, or the root itself.
	roots []string
	// base is what the root is called, and marks are the folders in it that
	// give it away: one of them under that name, two under any other. An
	// element * stands for any folder.
	base  string
	marks []string
	// usual is where the program keeps its data: a variable of the environment,
	// what stands for it where it is not set (below the home folder), and the
	// path below either.
	usual []usual
	// foreign says that another program than OpenCode reads the tree.
	foreign bool
	// takesAll: the program takes any file below a folder of messages or parts for a
	// record, whatever it is called, unless it is hidden. Of each name it cuts off what
	// would be the suffix, and opens what is called so with the suffix.
	takesAll bool
	// patterns are the paths of records below the root, those that are looked
	// for first in front.
	patterns []pattern
}

type usual struct{ env, home, path string }

// A pattern is the path of one kind of record, name by name. {project},
// {session}, {message} and {part} stand for an id each.
type pattern struct {
	kind  session.Kind
	names []string
}

func at(kind session.Kind, path string) pattern {
	return pattern{kind, strings.Split(path, "/")}
}

// hasProject reports whether the path depends on the project.
func (p pattern) hasProject() bool {
	return slices.ContainsFunc(p.names, func(name string) bool { return strings.TrimSuffix(name, suffix) == "{project}" })
}

// layouts is the table, in the order in which a folder is tried.
func layouts() []*layout {
	return []*layout{{
		name: "opencode", base: "storage", takesAll: true,
		roots: []string{"storage", "opencode/storage", "."}, marks: []string{"session", "message", "part"},
		usual: []usual{{"XDG_DATA_HOME", ".local/share", "opencode/storage"}},
		patterns: []pattern{
			at(session.KindSession, "session/{project}/{session}.json"),
			at(session.KindMessage, "message/{session}/{message}.json"),
			at(session.KindMessage, "message/{project}/{session}/{message}.json"),
			at(session.KindPart, "part/{message}/{part}.json"),
			at(session.KindProject, "project/{project}.json"),
		},
	}, {
		name: "opencode-0", base: "opencode",
		roots: []string{".", "opencode"},
		marks: []string{"project/*/storage/session/info", "project/*/storage/session/message", "project/*/storage/session/part"},
		usual: []usual{{"XDG_DATA_HOME", ".local/share", "opencode"}},
		patterns: []pattern{
			at(session.KindSession, "project/{project}/storage/session/info/{session}.json"),
			at(session.KindMessage, "project/{project}/storage/session/message/{session}/{message}.json"),
			at(session.KindPart, "project/{project}/storage/session/part/{session}/{message}/{part}.json"),
		},
	}, {
		name: "opencode-state", base: "opencode",
		roots: []string{".", "opencode"}, marks: []string{"messages", "parts"},
		usual: []usual{{"", ".local/state", "opencode"}},
		patterns: []pattern{
			at(session.KindMessage, "messages/{session}/{message}.json"),
			at(session.KindPart, "parts/{message}/{part}.json"),
		},
	}, {
		name: "supercode", base: ".supercoin", foreign: true,
		roots: []string{".supercoin", "."}, marks: []string{"sessions", "sessions/parts"},
		usual: []usual{{"PWD", "", ".supercoin"}, {"", "", ".supercoin"}},
		patterns: []pattern{
			at(session.KindMessage, "sessions/{session}/messages/{message}.json"),
			at(session.KindPart, "sessions/parts/{message}/{part}.json"),
		},
	}}
}

// CheckLayout is an error that wraps [ErrLayout] and lists the layouts that exist,
// unless there is one of that name.
func CheckLayout(name string) error {
	_, err := layoutNamed(name)
	return err
}

// layoutNamed is the layout of that name. The error lists those that exist.
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

// suffix is how the name of every record ends.
const suffix = ".json"

// variable is the field of the ref that the name of a pattern stands for, nil
// for a name that stands for itself.
func variable(name string, r *session.Ref) *string {
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

// taken reports whether the name of a folder has a meaning of its own behind
// the given names, so that it is nobody's id there.
func (l *layout) taken(before []string, name string) bool {
	return slices.ContainsFunc(l.patterns, func(p pattern) bool {
		return len(p.names) > len(before) && p.names[len(before)] == name && slices.Equal(p.names[:len(before)], before)
	})
}

// parts is the pattern of parts: each layout has one.
func (l *layout) parts() pattern {
	p, _ := l.pattern(session.KindPart, true)
	return p
}

// pattern is the one of that kind that a ref with, or without, a project uses.
func (l *layout) pattern(kind session.Kind, project bool) (pattern, bool) {
	var found pattern
	for _, p := range l.patterns {
		if p.kind != kind {
			continue
		}
		if p.hasProject() == project {
			return p, true
		}
		if project { // a part whose path has none
			found = p
		}
	}
	return found, found.kind != 0
}

// path is where the record or folder is, below the root, and the ref without
// what its path does not hold. The error says that the ref has no path: an id is
// none, or the layout has no such records.
func (l *layout) path(r session.Ref) (string, session.Ref, error) {
	if err := r.Validate(); err != nil {
		return "", r, err
	}
	switch r.Kind {
	case session.KindFolder:
		return l.folderPath(r)
	case session.KindFile:
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

// fill puts the ids of the ref into the names of a pattern.
func fill(names []string, r session.Ref) []string {
	filled := make([]string, len(names))
	for i, name := range names {
		filled[i] = name
		if id := variable(name, &r); id != nil {
			filled[i] = *id
			if strings.HasSuffix(name, suffix) {
				filled[i] += suffix
			}
		}
	}
	return filled
}

// parse is the ref of the record at path, with the ids that stand in the path,
// and whether a record has its place there.
func (l *layout) parse(path string) (session.Ref, bool) {
	names := strings.Split(path, "/")
	for _, p := range l.patterns {
		if r, ok := l.match(p.names, names); ok && len(names) == len(p.names) {
			r.Kind = p.kind
			return r, true
		}
	}
	return session.Ref{}, false
}

// match takes the ids out of names, which follow the pattern from its start.
func (l *layout) match(pattern, names []string) (session.Ref, bool) {
	var r session.Ref
	if len(names) > len(pattern) {
		return r, false
	}
	for i, name := range names {
		want := pattern[i]
		id := variable(want, &r)
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
		} else if l.taken(pattern[:i], name) {
			return r, false
		}
		if session.ValidateID(name) != nil {
			return r, false
		}
		*id = name
	}
	return r, true
}

// Foreign reports whether another program than OpenCode reads the store.
func (s *Store) Foreign() bool { return s.layout.foreign }
