// Package place searches for a missing folder that was renamed, or moved with a folder above it. It only makes
// proposals, and changes nothing.
//
// It may import internal/git and internal/userdir. Read [Finder.Find] first.
package place

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"mend/internal/git"
	"mend/internal/userdir"
)

// searchTime is how long a [Finder] may search for repositories.
const searchTime = 10 * time.Second

// A Search has the known facts about a missing folder.
type Search struct {
	// Here is the user's current folder, "" for none.
	Here string
	// Known are folders that agents have worked in.
	Known []string
	// Same returns the certainty that a work tree belongs to the repository of the missing folder, 0 if it does not; nil
	// if unknown. It is called once for each work tree.
	Same func(ctx context.Context, worktree string) int
}

// A Candidate is an existing folder that may be the missing one.
type Candidate struct {
	Path string
	Same bool // it is in the same repository
	Here bool // the user's current folder

	sure   int  // the certainty that the repository is the same, see [Search]
	linked bool // in a linked work tree, not the main one
	named  bool // it has the name of the missing folder
	far    int  // the number of folders in the relative path from the missing one
}

// Candidates are the results of a search, best first.
type Candidates struct {
	All []Candidate
	cut bool // the search ended before it had seen all folders
}

// mostCandidates is the maximum number of candidates.
const mostCandidates = 5

// Certain reports whether the first candidate is the only one in the same repository, and the search saw all folders.
func (c Candidates) Certain() bool {
	return !c.cut && len(c.All) > 0 && c.All[0].Same && (len(c.All) == 1 || !c.All[1].Same)
}

// Gone reports whether no folder exists at a path, false if that is unknown.
func Gone(path string) bool {
	info, err := os.Stat(path)
	if err == nil {
		return !info.IsDir()
	}
	return NoFolder(err)
}

// NoFolder reports whether the error means that no folder exists at a path.
func NoFolder(err error) bool {
	return slices.ContainsFunc([]error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ELOOP, syscall.ENAMETOOLONG, syscall.EINVAL}, func(e error) bool { return errors.Is(err, e) })
}

// IsLocal reports whether the path is in a folder that probably only this machine has: the user's home, or
// one that is at least two levels deep.
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

// Siblings returns the folders beside a path.
func Siblings(path string) []string { return new(Finder).subfolders(filepath.Dir(path), new(int)) }

// A Finder searches for missing folders. It reads each folder once, and searches for repositories for
// [searchTime] after its first search. The zero Finder is ready; its methods may be called concurrently.
type Finder struct {
	mu    sync.Mutex
	until time.Time
	names map[string][]string // subfolders by folder
	trees map[string]tree     // work trees by folder
}

// A tree is the work tree of a folder.
type tree struct {
	top    string // "" for none
	linked bool
}

// Find returns the folders that may be the missing one, best first: the user's current folder, if it is
// beside the missing one, has its name or is of its repository; folders of the same repository and name;
// others of the same repository; then folders of the same name. It assumes that the path below the renamed or moved
// folder is unchanged. If the repository still exists, only names count.
func (f *Finder) Find(ctx context.Context, gone string, s Search) Candidates {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.until.IsZero() {
		f.until, f.names, f.trees = time.Now().Add(searchTime), map[string][]string{}, map[string]tree{}
	}
	ctx, cancel := context.WithDeadline(ctx, f.until)
	defer cancel()
	g := search{Search: s, Finder: f, ctx: ctx, gone: filepath.Clean(gone), seen: map[string]bool{}, paths: map[string]bool{}, sure: map[string]int{}}
	for at := g.gone; Gone(at) && at != filepath.Dir(at); at = filepath.Dir(at) {
		g.roots = append(g.roots, at)
	}
	if len(g.roots) == 0 {
		return Candidates{}
	}
	top := g.roots[len(g.roots)-1]
	g.inside = g.confidence(f.treeOf(filepath.Dir(top)).top) > 0
	g.addHere(top)
	for _, known := range s.Known {
		g.add(known, false)
	}
	for at, up := filepath.Dir(top), 0; up < 3 && at != filepath.Dir(at); at, up = filepath.Dir(at), up+1 {
		g.walk(at, 2)
	}
	slices.SortStableFunc(g.found, func(a, b Candidate) int {
		return cmp.Or(
			compareBool(b.Here, a.Here), compareBool(b.Same && b.named, a.Same && a.named), cmp.Compare(b.sure, a.sure),
			compareBool(a.linked, b.linked), cmp.Compare(a.far, b.far), strings.Compare(a.Path, b.Path),
		)
	})
	return Candidates{g.found[:min(len(g.found), mostCandidates)], ctx.Err() != nil || g.read > maxNames}
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

// A search collects the candidates for one folder.
type search struct {
	Search
	*Finder
	ctx    context.Context
	gone   string
	roots  []string // the missing folder and the missing folders above it
	inside bool     // its repository still exists
	read   int      // the number of names read
	found  []Candidate
	seen   map[string]bool
	paths  map[string]bool // paths of found
	sure   map[string]int  // results of Same by work tree
}

// maxNames is the maximum number of names that a search reads.
const maxNames = 20_000

// subfolders returns the subfolders of a folder, without hidden ones, and adds the number of names read to read. It
// returns none if read already exceeds maxNames.
func (f *Finder) subfolders(dir string, read *int) []string {
	if *read > maxNames {
		return nil
	}
	all, known := f.names[dir]
	if !known {
		all = foldersIn(dir)
		if f.names != nil {
			f.names[dir] = all
		}
	}
	*read += 1 + len(all)
	return all
}

// foldersIn returns the subfolders of a folder; none if it cannot be read.
func foldersIn(dir string) (all []string) {
	d, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	entries, _ := d.ReadDir(maxNames)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && e.Name() != "node_modules" {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all
}

// addHere adds the user's current folder, or the folder above it that is beside the topmost missing one.
func (g *search) addHere(top string) {
	if g.Here == "" {
		return
	}
	at := filepath.Clean(g.Here)
	for above := at; above != filepath.Dir(above); above = filepath.Dir(above) {
		if filepath.Dir(above) == filepath.Dir(top) {
			at = above
			break
		}
	}
	n := len(g.found)
	isKnown := slices.ContainsFunc(g.Known, func(known string) bool { // an agent has worked in it, or below it
		return known == at || strings.HasPrefix(known, at+string(filepath.Separator))
	})
	g.add(at, filepath.Dir(at) == filepath.Dir(top) && !isKnown)
	for i := range g.found[n:] {
		g.found[n+i].Here = true
	}
}

// walk adds folders below dir.
func (g *search) walk(dir string, depth int) {
	for _, sub := range g.subfolders(dir, &g.read) {
		g.add(sub, false)
		if depth > 1 {
			g.walk(sub, depth-1)
		}
	}
}

// treeOf returns the work tree of a folder.
func (f *Finder) treeOf(dir string) tree {
	t, known := f.trees[dir]
	if !known {
		if repo, in, err := git.Find(dir); err == nil && in {
			t = tree{repo.Worktree, repo.Common != filepath.Join(repo.Worktree, ".git")}
		}
		f.trees[dir] = t
	}
	return t
}

// confidence returns how certain it is that a work tree belongs to the missing folder's repository.
func (g *search) confidence(top string) int {
	n, known := g.sure[top]
	if !known && top != "" && g.Same != nil && g.ctx.Err() == nil {
		n = g.Same(g.ctx, top)
		g.sure[top] = n
	}
	return n
}

// add adds a folder, or the matching path below it, if it is a candidate. renamed means that the folder may be the
// topmost missing one under another name.
func (g *search) add(dir string, renamed bool) {
	dir = filepath.Clean(dir)
	if g.seen[dir] {
		return
	}
	g.seen[dir] = true
	var c Candidate
	if g.Same != nil && g.ctx.Err() == nil {
		t := g.treeOf(dir)
		if c.sure = g.confidence(t.top); c.sure > 0 {
			c.Same, c.linked = true, t.linked
		}
		if c.Same && !g.inside {
			dir = t.top
		}
	}
	for _, root := range slices.Backward(g.roots) { // the root with the longest path below it first
		c.named = strings.EqualFold(filepath.Base(dir), filepath.Base(root))
		if (!c.Same || g.inside) && !c.named && (!renamed || root != g.roots[len(g.roots)-1]) {
			continue
		}
		at := filepath.Join(dir, strings.TrimPrefix(g.gone, root))
		if g.paths[at] {
			return
		}
		if Gone(at) {
			continue
		}
		c.Same = c.Same && (c.named || !g.inside) // another name in a repository is a guess
		way, _ := filepath.Rel(g.gone, at)
		c.Path, c.far = at, strings.Count(way, string(filepath.Separator))
		g.paths[at], g.found = true, append(g.found, c)
		return
	}
}
