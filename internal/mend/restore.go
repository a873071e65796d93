package mend

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mend/agent"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/keep"
	"mend/journal"
	"mend/repair"
	"mend/undo"
)

// The states of a restorable session, in addition to the values of [repair.Shown].
const (
	Deleted   = "deleted"   // the agent no longer has it
	Shortened = "shortened" // it has fewer messages, parts or files than a copy
	Undone    = "undone"    // it lacks messages that the agent has removed itself, as after /undo; it is not listed
	Replaced  = "replaced"  // it has other messages than a copy
	Elsewhere = "elsewhere" // it is in another store of the agent, which the agent does not read

	PromptsOnly = "prompts only" // the agent deleted it, and only the user's prompts are left
)

// A Restorable is a session that can be restored.
type Restorable struct {
	Session change.Head // as the store lists it, or as it was when it was kept
	State   string      // its present state: of [repair.Shown], or one of the constants above
	Now     int         // how many messages it has
	Copied  int         // how many messages the fullest copy has; 0 for none

	Other string          // the path of the other store that has it, if State is Elsewhere or PromptsOnly
	Gone  *change.StoreID // its store, if that is missing; else nil

	// The newest complete copy with the missing records, if the session's own are not enough. A list holds no
	// [keep.State], which is larger than the rest.
	Kept    int       // how many messages it has; 0 for no copy
	KeptAt  time.Time // when it was made
	Missing int       // how many of the compared records are gone or empty
}

// Time returns the time of the restored state: when it was copied, or when the session was last used.
func (r *Restorable) Time() time.Time {
	if r.Kept > 0 {
		return r.KeptAt
	}
	return time.UnixMilli(max(r.Session.Updated, r.Session.Created))
}

// missingSession returns a missing session with the copy to restore.
func missingSession(best *keep.State) Restorable {
	return Restorable{Session: best.Head(), State: Deleted, Copied: best.Messages, Kept: best.Messages, KeptAt: best.Time}
}

// Restorables lists the sessions of the store that can be restored, newest first: hidden ones, and those that
// lack content of a copy in k, which may be nil. It only reads. If sessions cannot be read it returns an
// error, and the others.
func (c *Store) Restorables(ctx context.Context, k *keep.Keep) (all []Restorable, err error) {
	cached := c.WithCache()
	heads, err := cached.Sessions(ctx)
	if err != nil {
		return nil, err
	}
	kept, err := c.keptSessions(k)
	if err != nil {
		return nil, err
	}
	var unread []Finding
	for f := range cached.Scan(ctx, heads) {
		if f.Err != nil {
			unread = append(unread, f)
		}
		var states []keep.State
		if _, copied := kept[f.Session.ID]; copied {
			kept[f.Session.ID] = false
			if states, err = c.keptStates(k, f.Session.ID); err != nil {
				return nil, err
			}
		}
		r, _, ok, err := c.restorable(ctx, k, f, states)
		if err != nil && f.Err == nil {
			f.Err = err
			unread = append(unread, f)
		}
		if ok && err == nil {
			all = append(all, r)
		}
	}
	for id, gone := range kept {
		if !gone {
			continue
		}
		states, err := c.keptStates(k, id)
		if err != nil {
			return nil, err
		}
		if best := lastWhole(ctx, k, states); best != nil {
			all = append(all, missingSession(best))
		}
	}
	beside, errBeside := c.elsewhere(ctx, heads)
	for _, b := range beside {
		state := Elsewhere
		if b.promptsOnly {
			state = PromptsOnly
		}
		for _, head := range b.heads {
			if states, err := c.keptStates(k, head.ID); err != nil || newest(states) == nil {
				all = append(all, Restorable{Session: head, State: state, Other: b.store.ID().Root})
			}
		}
	}
	slices.SortFunc(all, func(a, b Restorable) int { return b.Time().Compare(a.Time()) })
	errs := []error{ctx.Err(), errBeside, c.checkListed(heads)}
	if len(unread) > 0 && ctx.Err() == nil {
		errs = append(errs,
			fmt.Errorf("examining session %s, one of %d in the store that cannot be read, so what these lack is unknown: %w",
				unread[0].Session.ID, len(unread), unread[0].Err))
	}
	return all, errors.Join(errs...)
}

// newest returns the newest complete state; nil for none.
func newest(states []keep.State) *keep.State {
	for i := range states {
		if states[i].Complete() {
			return &states[i]
		}
	}
	return nil
}

// lastWhole returns the state to restore for a missing session: the newest, or the one with the most messages if the
// newest is a prefix of it, because the session was cut. Messages that the user reverted before continuing are not
// restored. If no state is complete, the incomplete one with the most messages is returned, nil for none.
func lastWhole(ctx context.Context, k *keep.Keep, states []keep.State) *keep.State {
	last, most := newest(states), fullest(states, (*keep.State).Complete)
	if last == nil {
		return fullest(states, func(s *keep.State) bool { return s.Messages > 0 })
	}
	if most.Messages <= last.Messages {
		return last
	}
	whole, err := k.Load(ctx, *most)
	ops, err2 := k.Load(ctx, *last)
	if errors.Join(err, err2) != nil {
		return most
	}
	kept := map[change.Ref]bool{}
	for _, o := range whole {
		kept[o.Ref] = true
	}
	if slices.ContainsFunc(ops, func(o change.Op) bool { return o.Ref.Kind == change.KindMessage && !kept[o.Ref] }) {
		return last
	}
	return most
}

// fullest returns the wanted state with the most messages, the newest of several; nil for none. States are
// newest first, and a state that continues an older one has all its messages.
func fullest(states []keep.State, wanted func(*keep.State) bool) (best *keep.State) {
	for i := range states {
		if s := &states[i]; wanted(s) && (best == nil || s.Messages > best.Messages) {
			best = s
		}
	}
	return best
}

// restorable reports whether a listed session can be restored. from is the one of its copies (states, newest first) to
// restore from; nil if the session's own records are enough.
func (c *Store) restorable(
	ctx context.Context, k *keep.Keep, f Finding, states []keep.State,
) (r Restorable, from *keep.State, ok bool, err error) {
	shown := repair.ShownAs(slices.DeleteFunc(slices.Clone(f.Diagnoses), func(d repair.Diagnosis) bool {
		// mend move fixes a missing folder; a session that was taken over must not be changed
		return d.Shown == repair.NoFolder || d.Shown == repair.TakenOver
	}))
	r = Restorable{Session: f.Session, State: string(shown)}
	if shown == repair.Listed && len(states) == 0 {
		return r, nil, false, nil
	}
	now, err := c.presentContent(ctx, f.Session, states)
	if err != nil {
		return r, nil, false, err
	}
	r.Now = now.Messages
	if best := fullest(states, (*keep.State).Complete); best != nil {
		r.Copied = best.Messages
	}
	from = fullest(states, func(s *keep.State) bool {
		if !s.Complete() || s.Messages <= now.Messages {
			return false
		}
		left := s.Messages
		removed, _ := c.editsSince(ctx, s.Session, s.Time)
		for ref := range removed {
			if ref.Kind == change.KindMessage {
				left--
			}
		}
		return left > now.Messages
	})
	var lack agent.Lack
	if from == nil {
		if from, lack, err = c.findMissing(ctx, k, now, states); err != nil {
			return r, nil, false, err
		}
		r.Missing = lack.Records
	}
	undone := from != nil && c.isUndone(ctx, k, f.Session, from)
	if undone && shown != repair.Listed {
		from = nil
	}
	if from != nil {
		r.Kept, r.KeptAt = from.Messages, from.Time
	}
	switch {
	case shown != repair.Listed:
		return r, from, shown != repair.NotLoaded || from != nil, nil
	case from == nil:
		return r, nil, false, nil
	case undone:
		r.State = Undone
		return r, from, false, nil
	case from.First != now.First && now.Messages > 0 && (r.Missing == 0 || lack.Messages >= from.Messages):
		r.State = Replaced
	default:
		r.State = Shortened
	}
	return r, from, true, nil
}

// isUndone reports whether the agent itself has removed all that a session lacks of a copy.
func (c *Store) isUndone(ctx context.Context, k *keep.Keep, head change.Head, from *keep.State) bool {
	gone, err := c.store.RemovedMessages(ctx, head)
	if err != nil || len(gone) == 0 {
		return false
	}
	now, err := c.store.Copy(ctx, head)
	if err != nil {
		return false
	}
	ops, err := k.Load(ctx, *from)
	if err != nil {
		return false
	}
	_, edited := c.editsSince(ctx, head.ID, from.Time)
	for _, o := range ops {
		if gone[o.Ref.Message] {
			edited[o.Ref.WithoutProject()] = true
		}
	}
	return c.store.CountMissing(now.Records, recordsOf(ops), edited).Records == 0
}

// findMissing returns the newest state with records that the session lacks now, or has without content, although it
// has at least as many records. Earlier states count only if the copies show a loss after them. Messages that the
// user reverted before a later copy are not missing.
func (c *Store) findMissing(
	ctx context.Context, k *keep.Keep, now current, states []keep.State,
) (*keep.State, agent.Lack, error) {
	if k == nil {
		return nil, agent.Lack{}, nil
	}
	compared := false
	var failed error
	for i := range states {
		s := &states[i]
		isShown := i > 0 && states[i-1].Lacks(s) || s.First != now.First || s.Messages == now.Messages &&
			s.Records > now.Records
		if !s.Complete() || (compared || now.same) && !isShown {
			continue
		}
		ops, err := k.Load(ctx, *s)
		if err == nil && now.all == nil {
			var present []change.Op
			present, err = k.Load(ctx, states[0])
			now.all = recordsOf(present)
		}
		if ctx.Err() != nil {
			return nil, agent.Lack{}, ctx.Err()
		}
		if err != nil { // this copy cannot be restored
			failed = cmp.Or(failed, err)
			continue
		}
		_, edited := c.editsSince(ctx, s.Session, s.Time)
		lack := c.store.CountMissing(now.all, recordsOf(ops), edited)
		if taken := lack.TakenBack && (compared || now.same); lack.Records > 0 && !taken {
			return s, lack, nil
		}
		compared = true
	}
	if compared {
		failed = nil
	}
	return nil, agent.Lack{}, failed
}

// recordsOf returns the records that ops create.
func recordsOf(ops []change.Op) []change.Record {
	all := make([]change.Record, len(ops))
	for i, o := range ops {
		all[i] = change.RecordOf(o.Ref, o.Post)
	}
	return all
}

// editsSince returns the messages and parts that changes in force have removed from a session since a time, and as
// edited also the changed ones; the session itself if it is a single record. It leaves out projects.
func (c *Store) editsSince(
	ctx context.Context, session string, since time.Time,
) (removed, edited map[change.Ref]bool) {
	id := c.ID()
	es, err := c.Log(ctx, journal.Query{Store: &id, Session: session, State: change.Committed, InForce: true})
	removed, edited = map[change.Ref]bool{}, map[change.Ref]bool{}
	if err != nil { // without a journal mend has changed nothing
		return removed, edited
	}
	for _, e := range slices.Backward(es) { // the oldest first
		for _, o := range e.Ops {
			file := o.Ref.Kind == change.KindSession && e.Cause.Kind != change.CauseMove // of a session in one record
			if !file && o.Ref.Kind != change.KindMessage && o.Ref.Kind != change.KindPart || !e.Time.After(since) {
				continue
			}
			ref := o.Ref.WithoutProject()
			delete(removed, ref)
			delete(edited, ref)
			switch {
			case o.Post == nil && !file:
				removed[ref], edited[ref] = true, true
			case e.Cause.Kind != change.CauseRestore:
				edited[ref] = true
			}
		}
	}
	return removed, edited
}

// A current is the present content of a session.
type current struct {
	keep.State                 // the fields that are compared: messages, records and the first message
	same       bool            // it has not changed since the newest state
	all        []change.Record // nil if it has not changed, or cannot be read
}

// presentContent returns the present content of a session. It reads the session only if it has changed since its last
// copy.
func (c *Store) presentContent(ctx context.Context, head change.Head, states []keep.State) (current, error) {
	if len(states) > 0 && c.hasStamp(ctx, head, states[0].Stamp) {
		return current{State: states[0], same: true}, nil
	}
	now, err := c.store.Copy(ctx, head)
	if errors.Is(err, errors.ErrUnsupported) {
		err = nil
	}
	if err != nil && ctx.Err() == nil { // all content of an unreadable session counts as missing
		return current{}, nil
	}
	return current{keep.State{Messages: now.Messages, First: now.First, Records: len(now.Records)}, false, now.Records},
		err
}

// keptStates returns the copies of a session of the store, newest first.
func (c *Store) keptStates(k *keep.Keep, session string) ([]keep.State, error) {
	if k == nil {
		return nil, nil
	}
	return k.States(keep.Query{Store: c.HasCopiesOf, Session: session})
}

// HasCopiesOf reports whether the copies of the store id can be restored into this one: it is this store or, if the
// copies are in a second place, a store of the agent that this machine does not have. That store may have another path
// on its machine, but a database must have the same file name.
func (c *Store) HasCopiesOf(id change.StoreID) bool {
	own := c.ID()
	if own.Same(id) || c.journal.Copies == "" {
		return own.Same(id)
	}
	if own.Agent != id.Agent || own.Kind != id.Kind || own.Kind == "sqlite" && filepath.Base(own.Root) != filepath.Base(id.Root) {
		return false
	}
	_, err := os.Lstat(id.Root)
	return errors.Is(err, os.ErrNotExist)
}

func (c *Store) keptSessions(k *keep.Keep) (map[string]bool, error) {
	ids := map[string]bool{}
	if k == nil {
		return ids, nil
	}
	return ids, k.Each(keep.Query{Store: c.HasCopiesOf}, func(s *keep.State) { ids[s.Session] = true })
}

// MissingStoreSessions lists the sessions in k of missing stores, each with the state that [Store.ProposeRestore]
// selects. Sessions that an open store has are left out.
func (as Agents) MissingStoreSessions(ctx context.Context, k *keep.Keep, open []*Store) (all []Restorable, err error) {
	type inStore struct{ kind, root string }
	known, sessions := map[inStore]bool{}, map[string]bool{}
	isMissing := func(id change.StoreID) bool {
		at := inStore{id.Kind, id.Root}
		missing, ok := known[at]
		if !ok {
			missing = !slices.ContainsFunc(open, func(c *Store) bool { return c.HasCopiesOf(id) }) && as.isGone(id)
			known[at] = missing
		}
		return missing
	}
	err = k.Each(keep.Query{}, func(s *keep.State) {
		if isMissing(s.Store) {
			sessions[s.Session] = true
		}
	})
	if err != nil {
		return nil, err
	}
	for _, c := range open {
		if len(sessions) == 0 {
			return nil, nil
		}
		heads, _ := c.Sessions(ctx) // the caller knows that it cannot be read
		for _, h := range heads {
			delete(sessions, h.ID)
		}
	}
	for session := range sessions {
		states, err := k.States(keep.Query{Session: session})
		if err != nil {
			return nil, err
		}
		states = slices.DeleteFunc(states, func(s keep.State) bool { return !isMissing(s.Store) })
		if best := lastWhole(ctx, k, states); best != nil {
			r := missingSession(best)
			r.Gone = new(best.Store)
			all = append(all, r)
		}
	}
	return all, ctx.Err()
}

// isGone reports whether the store certainly does not exist.
func (as Agents) isGone(id change.StoreID) bool {
	own := as.agentOf(id)
	if len(own) == 0 {
		return false
	}
	if _, err := os.Lstat(id.Root); err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	_, err := Open(Options{Agents: own, Store: id.Root})
	return errors.Is(err, ErrNoStore)
}

// Folders returns the folders that must exist before sessions can be restored into a missing store; nil if
// only its agent can make the store.
func (as Agents) Folders(id change.StoreID) []string {
	for _, a := range as.agentOf(id) {
		if folders, ok := a.(agent.FolderStore); ok {
			return folders.StoreFolders(id.Root)
		}
	}
	return nil
}

// agentOf returns the agent of a store; none if it is not in the list.
func (as Agents) agentOf(id change.StoreID) Agents {
	i := slices.IndexFunc(as, func(a agent.Agent) bool { return a.Name() == id.Agent })
	if i < 0 {
		return nil
	}
	return as[i : i+1]
}

// Gone returns the sessions that this store no longer has, but another store or a copy in k, which may be nil, has: in
// their last copied state, newest first. unread is the error of other stores that cannot be read.
func (c *Store) Gone(ctx context.Context, k *keep.Keep) (gone []change.Head, unread, err error) {
	kept, err := c.keptSessions(k)
	if err != nil {
		return nil, nil, err
	}
	heads, err := c.Sessions(ctx)
	if err != nil {
		return nil, nil, err
	}
	beside, unread := c.elsewhere(ctx, heads)
	for _, b := range beside {
		for _, h := range b.heads {
			if !kept[h.ID] {
				gone = append(gone, h)
			}
		}
	}
	for _, h := range heads {
		delete(kept, h.ID)
	}
	for id := range kept {
		states, err := c.keptStates(k, id)
		if err != nil {
			return nil, nil, err
		}
		gone = append(gone, states[0].Head())
	}
	slices.SortFunc(gone, func(a, b change.Head) int { return cmp.Compare(b.Updated, a.Updated) })
	return gone, unread, err
}

// A RestoreRequest selects a state of a session.
type RestoreRequest struct {
	At    time.Time // the newest state that was kept until then; the zero time for the newest complete state
	State string    // the id of a kept state, or of a repair for the state before it; "" for none
	From  string    // the path of another store of the agent that has it; "" to search the known ones
	Force bool      // even if an agent uses the session, or has continued it differently
	// Gone means that the caller has just listed the store without the session or, if From is set, has the session from
	// the list of that store.
	Gone bool
}

// A Restored is a plan that restores a session.
type Restored struct {
	Plan     change.Plan // without ops if nothing of the session is missing
	Files    change.Plan // is applied before Plan, which then moves a transcript that [Store.BuildAside] builds
	Session  change.Head // the restored session; it has another id if the present one stays, too
	State    string      // its present state, see [Restorable]; "" if nothing is wrong with it
	From     *keep.State // the copy that is restored; nil if the session's own records are enough
	Unread   string      // the part that could not be read and is not restored; "" for none
	Other    string      // the path of the other store that has it, if State is Elsewhere or PromptsOnly
	Beside   *keep.State // the copy with the most messages, if it has more than From; or the newest, if it has fewer
	Joined   bool        // the present content of the session stays, and the missing records are added
	Now      int         // how many messages the session has now
	Messages int         // how many it has after the restore, as far as that is known
	Fixed    []repair.Diagnosis
}

// ErrNothingKept means that there is no copy to restore a session from.
var ErrNothingKept error = fail.New(fail.Problems,
	`"mend restore" lists what can be brought back, and "mend keep" keeps copies from now on`, "nothing of it was kept")

// ProposeRestore plans to restore a session: from its own records if it is only hidden, else from its copies in k,
// which may be nil, from another store of the agent, or from the journal if r names a repair. It only reads: [Store.Apply]
// applies the plan.
func (c *Store) ProposeRestore(
	ctx context.Context, k *keep.Keep, head change.Head, r RestoreRequest,
) (done Restored, err error) {
	if err := c.Changeable(ctx); err != nil {
		return done, err
	}
	seen := c.newestEvent()
	done.Session = head
	listed := false
	if !r.Gone {
		if listed, err = c.isListed(ctx, head); err != nil {
			return done, err
		}
	}
	states, err := c.keptStates(k, head.ID)
	if err != nil {
		return done, err
	}
	var found Finding
	if listed {
		if found, _ = c.ScanOne(ctx, head); ctx.Err() != nil {
			return done, ctx.Err()
		}
	}
	if found.Busy && !r.Force {
		return done, fmt.Errorf("restoring session %s: %w", head.ID, repair.ErrBusy)
	}
	if r.State != "" && !slices.ContainsFunc(states, func(s keep.State) bool { return s.ID == r.State }) {
		e, done, ok, err := c.restoreBeforeRepair(ctx, head, r)
		if ok || err != nil {
			return done, err
		}
		r.At, r.State = e.Time, ""
	}
	if !listed && (r.From != "" || newest(states) == nil) {
		if done, ok, err := c.restoreElsewhere(ctx, done, r, seen); ok || err != nil {
			return done, err
		}
	}
	chosen, err := c.chooseState(ctx, k, head, found, listed, states, r, &done)
	if err != nil {
		return done, err
	}
	if chosen == nil {
		result, err := c.ProposeRepair(ctx, done.Session, repair.Request{Restore: true, Force: r.Force}) // unhide it
		done.Plan, done.Fixed = result.Plan, result.Fixed
		done.Plan.Seen = seen
		return done, err
	}
	if r.At.IsZero() && r.State == "" {
		if most := fullest(states, (*keep.State).Complete); most != nil && most.Messages > chosen.Messages {
			done.Beside = most
		} else if last := newest(states); last != nil && last.Messages < chosen.Messages {
			done.Beside = last
		}
	}
	return c.restoreKept(ctx, k, done, chosen, r, seen)
}

func (c *Store) isListed(ctx context.Context, head change.Head) (bool, error) {
	_, err := c.Session(ctx, head.ID)
	if errors.Is(err, ErrNoSession) {
		return false, nil
	}
	return err == nil, err
}

// chooseState returns the requested copy, nil if the session's own records are enough.
func (c *Store) chooseState(
	ctx context.Context, k *keep.Keep, head change.Head, found Finding, listed bool, states []keep.State,
	r RestoreRequest, done *Restored,
) (*keep.State, error) {
	now, from, wrong := Restorable{State: Deleted}, (*keep.State)(nil), !listed
	if listed {
		var err error
		if now, from, wrong, err = c.restorable(ctx, k, found, states); err != nil {
			return nil, err
		}
	}
	done.Now, done.Messages, done.State = now.Now, now.Now, now.State
	switch {
	case !r.At.IsZero() || r.State != "":
		for i := range states {
			if s := &states[i]; r.State == s.ID || r.State == "" && s.Complete() && !s.Time.After(r.At) {
				return s, nil
			}
		}
		return nil, noState(head, states)
	case !listed:
		if best := lastWhole(ctx, k, states); best != nil {
			return best, nil
		}
		return nil, fmt.Errorf("restoring session %s: it is gone, and %w", head.ID, ErrNothingKept)
	case now.State == string(repair.NotLoaded) && !wrong:
		return nil, fmt.Errorf("restoring session %s: its agent finds no conversation in it, and %w", head.ID, ErrNothingKept)
	}
	if from == nil && now.State == string(repair.Listed) {
		return newest(states), nil // parts or files of it may be missing
	}
	return from, nil
}

// noState returns the error for a state that was not copied.
func noState(head change.Head, states []keep.State) error {
	if len(states) == 0 {
		return fmt.Errorf("restoring session %s: %w", head.ID, ErrNothingKept)
	}
	oldest := states[len(states)-1]
	return fail.New(fail.Problems, fmt.Sprintf("its oldest kept state is from %s, its newest from %s",
		oldest.Time.Local().Format(time.DateTime), states[0].Time.Local().Format(time.DateTime)),
		"restoring session %s: no complete state of that time was kept", head.ID)
}

// restoreKept plans to write a copy into the store.
func (c *Store) restoreKept(
	ctx context.Context, k *keep.Keep, done Restored, from *keep.State, r RestoreRequest, seen *uint64,
) (Restored, error) {
	ops, err := c.loadAside(ctx, k, done, from)
	if errors.Is(err, errors.ErrUnsupported) {
		ops, err = k.Load(ctx, *from)
	}
	if err != nil {
		return done, err
	}
	done.From, done.Unread = from, from.Unread
	var edited map[change.Ref]bool
	if done.State != Deleted && r.At.IsZero() && r.State == "" {
		var removed map[change.Ref]bool
		removed, edited = c.editsSince(ctx, from.Session, from.Time)
		ops = slices.DeleteFunc(ops, func(o change.Op) bool { return removed[o.Ref.WithoutProject()] })
	}
	return c.restoreOps(ctx, done, ops, edited, r, seen,
		change.Cause{Kind: change.CauseRestore, Text: from.ID, Title: from.Title, Folder: from.Folder})
}

// restoreOps plans to write the records that ops create and the session lacks.
func (c *Store) restoreOps(
	ctx context.Context, done Restored, ops []change.Op, edited map[change.Ref]bool, r RestoreRequest, seen *uint64,
	cause change.Cause,
) (Restored, error) {
	head := done.Session
	exact := !r.At.IsZero() || r.State != ""
	plan, err := c.store.Restore(ctx, head, ops,
		agent.RestoreRequest{Exact: exact, Force: r.Force, Edited: edited, Gone: r.Gone})
	if err != nil {
		return done, err
	}
	now, err := c.read(ctx, plan.Ops)
	if err != nil {
		return done, err
	}
	defaults, err := c.defaultRows(ctx, plan.Ops, now)
	if err != nil {
		return done, err
	}
	done.Joined, done.Messages = plan.Joined, plan.Messages
	done.Plan = change.Plan{
		Session: head.ID, Force: r.Force, Fresh: true, Seen: seen,
		Cause: cause,
		Ops:   undo.Rebase(undo.AddColumns(plan.Ops, now, defaults), now),
	}
	if i := slices.IndexFunc(plan.Ops, isTranscript); i >= 0 {
		done.Files, done.Messages = done.Plan, done.From.Messages
		done.Plan.Ops = plan.Ops[i : i+1]
		done.Files.Ops = slices.DeleteFunc(slices.Clone(plan.Ops), isTranscript)
		return done, nil
	}
	if !r.Gone { // a missing session has no thinking to spoil; looking for it would list the store
		done.Plan.Cause.Bound = c.spoiledThinking(ctx, done.Plan, 0, ops)
	}
	return done, c.checkLinks(ctx, done.Plan)
}

// asideSize is the size in bytes of a copied transcript that is not read into memory, but built in a
// file beside the store.
const asideSize = 16 << 20

func isTranscript(o change.Op) bool { return o.Ref.Kind == change.KindTranscript }

// IsAside reports whether the plan moves a transcript that [Store.BuildAside] builds.
func (r *Restored) IsAside() bool { return slices.ContainsFunc(r.Plan.Ops, isTranscript) }

// loadAside is [keep.Keep.Load] for a missing session, with the op that moves its transcript into place. The error
// wraps [errors.ErrUnsupported] if the session has no transcript, or a transcript that fits into memory.
func (c *Store) loadAside(ctx context.Context, k *keep.Keep, done Restored, from *keep.State) (ops []change.Op, err error) {
	if done.State != Deleted || from.Size < asideSize {
		return nil, errors.ErrUnsupported
	}
	op, _, err := c.buildAside(ctx, k, done.Session.Ref, *from, true, &ops)
	if err != nil {
		return nil, err
	}
	now, err := c.store.Read(ctx, []change.Ref{op.Ref})
	if n := len(slices.DeleteFunc(slices.Clone(ops), func(o change.Op) bool {
		return o.Ref.Kind != change.KindSession || o.Ref.Session != from.Session
	})); err == nil && (now[0] != nil || n > 1) { // a session of Codex may have several rollouts
		err = errors.ErrUnsupported
	}
	for i, o := range ops {
		if o.Post.Data == nil && o.Ref.Kind == change.KindSession {
			ops[i] = op
		}
	}
	return ops, err
}

func (c *Store) buildAside(ctx context.Context, k *keep.Keep, ref change.Ref, from keep.State, dry bool, ops *[]change.Op) (change.Op, func(), error) {
	return c.store.BuildAside(ctx, ref, dry, func(w io.Writer) (err error) {
		*ops, err = k.LoadTo(ctx, from, func(ref change.Ref) io.Writer {
			if ref.Kind == change.KindSession && ref.Session == from.Session {
				return w
			}
			return nil
		})
		return err
	})
}

// BuildAside builds the transcript that the plan moves. discard removes it unless the plan was applied.
func (c *Store) BuildAside(ctx context.Context, k *keep.Keep, r Restored) (discard func(), err error) {
	var ops []change.Op
	op, discard, err := c.buildAside(ctx, k, r.Session.Ref, *r.From, false, &ops)
	if err == nil && !op.Post.Equal(r.Plan.Ops[0].Post) {
		discard()
		err = fmt.Errorf("restoring session %s: the copy has changed", r.Session.ID)
	}
	return discard, err
}

// restoreBeforeRepair plans to restore the state of a session before a repair from the journal: it undoes the repair
// and all later ones. It returns false if other programs have changed the records since; then the copy made
// before the repair counts.
func (c *Store) restoreBeforeRepair(
	ctx context.Context, head change.Head, r RestoreRequest,
) (e change.Entry, done Restored, ok bool, err error) {
	q, err := c.journal.Find(r.State)
	if err != nil {
		return e, done, false, err
	}
	q.Session = head.ID
	es, err := c.journal.Log(q)
	if err != nil {
		return e, done, false, err
	}
	if len(es) == 0 {
		return e, done, false, fail.New(fail.Usage, "\"mend log "+head.ID+"\" lists its repairs",
			"restoring session %s: repair %s is of another session", head.ID, r.State)
	}
	e = es[0]
	id := c.ID()
	es, err = c.Log(ctx,
		journal.Query{Store: &id, Session: head.ID, State: change.Committed, InForce: true, After: e.Seq - 1})
	var ids []string
	for _, e := range es {
		ids = append(ids, e.ID)
	}
	if err != nil || len(ids) == 0 {
		return e, done, false, err
	}
	p, err := c.ProposeUndo(ctx, UndoRequest{IDs: ids, Force: r.Force})
	if err != nil {
		return e, done, false, nil // the journal alone is not enough
	}
	p.Cause.Text = "before repair " + e.ID
	return e, Restored{Plan: p, Session: head, State: p.Cause.Text}, true, nil
}
