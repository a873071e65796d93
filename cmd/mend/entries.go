package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"mend/change"
	"mend/internal/mend"
	"mend/journal"
)

// openEntry opens the store of the repair with the id, which the journal knows. A store that the
// user names comes first.
func (a *app) openEntry(cmd *cobra.Command, id string, write bool) (*mend.Store, error) {
	e, _, err := a.opt.Journal.Show(id)
	if err != nil {
		return nil, err
	}
	return a.openStoreOf(cmd, e, write)
}

// openStoreOf opens the store of an entry, also if it was moved since.
func (a *app) openStoreOf(cmd *cobra.Command, e change.Entry, write bool) (*mend.Store, error) {
	if a.opt.Store == "" {
		a.opt.Store = cmp.Or(a.movedTo(cmd.Context(), e), e.Store.Root)
		defer func() { a.opt.Store = "" }() // the user did not name it: no hint has it
	}
	c, err := a.open(cmd, write)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("repair %s: %w: %s is gone", e.ID, mend.ErrNoStore, a.opt.Store)
	}
	if err == nil && c.ID().Root != e.Store.Root && c.Owns(cmd.Context(), e) {
		a.printNote(fmt.Sprintf("repair %s was made in %s; that store is %s now", e.ID, shortenHome(e.Store.Root), shortenHome(c.ID().Root)))
	}
	return c, err
}

// movedTo returns the path of the store of an entry if it is not where the entry was made, and is
// the one that the user names or one of those that mend finds; else "".
func (a *app) movedTo(ctx context.Context, e change.Entry) string {
	found := a.opt.Agents.Stores()
	if a.opt.Store != "" {
		found = []mend.Located{{Path: a.opt.Store, Layout: a.opt.Layout}}
	}
	for _, l := range found {
		if path, err := filepath.EvalSymlinks(l.Path); err == nil && path == e.Store.Root {
			return ""
		}
	}
	for _, l := range found {
		o := a.opt
		o.Store, o.Layout, o.Note = l.Path, l.Layout, nil
		if c, err := mend.Open(o); err == nil && c.Owns(ctx, e) {
			return l.Path
		}
	}
	return ""
}

// newestRepair returns the newest entry of the stores that mend finds, or of the store that the
// user names, for which wanted is true. If there is none, the error says so in the words of what.
func (a *app) newestRepair(ctx context.Context, what string, wanted func(change.Entry) bool) (change.Entry, error) {
	es, err := a.opt.Journal.Log(journal.Query{State: change.Committed})
	if err != nil {
		return change.Entry{}, err
	}
	roots, err := a.storeRoots()
	if err != nil {
		return change.Entry{}, err
	}
	elsewhere := map[change.StoreID]bool{}
	var away change.Entry
	for _, e := range es { // the newest first
		if !wanted(e) || elsewhere[e.Store] {
			continue
		}
		if slices.Contains(roots, e.Store.Root) || a.movedTo(ctx, e) != "" {
			return e, nil
		}
		elsewhere[e.Store] = true
		if away.ID == "" {
			away = e
		}
	}
	switch {
	case len(es) == 0:
		what = "no repairs yet"
	case away.ID != "":
		what += fmt.Sprintf(" here; %s was made in %s", away.ID, shortenHome(away.Store.Root))
	}
	return change.Entry{}, fmt.Errorf("%w: %s", mend.ErrNothingToDo, what)
}

// storeRoots returns the canonical paths of the stores.
func (a *app) storeRoots() ([]string, error) {
	if a.opt.Store != "" {
		c, err := mend.Open(a.opt)
		if err != nil {
			return nil, err
		}
		return []string{c.ID().Root}, nil
	}
	var roots []string
	for _, l := range a.opt.Agents.Stores() {
		if path, err := filepath.EvalSymlinks(l.Path); err == nil {
			roots = append(roots, path)
		}
	}
	if len(roots) == 0 {
		_, err := mend.Open(a.opt)
		return nil, err
	}
	return roots, nil
}

// inForce reports whether the entry is a repair that is not undone.
func inForce(e change.Entry) bool {
	return e.UndoneBy == "" && !e.Forgotten && e.Cause.Kind != change.CauseUndo && e.Cause.Kind != change.CauseRedo
}

// undoInForce reports whether the entry is an undo that is not undone itself.
func undoInForce(e change.Entry) bool {
	return e.Cause.Kind == change.CauseUndo && !e.Cause.Partial && e.UndoneBy == "" && !e.Forgotten && len(e.Cause.Entries) > 0
}

// knownSessions returns the sessions of the stores, if there are any, newest first, and then those of
// the journal that no store has.
func (a *app) knownSessions(ctx context.Context) ([]change.Head, error) {
	var heads []change.Head
	options := a.agentOptions()
	if len(options) > 1 {
		var unread error
		if heads, _, unread = sessionsOf(ctx, options); unread != nil {
			a.noteSkipped(fmt.Errorf("a store is not examined: %w", unread))
		}
	} else {
		c, err := mend.Open(options[0])
		if err == nil {
			heads, err = c.Sessions(ctx)
		}
		if err != nil && !errors.Is(err, mend.ErrNoStore) {
			return nil, err
		}
	}
	es, err := a.opt.Journal.Log(journal.Query{})
	if err != nil && !errors.Is(err, journal.ErrDamaged) { // then what can be read of it is enough to find a session
		return nil, err
	}
	has := map[string]bool{}
	for _, h := range heads {
		has[h.ID] = true
	}
	for _, e := range es {
		if e.Session != "" && !has[e.Session] {
			has[e.Session] = true
			heads = append(heads, change.Head{ID: e.Session, Title: e.Cause.Title, Directory: e.Cause.Folder})
		}
	}
	return heads, nil
}

// repairedSession returns the id of a session that the user names, among those of the store and
// of the journal. For an id of the journal it reads no store.
func (a *app) repairedSession(ctx context.Context, name string) (string, error) {
	es, err := a.opt.Journal.Log(journal.Query{Session: name, Limit: 1})
	if err != nil && !errors.Is(err, journal.ErrDamaged) {
		return name, err
	}
	if slices.ContainsFunc(es, func(e change.Entry) bool { return e.Session == name }) {
		return name, nil
	}
	heads, err := a.knownSessions(ctx)
	if err != nil {
		return "", err
	}
	h, err := a.named(heads, name)
	return h.ID, err
}
