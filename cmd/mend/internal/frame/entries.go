package frame

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"mend/agent"
	"mend/change"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/journal"
)

// FindRepair returns the query for the entries of a repair or an operation with this id, see [mend.Journal.Find]. With
// --agent it selects only entries of that agent, and fails if there are none.
func (env *Env) FindRepair(name string) (journal.Query, error) {
	q, err := env.Opt.Journal.Find(name)
	if err != nil || env.AgentName == "" {
		return q, err
	}
	q.Agent = env.AgentName
	for _, err := range env.Opt.Journal.Each(q) {
		return q, err
	}
	return q, Usagef("%s changed nothing of the agent %s", mend.NameOf(q), env.AgentName)
}

// FindSessionOrRepair returns the query for the repairs that the user names, or nil and the session that the user
// names. The whole id of a repair or an operation takes precedence over sessions; the start of an id that also names
// a session is ambiguous.
func FindSessionOrRepair(ctx context.Context, env *Env, name string) (*journal.Query, NamedSession, error) {
	q, noRepair := env.FindRepair(name)
	if noRepair == nil && mend.NameOf(q) == name {
		return &q, NamedSession{}, nil
	}
	found, err := FindSessions(ctx, env, []string{name})
	switch {
	case err == nil && noRepair == nil && found[0].ID != name:
		return nil, found[0], fail.New(fail.Usage, "use the whole id", "ambiguous name %q: it matches repair %s and session %s", name, mend.NameOf(q), found[0].ID)
	case err == nil:
		return nil, found[0], nil
	case !errors.Is(err, mend.ErrNoSession):
		return nil, NamedSession{}, err
	case errors.Is(noRepair, journal.ErrNotFound):
		return nil, NamedSession{}, fmt.Errorf("%w, and no such session", noRepair)
	}
	return &q, NamedSession{}, noRepair
}

// CleanedHint returns how to bring back a session that "mend clean" removed, or may have removed, because an archive
// of rows does not name its sessions. Otherwise it returns "". An empty name means any session.
func (env *Env) CleanedHint(name string) string {
	maybe := ""
	for e, err := range env.Opt.Journal.Each(journal.Query{State: change.Committed, InForce: true, Cause: change.CauseClean, Agent: env.AgentName}) {
		switch {
		case err != nil:
			return "" // the verb reports it if it needs the journal
		case e.Forgotten || e.Cause.Text != "sessions":
		case name != "" && !e.Kind().Whole() && (strings.HasPrefix(e.Session, name) || strings.EqualFold(e.Cause.Title, name)):
			return fmt.Sprintf("\"mend clean\" removed it, and \"mend undo %s\" brings it back", e.ID)
		case name == "" || e.Kind().Whole():
			maybe = cmp.Or(maybe, e.ID)
		}
	}
	if maybe == "" {
		return ""
	}
	return fmt.Sprintf("if \"mend clean\" removed it, \"mend undo %s\" brings it back, or another clean in \"mend log\"", maybe)
}

// OpenEntryStore opens the store of an entry, even if the store was moved since.
func OpenEntryStore(ctx context.Context, env *Env, e change.Entry, write bool) (*mend.Store, error) {
	if env.Opt.Store == "" {
		env.Opt.Store = cmp.Or(movedPath(ctx, env, e), e.Store.Root)
		defer func() { env.Opt.Store = "" }() // hints leave out a store that the user did not name
	}
	c, err := OpenWith(ctx, env, env.Opt, write)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("repair %s: %w: %s is gone", e.ID, mend.ErrNoStore, env.Opt.Store)
	}
	if err == nil && c.ID().Root != e.Store.Root && c.Owns(ctx, e) {
		env.Note(fmt.Sprintf("repair %s was made in %s; that store is %s now", e.ID, term.ShortenHome(e.Store.Root), term.ShortenHome(c.ID().Root)))
	}
	return c, err
}

// movedPath returns the present path of an entry's store if that was moved, and the user names the new path or mend
// finds it; otherwise "".
func movedPath(ctx context.Context, env *Env, e change.Entry) string {
	found := env.Opt.Agents.Stores()
	if env.Opt.Store != "" {
		found = []mend.Located{{Path: env.Opt.Store}}
	}
	for _, l := range found {
		if path, err := filepath.EvalSymlinks(l.Path); err == nil && path == e.Store.Root {
			return ""
		}
	}
	for _, l := range found {
		o := env.Opt
		o.Store, o.Layout, o.Note = l.Path, l.Layout, nil
		if c, err := mend.Open(o); err == nil && c.Owns(ctx, e) {
			return l.Path
		}
	}
	return ""
}

// Newest returns the ids of the newest entries that find selects, in all stores or in those of the agent or the store
// that the user names. If there are none, it returns an error with the text none, and a hint if the journal has others.
func Newest(ctx context.Context, env *Env, find func(wanted func(change.Entry) bool) ([]string, error), none string) ([]string, error) {
	var store *mend.Store
	if env.Opt.Store != "" {
		c, err := mend.Open(env.Opt)
		if err != nil {
			return nil, err
		}
		store, none = c, none+" in "+term.ShortenHome(c.ID().Root)
	}
	elsewhere := map[change.StoreID]bool{}
	ids, err := find(func(e change.Entry) bool {
		if !slices.ContainsFunc(env.Opt.Agents, func(a agent.Agent) bool { return a.Name() == e.Store.Agent }) {
			return false
		}
		if store != nil && !elsewhere[e.Store] {
			elsewhere[e.Store] = !store.Owns(ctx, e)
		}
		return !elsewhere[e.Store]
	})
	if err != nil || len(ids) > 0 {
		return ids, err
	}
	err = fmt.Errorf("%w: %s", mend.ErrNothingToDo, none)
	if all, _ := find(func(change.Entry) bool { return true }); len(all) > 0 {
		e := env.Entry(all[0])
		err = fail.WithHint(err, fmt.Sprintf("the newest in the journal, %s, was made in %s; \"mend log %[1]s\" shows it", e.ID, term.ShortenHome(e.Store.Root)))
	}
	return nil, err
}

// Entry returns an entry that was read before. If it can no longer be read, only the id is set.
func (env *Env) Entry(id string) change.Entry {
	for e := range env.Entries([]string{id}) {
		return e
	}
	return change.Entry{ID: id}
}

// Entries reads entries again, and yields them one at a time. It omits those that it can no longer read.
func (env *Env) Entries(ids []string) iter.Seq[change.Entry] {
	return func(yield func(change.Entry) bool) {
		for e, err := range env.Opt.Journal.Each(journal.Query{IDs: show.NonNil(ids)}) {
			if err != nil || !yield(e) {
				return
			}
		}
	}
}

// PrintEntries prints one line for each entry, or the text none if there are no entries.
func PrintEntries(env *Env, es iter.Seq[change.Entry], related map[string]mend.Related, none string) error {
	if env.JSON {
		list := []show.RepairJSON{}
		for e := range es {
			r := show.EntryJSON(e, nil)
			if related != nil {
				r.Relate(related[e.ID])
			}
			list = append(list, r)
		}
		env.SetAnswers(show.RepairsAnswer{Repairs: list})
		return nil
	}
	defer env.Buffer()()
	var rows [][]any
	for e := range es {
		rows = append(rows, show.EntryRow(env.Terminal, e, show.EarlierRepair(e, related[e.ID])))
	}
	env.PrintRows(rows, "")
	if len(rows) == 0 {
		env.Printf("%s\n", none)
	}
	return nil
}

// RevertedEntries returns the id of an entry that each undo reverted: of several that were reverted together, the
// first.
func (env *Env) RevertedEntries(undos []string) (ids []string, err error) {
	for u, err := range env.Opt.Journal.Each(journal.Query{IDs: undos}) {
		if err != nil {
			return nil, err
		}
		ids = append(ids, journal.IDOf(u.Cause.Entries[0]))
	}
	return ids, nil
}

// ForcedError adds to a conflict the limits of --force, which was used.
func ForcedError(err error) error {
	if _, ok := errors.AsType[*change.ConflictError](err); !ok {
		return err
	}
	return fail.WithHint(err, "nothing was changed. mend never restores a record without its message, or removes a record that others refer to. If another program wrote meanwhile, run the command again")
}
