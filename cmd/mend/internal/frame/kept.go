package frame

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/term"
)

// DamagedBefore returns the damaged files with copies that were set aside before a time.
func DamagedBefore(env *Env, before time.Time) []string {
	dir, err := env.Opt.Journal.Folder()
	if err != nil {
		return nil
	}
	all, _ := keep.Damaged(dir, before) // an unreadable folder is reported elsewhere
	return all
}

// UsesCopies reports whether a path is a folder with copies of "mend keep --to", or leads to their file. If it is, the
// command reads these copies instead of the local ones.
func (env *Env) UsesCopies(path string) bool {
	if path == "" {
		return false
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	if dir := filepath.Dir(path); path == keep.Path(dir) {
		path = dir
	}
	for _, dir := range []string{filepath.Join(path, "mend"), path} {
		if _, err := os.Lstat(keep.Path(dir)); err == nil {
			env.Opt.Journal.Copies = dir
			return true
		}
	}
	return false
}

// RemakeText returns a text that says how a missing store is created again, so that its sessions can be restored.
func (env *Env) RemakeText(store change.StoreID, restore string) string {
	if env.Opt.Agents.Folders(store) != nil {
		return restore + " makes it again"
	}
	return fmt.Sprintf("start %s once, so that its store exists; then %s", agents.Title(store), restore)
}

// NoStore returns the error for a session with a missing store.
func (s NamedSession) NoStore(env *Env) error {
	return fail.New(fail.Problems, env.RemakeText(s.StoreID, env.CommandLine("restore", s.ID)),
		"session %s was kept, but its store no longer exists: %s", s.ID, term.ShortenHome(s.StoreID.Root))
}

// ListUnfound returns the copied sessions of missing stores.
func ListUnfound(ctx context.Context, env *Env, clients []*mend.Store, k *keep.Keep) (all []Restorable, err error) {
	if k == nil || env.Opt.Store != "" {
		return nil, nil
	}
	found, err := env.Opt.Agents.MissingStoreSessions(ctx, k, clients)
	for _, r := range found {
		all = append(all, Restorable{Restorable: r})
	}
	return all, err
}

// WithKept runs f with the kept copies open for reading; with nil if they cannot be used: then a note is
// printed and env.unkept has the reason.
func WithKept(env *Env, f func(*keep.Keep) error) error {
	opened := false
	err := env.Opt.Journal.Kept(keep.Options{ReadOnly: true}, func(k *keep.Keep) error {
		opened = true
		return f(k)
	})
	if opened || err == nil {
		return err
	}
	env.Unkept = fmt.Errorf("the copies are not checked: %w", err)
	env.NoteSkipped(env.Unkept)
	if errors.Is(err, keep.ErrDamaged) {
		env.Note("\"mend keep\" brings over what can be read of it to a new file")
	}
	return f(nil)
}

// UnkeptError returns an error if copies would have been needed and cannot be used; a note was printed.
func (env *Env) UnkeptError(doing string) error {
	code, hint := fail.Classify(env.Unkept)
	return fail.New(code, hint, "%s, and the copies are not checked", doing)
}

// OpenLost opens the store of a session that may be missing, as [openFound] does. It reports unread, the error of the
// skipped stores, and returns it as left.
func OpenLost(ctx context.Context, env *Env, s *NamedSession, unread error, write bool) (c *mend.Store, left, err error) {
	switch {
	case errors.Is(unread, mend.ErrNoStore):
		left = &ReportedError{unread} // the other error is more specific
	case unread != nil:
		left = env.SkipStore(ctx, nil, unread)
	}
	if s.Store == nil {
		return nil, left, s.NoStore(env)
	}
	all, err := openFound(ctx, env, []NamedSession{*s}, write)
	if err == nil {
		s.Head = all[0].Named[0]
	}
	return s.Store, left, err
}

// IsKept reports whether a session has a copy.
func (env *Env) IsKept(session string) bool {
	if env.kept == nil {
		env.kept = map[string]bool{}
		_ = WithKept(env, func(k *keep.Keep) error { // unreadable copies cause a note
			if k == nil {
				return nil
			}
			return k.Each(keep.Query{}, func(s *keep.State) { env.kept[s.Session] = true })
		})
	}
	return env.kept[session]
}
