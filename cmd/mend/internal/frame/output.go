package frame

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/internal/atomicfile"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/ownfile"
	"mend/internal/userdir"
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

// OwnerOf returns the owner of a path: mend for its own folders, an agent for the folder of its store, or for a store that
// the user named; "" for none. Files whose names begin with the name of a database belong to the database.
func (env *Env) OwnerOf(path string) string {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "" // without its folder the file cannot be created
	}
	name := filepath.Base(path)
	path = filepath.Join(dir, name)
	for _, folder := range []func() (string, error){env.Opt.Journal.Folder, userdir.Cache, userdir.Config} {
		if own, err := folder(); err == nil && isBelow(path, own) {
			return "mend"
		}
	}
	for _, s := range mend.Agents(agents.All).Stores() {
		folder := s.Path
		if info, err := os.Stat(folder); err == nil && !info.IsDir() {
			folder = filepath.Dir(folder)
		}
		if isBelow(path, folder) {
			return agents.Title(change.StoreID{Agent: s.Agent})
		}
	}
	if c, err := env.OpenAt(env.Opt.Store); err == nil {
		root := c.ID().Root
		if isBelow(path, root) || isSame(dir, filepath.Dir(root)) && strings.HasPrefix(strings.ToLower(name), strings.ToLower(filepath.Base(root))) {
			return agents.Title(c.ID())
		}
	}
	return ""
}

// isBelow reports whether a path without links is a file or a folder, or below it.
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
