// Package place says where a folder that is gone may be now: it was renamed, or moved with what is above it.
package place

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/agnivade/levenshtein"

	"mend/internal/git"
	"mend/internal/userdir"
)

// A Search says what is known of a folder that is gone.
type Search struct {
	// Known are folders that agents have worked in.
	Known []string
	// Same reports whether a folder is in the repository that the gone one was in; nil: that is not known.
	Same func(folder string) bool
}

// A Candidate is a folder, which exists, in which the content of a gone one may be.
type Candidate struct {
	Path string
	Same bool // it is in the same repository

	linked bool // in a work tree besides the main one
	name   int  // how far its name is from that of the gone folder
	far    int  // how many folders lie between both
}

// Gone reports whether no folder is at a path. If that is not known it returns false.
func Gone(path string) bool {
	info, err := os.Stat(path)
	if err == nil {
		return !info.IsDir()
	}
	return NoFolder(err)
}

// NoFolder reports whether the error says that no folder can be at a path.
func NoFolder(err error) bool {
	return slices.ContainsFunc([]error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EINVAL}, func(e error) bool { return errors.Is(err, e) })
}

// IsLocal reports whether the path lies in a folder that only this machine is likely
// to have: the user's home, or one that is at least two levels deep.
func IsLocal(path string) bool {
	home, _ := userdir.Home("")
	for at := filepath.Dir(path); at != filepath.Dir(at); at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && info.IsDir() {
			top := filepath.Dir(at)
			return at == home || top != filepath.Dir(top)
		}
	}
	return false
}

// Beside returns the folders beside a path.
func Beside(path string) []string { return (&finder{}).subfolders(filepath.Dir(path)) }

// Find returns the folders in which the content of a gone folder may be, best first: those of the same
// repository, then those of its name, then those beside it with a similar one. The path below what was
// renamed or moved stays.
func Find(gone string, s Search) []Candidate {
	f := finder{Search: s, gone: filepath.Clean(gone), seen: map[string]bool{}}
	for at := f.gone; Gone(at) && at != filepath.Dir(at); at = filepath.Dir(at) {
		f.roots = append(f.roots, at)
	}
	if len(f.roots) == 0 {
		return nil
	}
	top := f.roots[len(f.roots)-1]
	f.addBeside(top)
	for _, known := range s.Known {
		f.add(known, false)
	}
	for at, up := filepath.Dir(top), 0; up < 3 && at != filepath.Dir(at); at, up = filepath.Dir(at), up+1 {
		f.walk(at, 2)
	}
	slices.SortStableFunc(f.found, func(a, b Candidate) int {
		return cmp.Or(compareBool(b.Same, a.Same), compareBool(a.linked, b.linked), cmp.Compare(a.name, b.name), cmp.Compare(a.far, b.far), strings.Compare(a.Path, b.Path))
	})
	return f.found
}

// Certain reports whether of what [Find] returned the first candidate alone is of the same repository.
func Certain(found []Candidate) bool {
	return len(found) > 0 && found[0].Same && (len(found) == 1 || !found[1].Same)
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// A finder collects candidates.
type finder struct {
	Search
	gone  string
	roots []string // the gone folder and those above it that are gone, too
	read  int      // how many names of folders were read
	found []Candidate
	seen  map[string]bool
}

// maxNames is how many names of folders a search reads.
const maxNames = 20_000

// subfolders returns the folders in a folder, without hidden ones.
func (f *finder) subfolders(dir string) (all []string) {
	entries, _ := os.ReadDir(dir) // one that cannot be read has no candidate
	for _, e := range entries {
		if f.read++; f.read > maxNames {
			return all
		}
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "node_modules" {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all
}

// addBeside adds the folders beside the topmost gone one, which may have been renamed.
func (f *finder) addBeside(top string) {
	for _, dir := range f.subfolders(filepath.Dir(top)) {
		f.add(dir, isLike(filepath.Base(dir), filepath.Base(top)))
	}
}

// walk adds folders below dir.
func (f *finder) walk(dir string, depth int) {
	for _, sub := range f.subfolders(dir) {
		f.add(sub, false)
		if depth > 1 {
			f.walk(sub, depth-1)
		}
	}
}

// isLike reports whether two names are so similar that one may be the other's successor.
func isLike(a, b string) bool {
	a, b = strings.ToLower(a), strings.ToLower(b)
	short, long := a, b
	if len(short) > len(long) {
		short, long = long, short
	}
	return a == b || len(short) >= 3 && (strings.HasPrefix(long, short) || strings.HasSuffix(long, short)) || levenshtein.ComputeDistance(a, b) <= len(short)/3
}

// add adds a folder, or what is below it in the place of what is gone, if it may be what is looked for.
func (f *finder) add(dir string, like bool) {
	dir = filepath.Clean(dir)
	if f.seen[dir] || Gone(dir) {
		return
	}
	f.seen[dir] = true
	c := Candidate{far: distance(f.gone, dir)}
	if f.Same != nil {
		repo, in, err := git.Find(dir)
		if c.Same = err == nil && in && f.Same(dir); c.Same {
			c.linked = repo.Common != filepath.Join(repo.Worktree, ".git")
			dir = repo.Worktree
		}
	}
	for _, root := range slices.Backward(f.roots) { // the longest path below it first
		at := filepath.Join(dir, strings.TrimPrefix(f.gone, root))
		switch named := strings.EqualFold(filepath.Base(dir), filepath.Base(root)); {
		case Gone(at):
			continue
		case !c.Same && !named && (!like || root != f.roots[len(f.roots)-1]):
			continue
		}
		c.Path, c.name = at, levenshtein.ComputeDistance(filepath.Base(dir), filepath.Base(root))
		if !slices.ContainsFunc(f.found, func(o Candidate) bool { return o.Path == at }) {
			f.found = append(f.found, c)
		}
		return
	}
}

// distance returns how many folders lie between two paths.
func distance(a, b string) int {
	x, y := strings.Split(a, string(filepath.Separator)), strings.Split(b, string(filepath.Separator))
	n := 0
	for n < min(len(x), len(y)) && x[n] == y[n] {
		n++
	}
	return len(x) + len(y) - 2*n
}
