package tree

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Located is a tree that [Find] found.
type Located struct {
	Path   string // of its root, for [Open]
	Layout string
}

// Find returns the trees at the default places of their programs, OpenCode's own first.
// OpenCode's data folder is $XDG_DATA_HOME/opencode, else ~/.local/share/opencode, on
// every system. A folder that cannot be read is left out.
func Find(env func(string) string, home string) []Located {
	var found []Located
	seen := map[string]bool{}
	for _, l := range layouts() {
		for _, u := range l.defaultRoots {
			root := u.path(env, home)
			key := l.name + " " + root
			if root == "" || seen[key] || l.countMarks(root) == 0 {
				continue
			}
			seen[key] = true
			found = append(found, Located{root, l.name})
		}
	}
	return found
}

// path returns the root, or "" if neither the variable nor the home folder is known.
func (u defaultRoot) path(env func(string) string, home string) string {
	if u.env != "" {
		if base := env(u.env); base != "" {
			return filepath.Join(base, u.below)
		}
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, u.home, u.below)
}

// discover returns the layout and the root of the tree that the folder at path belongs to.
// name selects a layout; "" tries them all.
func discover(path, name string) (*layout, string, error) {
	tried := layouts()
	if name != "" {
		l, err := layoutNamed(name)
		if err != nil {
			return nil, "", err
		}
		tried = []*layout{l}
	}
	var roots []candidate
	for _, l := range tried {
		roots = append(roots, l.candidates(path)...)
	}
	// The longer the part of the path that matches a pattern, the surer: a folder
	// "storage" may also be inside another layout's tree.
	slices.SortStableFunc(roots, func(a, b candidate) int { return b.depth - a.depth })
	for _, c := range roots {
		if c.layout.isRoot(c.root, name != "") {
			return c.layout, c.root, nil
		}
	}
	return nil, "", ErrNoStore
}

// A candidate is a folder that may be a root.
type candidate struct {
	layout *layout
	root   string
	depth  int // number of names from the root down to the given path
}

// candidates returns where the root may be if path is a folder above it, the root itself,
// or a folder in it.
func (l *layout) candidates(path string) []candidate {
	var roots []candidate
	for _, r := range l.roots {
		roots = append(roots, candidate{l, filepath.Join(path, r), 0})
	}
	names := strings.Split(filepath.ToSlash(path), "/")
	for _, p := range l.patterns {
		up := path
		for n := 1; n < min(len(p.names), len(names)); n++ {
			up = filepath.Dir(up)
			if _, ok := l.match(p.names, names[len(names)-n:]); ok {
				roots = append(roots, candidate{l, up, n})
			}
		}
	}
	return roots
}

// isRoot reports whether the folder is a root of the layout. One with the usual name needs
// one mark, another needs two, so that not every folder with a folder "part" in it is
// taken for a store. If the user named the layout, one mark fewer is enough.
func (l *layout) isRoot(root string, named bool) bool {
	if fi, err := os.Stat(root); err != nil || !fi.IsDir() {
		return false
	}
	need := min(2, len(l.marks))
	switch called := filepath.Base(root) == l.base; {
	case called && named:
		need = 0 // a tree without sessions
	case called || named:
		need = 1
	}
	return l.countMarks(root) >= need
}

// countMarks returns the number of marks in the folder.
func (l *layout) countMarks(root string) int {
	n := 0
	tree := os.DirFS(root)
	for _, mark := range l.marks {
		found, _ := fs.Glob(tree, mark) // the marks are well-formed
		if slices.ContainsFunc(found, func(p string) bool { fi, err := fs.Stat(tree, p); return err == nil && fi.IsDir() }) {
			n++
		}
	}
	return n
}
