package codex

import (
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"

	"mend/change"
)

// suffix ends the names of rollouts.
const suffix = ".jsonl"

// A layout says where the rollout of a session is: the project of a ref is its path below the root, see [projectOf].
type layout struct{}

// Key implements [linestore.Layout]: no line is a record of its own.
func (layout) Key([]byte) string { return "" }

// Path implements [linestore.Layout] and [fsstore.Layout]. A folder is named by its path.
func (layout) Path(ref change.Ref) (string, change.Ref, error) {
	p, ok := pathOf(ref.Project)
	if !ok || ref.Kind != change.KindFolder && (ref.Kind != change.KindSession || ref.Validate() != nil) {
		return "", ref, fmt.Errorf("%v %s: no rollout", ref.Kind, ref)
	}
	return p, ref, nil
}

// Folder implements [fsstore.Layout].
func (l layout) Folder(ref change.Ref, n int) (change.Ref, bool) {
	p, _, err := l.Path(ref)
	names := strings.Split(p, "/")
	if err != nil || n < 1 || n >= len(names) {
		return change.Ref{}, false
	}
	return change.Ref{Kind: change.KindFolder, Project: projectOf(strings.Join(names[:n], "/")), Session: ref.Session}, true
}

// refOf returns the ref of the rollout at a path below the root.
func refOf(p, id string) change.Ref {
	return change.Ref{Kind: change.KindSession, Project: projectOf(p), Session: id}
}

var (
	special = regexp.MustCompile(`[^a-zA-Z0-9/-]`)
	escaped = regexp.MustCompile(`(_[0-9a-f]{2})+`)
)

// projectOf returns the id that stands for a path: a slash is a dot, and what else is no letter, digit or dash its hexadecimal digits, each
// byte behind _.
func projectOf(p string) string {
	p = special.ReplaceAllStringFunc(p, func(s string) string { return strings.ReplaceAll(fmt.Sprintf(" % x", s), " ", "_") })
	return strings.ReplaceAll(p, "/", ".")
}

// pathOf reverses projectOf. It reports false for an id that stands for no path of a rollout, or of a folder of some.
func pathOf(project string) (string, bool) {
	p := escaped.ReplaceAllStringFunc(strings.ReplaceAll(project, ".", "/"), func(s string) string {
		b, _ := hex.DecodeString(strings.ReplaceAll(s, "_", "")) // it matched
		return string(b)
	})
	first, _, _ := strings.Cut(p, "/")
	return p, p == path.Clean(p) && (first == sessions || first == archived) && !strings.Contains(p, "\x00") && projectOf(p) == project
}
