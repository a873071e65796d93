package tree

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mend/change"
)

// layout maps the records of a tree to paths. It implements [fsstore.Layout].
type layout struct{}

const (
	suffix = ".json"        // ends the name of every record
	diffs  = "session_diff" // the folder of the sessions' file changes; it is the project of their refs
)

// recordFolders returns the folders of records below the root.
func recordFolders() []string { return []string{"session", "message", "part", "project"} }

// Path returns the path of a record, a folder or a file, and the ref without the ids that the path does not contain.
func (layout) Path(r change.Ref) (string, change.Ref, error) {
	if err := r.Validate(); err != nil {
		return "", r, err
	}
	var names []string
	switch r.Kind {
	case change.KindSession:
		names = []string{"session", r.Project, r.Session + suffix}
	case change.KindMessage:
		names = append(messageFolder(r), r.Message+suffix)
	case change.KindPart:
		r.Project = ""
		names = []string{"part", r.Message, r.Part + suffix}
	case change.KindProject:
		names = []string{"project", r.Project + suffix}
	case change.KindFolder:
		names = folderNames(r)
	case change.KindFile:
		if isDiff(r) {
			names = []string{diffs, r.Session + suffix}
		}
	default:
	}
	if len(names) == 0 || slices.Contains(names, "") {
		return "", r, fmt.Errorf("%v %s: it does not belong in a tree", r.Kind, r)
	}
	return strings.Join(names, "/"), r, nil
}

// messageFolder returns the folder of a session's messages. It may be inside another folder, which is the project of
// the ref.
func messageFolder(r change.Ref) []string {
	if r.Project != "" {
		return []string{"message", r.Project, r.Session}
	}
	return []string{"message", r.Session}
}

// A folder has a ref of its own, since a new record may need a new folder, which undo removes again. The folder of a
// message's parts, or of a session's messages, is named only by those ids. For any other folder, Part is the kind of
// record, a dot, and the number of names down to the folder: "part.1" is the folder of all parts. Journals contain
// these refs.

// folderNames returns the names on the path of a folder; nil if the tree has no such folder.
func folderNames(r change.Ref) (names []string) {
	kind, number, _ := strings.Cut(r.Part, ".")
	switch {
	case isDiff(r):
		return []string{diffs}
	case r.Part == "" && r.Message != "", kind == change.KindPart.String():
		names = []string{"part", r.Message}
	case r.Part == "", kind == change.KindMessage.String():
		names = messageFolder(r)
	case kind == change.KindSession.String():
		names = []string{"session", r.Project}
	case kind == change.KindProject.String():
		names = []string{"project"}
	}
	if r.Part == "" {
		return names
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(names) {
		return nil
	}
	return names[:n]
}

// Folder returns the ref of the folder at the first n names of the path of a record.
func (layout) Folder(r change.Ref, n int) (change.Ref, bool) {
	f := change.Ref{Kind: change.KindFolder, Session: r.Session}
	if isDiff(r) {
		f.Project = diffs
		return f, n == 1
	}
	depth := 2 // the number of names of the folder of the record
	if r.Kind == change.KindMessage && r.Project != "" {
		depth = 3
	}
	switch {
	case n == 1:
	case r.Kind == change.KindPart:
		f.Message = r.Message
	default:
		f.Project = r.Project
	}
	if n < depth || r.Kind == change.KindSession || r.Kind == change.KindProject {
		f.Part = fmt.Sprintf("%v.%d", r.Kind, n)
	}
	return f, true
}

// isDiff reports whether a ref names the record of a session's file changes, or the folder of these records. OpenCode
// shows it, but does not send it.
func isDiff(r change.Ref) bool { return r.Project == diffs && r.Message == "" && r.Part == "" }

// Find returns the root of the tree at OpenCode's default location, or "".
func Find(env func(string) string, home string) string {
	root := dataRoot(env, home)
	if root == "" || countMarks(root) == 0 {
		return ""
	}
	return root
}

// dataRoot returns where OpenCode keeps its tree on every system: below $XDG_DATA_HOME/opencode, else
// ~/.local/share/opencode; "" if neither is known.
func dataRoot(env func(string) string, home string) string {
	data := env("XDG_DATA_HOME")
	if data == "" && home == "" {
		return ""
	}
	return filepath.Join(cmp.Or(data, filepath.Join(home, ".local", "share")), "opencode", usual)
}

// usual is OpenCode's name for the root of a tree.
const usual = "storage"

// findRoot returns the root of the tree that the folder at path belongs to, or "". The root may be a folder above it, a
// usual location below it, or the folder itself. named means that the user knows that the folder is a tree.
func findRoot(path string, named bool) string {
	roots := []string{filepath.Join(path, usual), filepath.Join(path, "opencode", usual), path}
	for at, n := path, 0; n < 3; n++ {
		name := filepath.Base(at)
		at = filepath.Dir(at)
		if slices.Contains(recordFolders(), name) {
			roots = append([]string{at}, roots...)
		}
	}
	for _, root := range roots {
		if isRoot(root, named) {
			return root
		}
	}
	return ""
}

// isRoot reports whether the folder is the root of a tree. A folder with the usual name needs one mark, and any other
// folder two, because many folders contain a folder "part". If the user named the layout, one mark less is enough.
func isRoot(root string, named bool) bool {
	if fi, err := os.Stat(root); err != nil || !fi.IsDir() {
		return false
	}
	need := 2
	if filepath.Base(root) == usual {
		need--
	}
	if named {
		need--
	}
	return countMarks(root) >= need
}

// countMarks returns how many of the folders that identify a tree are below root.
func countMarks(root string) (n int) {
	for _, mark := range recordFolders()[:3] {
		if fi, err := os.Stat(filepath.Join(root, mark)); err == nil && fi.IsDir() {
			n++
		}
	}
	return n
}
