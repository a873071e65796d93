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

// Locate implements [linestore.Layout].
func (layout) Locate(ref change.Ref) (file, key string, err error) {
	if ref.Kind != change.KindSession {
		return "", "", fmt.Errorf("%v %s: no rollout", ref.Kind, ref)
	}
	if err := ref.Validate(); err != nil {
		return "", "", err
	}
	p, ok := pathOf(ref.Project)
	if !ok {
		return "", "", fmt.Errorf("%v %s: no rollout", ref.Kind, ref)
	}
	return p, "", nil
}

// Key implements [linestore.Layout]: no line is a record of its own.
func (layout) Key([]byte) string { return "" }

// Path implements [fsstore.Layout]. A folder is named by its path.
func (l layout) Path(ref change.Ref) (string, change.Ref, error) {
	if ref.Kind == change.KindFolder {
		p, ok := pathOf(ref.Project)
		if !ok {
			return "", ref, fmt.Errorf("%v %s: no folder of rollouts", ref.Kind, ref)
		}
		return p, ref, nil
	}
	p, _, err := l.Locate(ref)
	return p, ref, err
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

// projectOf returns the id that stands for a path: a slash is a dot, and what else is no letter, digit or dash its hexadecimal digits behind _.
func projectOf(p string) string {
	var b strings.Builder
	for i := range len(p) {
		switch c := p[i : i+1]; {
		case c == "/":
			b.WriteByte('.')
		case strings.Contains(plain, c):
			b.WriteString(c)
		default:
			fmt.Fprintf(&b, "_%02x", c)
		}
	}
	return b.String()
}

const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"

var escaped = regexp.MustCompile(`_[0-9a-f]{2}`)

// pathOf reverses projectOf. It reports false for an id that stands for no path of a rollout, or of a folder of some.
func pathOf(project string) (string, bool) {
	p := escaped.ReplaceAllStringFunc(strings.ReplaceAll(project, ".", "/"), func(s string) string {
		b, _ := hex.DecodeString(s[1:]) // it matched
		return string(b)
	})
	first, _, _ := strings.Cut(p, "/")
	return p, p == path.Clean(p) && (first == sessions || first == archived) && !strings.Contains(p, "\x00") && projectOf(p) == project
}
