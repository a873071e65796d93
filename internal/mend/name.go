package mend

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/fail"
)

// An AmbiguousNameError is returned for a name that several sessions have.
type AmbiguousNameError struct {
	Name string
	Fits []int // the indices of the sessions, newest first
}

func (e *AmbiguousNameError) Error() string {
	return fmt.Sprintf("ambiguous session %q: it matches %d sessions", e.Name, len(e.Fits))
}

// Failure returns the exit code and the hint of [ErrNoSession].
func (e *AmbiguousNameError) Failure() (fail.Code, string) { return fail.Classify(ErrNoSession) }

// FindSession returns the index in heads, which are newest first, of the session that a user names: by its id or the
// start of it, by its title or a part of it in upper or lower case, as "." for the newest of the folder dir (see
// [Here]), or as "@" for the newest of all. The first of these that matches a session counts. The error wraps
// [ErrNoSession] if none matches, and is an [*AmbiguousNameError] if several sessions do.
func FindSession(heads []change.Head, name, dir string) (int, error) {
	switch name {
	case "":
		return 0, fmt.Errorf("%w: the name is empty", ErrNoSession)
	case "@":
		if len(heads) == 0 {
			return 0, fmt.Errorf("%w: the store has none", ErrNoSession)
		}
		return 0, nil
	case ".":
		i := slices.IndexFunc(heads, Here(heads, dir))
		if i < 0 {
			return 0, fmt.Errorf("%w in %s", ErrNoSession, cmp.Or(dir, "the current folder, which does not exist"))
		}
		return i, nil
	}
	lower := strings.ToLower(name)
	for _, match := range []func(change.Head) bool{
		func(h change.Head) bool { return h.ID == name },
		func(h change.Head) bool { return strings.EqualFold(h.Title, name) },
		func(h change.Head) bool { return strings.HasPrefix(h.ID, name) },
		func(h change.Head) bool { return strings.Contains(strings.ToLower(h.Title), lower) },
	} {
		var found []int
		for i := range heads {
			if match(heads[i]) {
				found = append(found, i)
			}
		}
		if len(found) == 0 {
			continue
		}
		// The parent of all others: the ids of its subagents are its id, a dot, and more.
		main := slices.MinFunc(found, func(a, b int) int { return cmp.Compare(len(heads[a].ID), len(heads[b].ID)) })
		if !slices.ContainsFunc(found, func(i int) bool {
			return i != main && !strings.HasPrefix(heads[i].ID, heads[main].ID+".")
		}) {
			return main, nil
		}
		return 0, &AmbiguousNameError{name, found}
	}
	return 0, fmt.Errorf("%w: %q", ErrNoSession, name)
}

// Here returns a function that reports whether a session began in dir or, if no session did, in the nearest parent
// folder of dir that has sessions, except the root.
func Here(heads []change.Head, dir string) func(change.Head) bool {
	folders := map[string]bool{}
	for _, h := range heads {
		folders[folderOf(h)] = true
	}
	dir = filepath.Clean(dir)
	at := dir
	for !folders[at] && at != filepath.Dir(at) {
		at = filepath.Dir(at)
	}
	if at != filepath.Dir(at) { // not the root
		dir = at
	}
	return func(h change.Head) bool { return h.Directory != "" && folderOf(h) == dir }
}

func folderOf(h change.Head) string { return filepath.Clean(h.Directory) }
