package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"mend/agent"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/journal"
)

// findRepair returns the repair that the user names; an operation must have a single repair.
func findRepair(env *environment, name string) (change.Entry, error) {
	es, err := env.opt.Journal.Find(name)
	if err != nil {
		return change.Entry{}, err
	}
	if len(es) > 1 {
		return es[0], fail.New(fail.Usage, fmt.Sprintf("\"mend log %s\" lists them: name one", name), "operation %s has %d repairs", name, len(es))
	}
	return es[0], nil
}

// findSessionOrRepair returns the repairs or the session that the user names. The whole id of a repair or an
// operation takes precedence over sessions; the start of a repair's id that also names a session is
// ambiguous.
func findSessionOrRepair(ctx context.Context, env *environment, name string) ([]change.Entry, namedSession, error) {
	es, noRepair := env.opt.Journal.Find(name)
	if noRepair == nil && slices.Contains([]string{es[0].ID, mend.OperationOf(es[0])}, name) {
		return es, namedSession{}, nil
	}
	found, err := findSessions(ctx, env, []string{name})
	switch {
	case err == nil && noRepair == nil && found[0].ID != name:
		return nil, found[0], fail.New(fail.Usage, "use the whole id", "ambiguous name %q: it fits repair %s and session %s", name, es[0].ID, found[0].ID)
	case err == nil:
		return nil, found[0], nil
	case !errors.Is(err, mend.ErrNoSession):
		return nil, namedSession{}, err
	case errors.Is(noRepair, journal.ErrNotFound):
		return nil, namedSession{}, fmt.Errorf("%w, and no such session", noRepair)
	}
	return es, namedSession{}, noRepair
}

// openStoreOf opens the store of an entry, even if it was moved since.
func openStoreOf(ctx context.Context, env *environment, e change.Entry, write bool) (*mend.Store, error) {
	if env.opt.Store == "" {
		env.opt.Store = cmp.Or(movedTo(ctx, env, e), e.Store.Root)
		defer func() { env.opt.Store = "" }() // the user did not name it: leave it out of hints
	}
	c, err := openFirst(ctx, env, write)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("repair %s: %w: %s is gone", e.ID, mend.ErrNoStore, env.opt.Store)
	}
	if err == nil && c.ID().Root != e.Store.Root && c.Owns(ctx, e) {
		env.Note(fmt.Sprintf("repair %s was made in %s; that store is %s now", e.ID, term.ShortenHome(e.Store.Root), term.ShortenHome(c.ID().Root)))
	}
	return c, err
}

// movedTo returns the path of an entry's store if it was moved and is the store that the user names, or one
// that mend finds; otherwise "".
func movedTo(ctx context.Context, env *environment, e change.Entry) string {
	found := env.opt.Agents.Stores()
	if env.opt.Store != "" {
		found = []mend.Located{{Path: env.opt.Store, Layout: env.opt.Layout}}
	}
	for _, l := range found {
		if path, err := filepath.EvalSymlinks(l.Path); err == nil && path == e.Store.Root {
			return ""
		}
	}
	for _, l := range found {
		o := env.opt
		o.Store, o.Layout, o.Note = l.Path, l.Layout, nil
		if c, err := mend.Open(o); err == nil && c.Owns(ctx, e) {
			return l.Path
		}
	}
	return ""
}

// newest returns the entries that find returns: of all stores, or of the agent or the store that the user names. If
// there are none, it returns an error with the text none and an explanation.
func newest(ctx context.Context, env *environment, find func(wanted func(change.Entry) bool) ([]change.Entry, error), none string) ([]change.Entry, error) {
	var store *mend.Store
	if env.opt.Store != "" {
		c, err := mend.Open(env.opt)
		if err != nil {
			return nil, err
		}
		store, none = c, none+" in "+term.ShortenHome(c.ID().Root)
	}
	elsewhere := map[change.StoreID]bool{}
	es, err := find(func(e change.Entry) bool {
		if !slices.ContainsFunc(env.opt.Agents, func(a agent.Agent) bool { return a.Name() == e.Store.Agent }) {
			return false
		}
		if store != nil && !elsewhere[e.Store] {
			elsewhere[e.Store] = !store.Owns(ctx, e)
		}
		return !elsewhere[e.Store]
	})
	if err != nil || len(es) > 0 {
		return es, err
	}
	err = fmt.Errorf("%w: %s", mend.ErrNothingToDo, none)
	if all, _ := find(func(change.Entry) bool { return true }); len(all) > 0 {
		id := all[0].ID
		err = fail.WithHint(err, fmt.Sprintf("the newest of the journal, %s, was made in %s; \"mend log %s\" shows it", id, term.ShortenHome(all[0].Store.Root), id))
	}
	return nil, err
}
