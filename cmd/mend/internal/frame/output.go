package frame

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/internal/atomicfile"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/ownfile"
	"mend/internal/userdir"
	"mend/journal"
)

// CreateFile creates the file that a user named for an answer, all or nothing, readable by the user alone. Even with
// force it neither replaces nor adds files of mend or of a store.
func (env *Env) CreateFile(path string, force bool, write func(io.Writer) error) error {
	const hint = "name another file, or - for standard output"
	// The command in an UnsafeError is for mend's own files, and might remove this one.
	if unsafe, ok := errors.AsType[*ownfile.UnsafeError](ownfile.CheckEditable(path)); ok {
		return fail.New(fail.Refused, hint, "writing %s: mend does not overwrite it: it %s", path, unsafe.Why)
	}
	if owner := env.OwnerOf(path); owner != "" {
		return fail.New(fail.Refused, hint, "writing %s: mend writes no answer among the files of %s", path, owner)
	}
	if _, err := os.Lstat(path); err == nil && !force { // check before the work
		return fail.New(fail.Refused, "name another file, or use --force", "writing %s: the file exists", path)
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	if force {
		return atomicfile.WriteFile(path, text.Bytes(), 0o600)
	}
	return atomicfile.Replace(path, nil, text.Bytes(), 0o600)
}

// OwnerOf returns the owner of a path: mend for its own folders, an agent for its store or for its file that starts
// mend; "" for none. Stores are those that are found, named by the user or in the journal.
func (env *Env) OwnerOf(path string) string {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "" // without its folder the file cannot be created
	}
	path = filepath.Join(dir, filepath.Base(path))
	for _, folder := range []func() (string, error){env.Opt.Journal.Folder, userdir.Cache, userdir.Config} {
		if own, err := folder(); err == nil && isBelow(path, own) {
			return "mend"
		}
	}
	for _, a := range agents.All {
		if in := a.Installer(); in != nil && slices.ContainsFunc([]bool{false, true}, func(project bool) bool {
			file, err := in.Path(project)
			return err == nil && isSame(path, file)
		}) {
			return agents.Title(change.StoreID{Agent: a.Name()})
		}
	}
	stores := mend.Agents(agents.All).Stores()
	if c, err := env.OpenAt(env.Opt.Store); err == nil {
		stores = append(stores, mend.Located{Path: c.ID().Root, Agent: c.ID().Agent})
	}
	for e, err := range env.Opt.Journal.Each(journal.Query{}) {
		if err != nil {
			break // an unreadable journal names no stores
		}
		if at := (mend.Located{Path: e.Store.Root, Agent: e.Store.Agent}); !slices.Contains(stores, at) {
			stores = append(stores, at)
		}
	}
	for _, s := range stores {
		if isOfStore(path, s.Path) {
			return agents.Title(change.StoreID{Agent: s.Agent})
		}
	}
	return ""
}

// AgentOf returns the title of the agent that has a database in the folder; "" for none.
func AgentOf(folder string) string {
	for _, s := range mend.Agents(agents.All).Stores() {
		if info, err := os.Stat(s.Path); err == nil && info.Mode().IsRegular() && isSame(folder, filepath.Dir(s.Path)) {
			return agents.Title(change.StoreID{Agent: s.Agent})
		}
	}
	return ""
}

// isOfStore reports whether a path without links belongs to the store at root. Files whose names begin with the name of
// a database belong to the database, and so do some folders.
func isOfStore(path, root string) bool {
	dir, name := filepath.Split(root)
	if info, err := os.Stat(root); err != nil || info.IsDir() {
		return err == nil && isBelow(path, root)
	}
	return isSame(path, root) || isSame(filepath.Dir(path), dir) && strings.HasPrefix(strings.ToLower(filepath.Base(path)), strings.ToLower(name)) ||
		slices.ContainsFunc([]string{"storage", "snapshot", ".mend"}, func(name string) bool { return isBelow(path, dir+name) })
}

// isBelow reports whether a path without links is a folder or below it.
func isBelow(path, folder string) bool {
	for !isSame(path, folder) {
		if path == filepath.Dir(path) {
			return false
		}
		path = filepath.Dir(path)
	}
	return true
}

// isSame reports whether two paths lead to the same file.
func isSame(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}
