package rollout

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"mend/change"
)

// The folders of rollouts, below that of the program.
const (
	Sessions = "sessions"
	Archived = "archived_sessions"
)

const (
	// Suffix ends the names of rollouts.
	Suffix = ".jsonl"
	// Compressed is after that of rollouts that the program has compressed. It reads them, and takes the compression
	// away when it continues one.
	Compressed = ".zst"
)

func plainPath(p string) string { return strings.TrimSuffix(p, Compressed) }

// nameForm is the form of the name of a rollout. Without it the program does not find one, or does not continue it.
var nameForm = regexp.MustCompile(`^rollout-(\d{4})-(\d\d)-(\d\d)T\d\d-\d\d-\d\d-` +
	`([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.jsonl$`)

// NameID returns the id of the session in the name of a rollout, "" if the name is none of one.
func NameID(name string) string {
	if m := nameForm.FindStringSubmatch(path.Base(plainPath(name))); m != nil {
		return m[4]
	}
	return ""
}

// A Layout says where the rollout of a session is: the project of a ref is its path, see [PathOf].
type Layout struct{}

// Key implements [linestore.Layout]: no line is a record of its own.
func (Layout) Key([]byte) string { return "" }

// Path implements [linestore.Layout] and [fsstore.Layout]. A folder is named by its path.
func (Layout) Path(ref change.Ref) (string, change.Ref, error) {
	p, ok := PathOf(ref)
	if !ok || ref.Kind != change.KindFolder && (ref.Kind != change.KindSession || ref.Validate() != nil) {
		return "", ref, fmt.Errorf("%v %s: no rollout", ref.Kind, ref)
	}
	return p, ref, nil
}

// Folder implements [fsstore.Layout].
func (l Layout) Folder(ref change.Ref, n int) (change.Ref, bool) {
	p, _, err := l.Path(ref)
	names := strings.Split(p, "/")
	if err != nil || n < 1 || n >= len(names) {
		return change.Ref{}, false
	}
	return change.Ref{Kind: change.KindFolder, Project: projectOf(strings.Join(names[:n], "/")), Session: ref.Session},
		true
}

// RefOf returns the ref of the rollout at a path below the root.
func RefOf(p, id string) change.Ref {
	return change.Ref{Kind: change.KindSession, Project: projectOf(p), Session: id}
}

// PlainRef returns the ref that a rollout has when it is not compressed.
func PlainRef(ref change.Ref) change.Ref {
	p, _ := PathOf(ref)
	return RefOf(plainPath(p), ref.Session)
}

var special = regexp.MustCompile(`[^a-zA-Z0-9/-]`)

// projectOf returns the id that stands for a path: a slash is a dot, and what else is no letter, digit or dash its
// hexadecimal digits, each byte after _.
func projectOf(p string) string {
	p = special.ReplaceAllStringFunc(p, func(s string) string {
		return strings.ReplaceAll(fmt.Sprintf(" % x", s), " ",
			"_")
	})
	return strings.ReplaceAll(p, "/", ".")
}

// PathOf returns the path below the root that the project of a ref stands for. It reports false if that is no path
// of a rollout, or of a folder of some.
func PathOf(ref change.Ref) (string, bool) {
	p, err := url.PathUnescape(strings.NewReplacer(".", "/", "_", "%").Replace(ref.Project))
	first, _, _ := strings.Cut(p, "/")
	return p, err == nil && p == path.Clean(p) && (first == Sessions || first == Archived) && !strings.Contains(p,
		"\x00") && projectOf(p) == ref.Project
}
