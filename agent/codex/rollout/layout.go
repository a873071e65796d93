package rollout

import (
	"cmp"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"

	"mend/change"
)

// The folders of rollouts, below Codex's.
const (
	Sessions = "sessions"
	Archived = "archived_sessions"
)

const (
	// Suffix ends the names of rollouts.
	Suffix = ".jsonl"
	// Compressed follows Suffix in the names of rollouts that Codex has compressed. Codex reads them, and decompresses a
	// rollout that it continues.
	Compressed = ".zst"
)

func plainPath(p string) string { return strings.TrimSuffix(p, Compressed) }

// nameForm is the pattern of a rollout's name. Codex does not find or continue a rollout with another name. Going back to
// an earlier prompt begins another rollout of the session, with an id of its own after the session's.
var nameForm = regexp.MustCompile(`^rollout-(\d{4})-(\d\d)-(\d\d)T\d\d-\d\d-\d\d-` +
	`(` + uuid + `)(?:_(` + uuid + `))?\.jsonl$`)

const uuid = `[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`

// NameID returns the id of the session in the name of a rollout, "" if the name is not a rollout's.
func NameID(name string) string {
	id, _ := NameIDs(name)
	return id
}

// NameIDs also returns the rollout's own id. A later rollout that begins with this one names it by that id. The first
// rollout of a session has the id of the session.
func NameIDs(name string) (session, own string) {
	if m := nameForm.FindStringSubmatch(path.Base(plainPath(name))); m != nil {
		return m[4], cmp.Or(m[5], m[4])
	}
	return "", ""
}

// A Layout maps sessions to rollouts: the project of a ref is the rollout's path, see [PathOf].
type Layout struct{}

// Key implements [linestore.Layout]: lines are not records.
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

// PlainRef returns the ref of the uncompressed rollout.
func PlainRef(ref change.Ref) change.Ref {
	p, _ := PathOf(ref)
	return RefOf(plainPath(p), ref.Session)
}

var special = regexp.MustCompile(`[^a-zA-Z0-9/-]`)

// projectOf returns the id that encodes a path: a slash becomes a dot, and each other byte that is not a letter,
// digit or dash becomes _ and its hexadecimal digits.
func projectOf(p string) string {
	p = special.ReplaceAllStringFunc(p, func(s string) string {
		return strings.ReplaceAll(fmt.Sprintf(" % x", s), " ", "_")
	})
	return strings.ReplaceAll(p, "/", ".")
}

// PathOf returns the path below the root that the project of a ref encodes, and whether it is the path of a rollout
// or of a folder of rollouts.
func PathOf(ref change.Ref) (string, bool) {
	p, err := url.PathUnescape(strings.NewReplacer(".", "/", "_", "%").Replace(ref.Project))
	first, _, _ := strings.Cut(p, "/")
	return p, err == nil && p == path.Clean(p) && (first == Sessions || first == Archived) &&
		!strings.Contains(p, "\x00") && projectOf(p) == ref.Project
}
