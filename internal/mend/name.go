package mend

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mend/change"
)

// An AmbiguousNameError is returned for a name that several sessions have. It wraps
// [ErrNoSession].
type AmbiguousNameError struct {
	Name     string
	Sessions []change.Head // newest first
}

func (e *AmbiguousNameError) Error() string {
	return fmt.Sprintf("ambiguous session %q: it fits %d sessions", e.Name, len(e.Sessions))
}

// Unwrap returns [ErrNoSession].
func (e *AmbiguousNameError) Unwrap() error { return ErrNoSession }

// Named returns the session that a user names, of heads, which are newest first: by its id or the start of it,
// by its title or a part of it in upper or lower case, as "." for the newest of the folder dir (see [Here]), or
// as "@" for the newest of all. The first of these that fits any session counts. The error
// wraps [ErrNoSession] and is an [*AmbiguousNameError] if several sessions fit.
func Named(heads []change.Head, name, dir string) (change.Head, error) {
	switch name {
	case "":
		return change.Head{}, fmt.Errorf("%w: the name is empty", ErrNoSession)
	case "@":
		if len(heads) == 0 {
			return change.Head{}, fmt.Errorf("%w: the store has none", ErrNoSession)
		}
		return heads[0], nil
	case ".":
		i := slices.IndexFunc(heads, Here(heads, dir))
		if i < 0 {
			return change.Head{}, fmt.Errorf("%w in %s", ErrNoSession, cmp.Or(dir, "the current folder, which does not exist"))
		}
		return heads[i], nil
	}
	lower := strings.ToLower(name)
	for _, fits := range []func(change.Head) bool{
		func(h change.Head) bool { return h.ID == name },
		func(h change.Head) bool { return strings.EqualFold(h.Title, name) },
		func(h change.Head) bool { return strings.HasPrefix(h.ID, name) },
		func(h change.Head) bool { return strings.Contains(strings.ToLower(h.Title), lower) },
	} {
		found := slices.DeleteFunc(slices.Clone(heads), func(h change.Head) bool { return !fits(h) })
		if len(found) == 0 {
			continue
		}
		if h, ok := withSubagents(found); ok {
			return h, nil
		}
		return change.Head{}, &AmbiguousNameError{name, found}
	}
	return change.Head{}, fmt.Errorf("%w: %q", ErrNoSession, name)
}

// withSubagents returns the session that all others are subagents of: their ids are its id, a dot,
// and more.
func withSubagents(found []change.Head) (change.Head, bool) {
	main := slices.MinFunc(found, func(a, b change.Head) int { return cmp.Compare(len(a.ID), len(b.ID)) })
	others := slices.DeleteFunc(slices.Clone(found), func(h change.Head) bool { return strings.HasPrefix(h.ID, main.ID+".") })
	return main, len(others) == 1
}

// Here returns which sessions are of a folder: those that were started in it, or if there are
// none, in the nearest folder above that has any, except the root.
func Here(heads []change.Head, dir string) func(change.Head) bool {
	has := map[string]bool{}
	for _, h := range heads {
		has[folderOf(h)] = true
	}
	dir = filepath.Clean(dir)
	at := dir
	for !has[at] && at != filepath.Dir(at) {
		at = filepath.Dir(at)
	}
	if at != filepath.Dir(at) { // the root is above everything
		dir = at
	}
	return func(h change.Head) bool { return h.Directory != "" && folderOf(h) == dir }
}

func folderOf(h change.Head) string { return filepath.Clean(h.Directory) }
