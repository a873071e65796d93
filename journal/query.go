package journal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"mend/change"
	"mend/internal/boltfile"
)

// A Query selects entries. The zero Query selects all. An entry that lacks a field, as entries of earlier
// versions do, matches no filter on that field.
type Query struct {
	Limit    int              // 0: no limit
	IDs      []string         // only the entries with these ids, in this order; nil: all
	Session  string           // "": of any session
	Sessions map[string]bool  // nil: of any session
	Store    *change.StoreID  // nil: of any store
	State    change.State     // "": in any state
	Cause    change.CauseKind // "": of any kind
	Before   uint64           // only entries with a lower number; 0: no limit
	After    uint64           // only entries with a higher number

	Operation uint64 // only entries of this operation, see [change.Entry]; 0: of any
	InForce   bool   // only changes that are not undone, and no undos
	Undone    *bool  // only undone changes, or only changes that are not undone; nil: both

	Forgotten bool // only changes whose images were removed, so that they cannot be undone

	Since, Until time.Time // only entries begun at Since or later, and before Until; zero: no limit

	Rules   []string       // only with a finding of one of these; nil: with or without
	Agent   string         // the agent that the store belongs to; "": any
	Channel change.Channel // how mend was started; "": in any way
	Actor   string         // the name of a user, the user's number, or USER@HOST; "": any
}

// List returns the entries that q selects, newest first. If q selects only the newest, some sessions or
// pending entries, List reads only these.
//
// For a damaged journal it returns the readable entries, with an error that wraps [ErrDamaged]. An
// entry that cannot be read completely has a Damage and is always selected.
func (j *Journal) List(q Query) (all []change.Entry, err error) {
	defer j.lock(&err, "listing repairs")()
	seqs, damage := j.candidates(q)
	if damage != nil && !errors.Is(damage, ErrDamaged) {
		return nil, damage
	}
	undos := newUndoResolver(j.snap())
	for seq := range seqs {
		e, ok, err := j.selectEntry(q, seq, undos)
		if errors.Is(err, ErrDamaged) {
			damage, ok, err = cmp.Or(damage, err), true, nil
		}
		if err != nil {
			return all, err
		}
		if !ok {
			continue
		}
		if all = append(all, e); len(all) == q.Limit {
			break
		}
	}
	return all, damage
}

// Each yields the entries that List returns, one at a time, and then its error, if any.
func (j *Journal) Each(q Query) iter.Seq2[change.Entry, error] {
	return Each(q, func(read func(*Journal) error) error { return read(j) })
}

// Each is [Journal.Each], but gets the journal from with: first for the list of entries, then once for each entry.
func Each(q Query, with func(read func(*Journal) error) error) iter.Seq2[change.Entry, error] {
	return func(yield func(change.Entry, error) bool) {
		var seqs []uint64
		err := with(func(j *Journal) (err error) {
			defer j.lock(&err, "listing repairs")()
			all, err := j.candidates(q)
			seqs = slices.Collect(all)
			return err
		})
		one, n := q, 0
		for _, seq := range seqs {
			one.IDs = []string{IDOf(seq)}
			var es []change.Entry
			errOne := with(func(j *Journal) (err error) {
				es, err = j.List(one)
				return err
			})
			if n += len(es); len(es) == 1 && !yield(es[0], nil) {
				return
			}
			err = cmp.Or(err, errOne)
			if errOne != nil && !errors.Is(errOne, ErrDamaged) || n > 0 && n == q.Limit {
				break
			}
		}
		if err != nil {
			yield(change.Entry{}, err)
		}
	}
}

// selectEntry returns an entry, and whether q selects it. With an error that wraps ErrDamaged it returns the
// readable fields.
func (j *Journal) selectEntry(q Query, seq uint64, undos *undoResolver) (e change.Entry, ok bool, err error) {
	st, err := j.snap().entryState(seq)
	if err != nil {
		return j.damagedEntry(seq, st, err), false, err
	}
	if !q.matches(st) {
		return e, false, nil
	}
	if q.InForce || q.Undone != nil {
		by, err := undos.newestUndo(st)
		if err != nil {
			return j.damagedEntry(seq, st, err), false, err
		}
		if q.Undone != nil && *q.Undone != (by != 0) || q.InForce && (by != 0 || st.begin.Begin.isUndo()) {
			return e, false, nil
		}
	}
	if e, err = j.buildEntry(st, undos); err != nil {
		return j.damagedEntry(seq, st, err), false, err
	}
	hasRule := func(f change.Finding) bool { return slices.Contains(q.Rules, f.Rule) }
	return e, q.Rules == nil || slices.ContainsFunc(e.Cause.Findings, hasRule), nil
}

// matches reports whether q selects an entry by its events.
func (q Query) matches(st *entryState) bool {
	b, at := st.begin.Begin, st.begin.time()
	return st.seq > q.After && (q.Session == "" || q.Session == string(b.Session)) &&
		(q.Sessions == nil || q.Sessions[string(b.Session)]) &&
		(q.State == "" || q.State == st.state()) && (q.Cause == "" || q.Cause == b.Cause) && (!q.Forgotten || st.imagesErased) &&
		(q.Operation == 0 || q.Operation == cmp.Or(b.Operation, st.seq)) &&
		(q.Store == nil || q.Store.Kind == b.Store.Kind && q.Store.Root == string(b.Store.Root)) &&
		!at.Before(q.Since) && (q.Until.IsZero() || at.Before(q.Until)) &&
		q.matchesActor(st.begin)
}

func (q Query) matchesActor(begin *event) bool {
	a := begin.Actor
	if a == nil {
		a = &change.Actor{UID: -1}
	}
	return (q.Agent == "" || q.Agent == agentOf(begin.Actor, begin.Begin.Store.Kind)) && (q.Channel == "" || q.Channel == a.Channel) &&
		(q.Actor == "" || q.Actor == a.User || q.Actor == a.User+"@"+a.Host || a.UID >= 0 && q.Actor == strconv.Itoa(a.UID))
}

// agentOf returns the agent of a store. Entries of earlier versions lack it, but only two agents existed
// then.
func agentOf(by *change.Actor, kind string) string {
	switch {
	case by != nil && by.Agent != "":
		return by.Agent
	case kind == "lines":
		return "claude"
	}
	return "opencode"
}

// candidates returns the numbers of the entries that q may select, newest first. With an error that wraps ErrDamaged it
// returns those that it can find.
func (j *Journal) candidates(q Query) (iter.Seq[uint64], error) {
	var seqs []uint64
	err := j.file.CheckReadable()
	if err != nil || j.file.Snap == nil {
		return slices.Values(seqs), err
	}
	top := j.head.begun
	if q.Before != 0 {
		top = min(top, q.Before-1)
	}
	switch {
	case q.IDs != nil:
		for _, id := range q.IDs {
			seq, ok := seqOf(id)
			if !ok || seq == 0 || seq > top {
				return slices.Values(seqs), fmt.Errorf("%q: %w", id, ErrNotFound)
			}
			seqs = append(seqs, seq)
		}
		return slices.Values(seqs), j.damage
	case q.State == change.Pending:
		seqs, err = j.pendingEntries(top)
	case q.Session != "":
		seqs, err = j.entriesOfSession(q.Session, top)
	case q.Sessions != nil:
		for session := range q.Sessions {
			some, damage := j.entriesOfSession(session, top)
			seqs, err = append(seqs, some...), cmp.Or(err, damage)
		}
	default:
		oldest := max(q.After+1, q.Operation) // an operation has the number of its first entry
		return func(yield func(uint64) bool) {
			for seq := top; seq >= oldest; seq-- {
				if !yield(seq) {
					return
				}
			}
		}, j.damage
	}
	seqs = slices.DeleteFunc(seqs, func(seq uint64) bool { return seq <= q.After })
	slices.SortFunc(seqs, func(a, b uint64) int { return cmp.Compare(b, a) })
	return slices.Values(seqs), cmp.Or(err, j.damage)
}

// entriesOfSession returns the entries of a session with numbers up to top.
func (j *Journal) entriesOfSession(session string, top uint64) (seqs []uint64, err error) {
	first := boltfile.SessionKey(session, top)
	err = j.snap().Scan(bucketBySession, boltfile.SessionKey(session), first, func(it boltfile.Item) error {
		seq, ok := boltfile.SplitSessionKey(it.Key)
		if !ok {
			return damageError("bysession has a key %x", it.Key)
		}
		_, err := it.Open(bucketBySession)
		if err == nil {
			seqs = append(seqs, seq)
		}
		return err
	})
	return seqs, err
}

// pendingEntries returns the pending entries up to number top.
func (j *Journal) pendingEntries(top uint64) (seqs []uint64, err error) {
	err = j.snap().Scan(bucketPending, nil, nil, func(it boltfile.Item) error {
		n, ok := boltfile.SplitU64(it.Key, 1)
		if !ok {
			return damageError("pending has a key %x", it.Key)
		}
		_, err := it.Open(bucketPending)
		if err == nil && n[0] <= top {
			seqs = append(seqs, n[0])
		}
		return err
	})
	return seqs, err
}

// Get returns the entry whose id is prefix, or starts with it. The error wraps [ErrNotFound] if no id matches, and is
// an [*AmbiguousError] if several ids start with prefix and none equals it.
func (j *Journal) Get(prefix string) (change.Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.file.CheckReadable(); err != nil {
		return change.Entry{}, err
	}
	seq, err := j.resolveID(prefix)
	if err != nil {
		return change.Entry{}, err
	}
	e, err := j.readEntry(seq)
	if err != nil {
		return change.Entry{}, fmt.Errorf("reading repair %s: %w", IDOf(seq), err)
	}
	return e, nil
}

// CauseOf returns the cause of the entry with the given number, without its texts.
func (j *Journal) CauseOf(seq uint64) (c change.Cause, err error) {
	defer j.lock(&err, "reading repair %s", IDOf(seq))()
	st, err := j.stateOf(change.Entry{Seq: seq, ID: IDOf(seq)})
	if err != nil {
		return c, err
	}
	return st.begin.cause(), nil
}

// resolveID returns the number of the entry whose id starts with prefix.
func (j *Journal) resolveID(prefix string) (uint64, error) {
	if seq, ok := seqOf(prefix); ok && seq > 0 && seq <= j.head.begun {
		return seq, nil
	}
	var found []uint64
	for older := range j.head.begun {
		if seq := j.head.begun - older; prefix != "" && strings.HasPrefix(IDOf(seq), prefix) {
			found = append(found, seq)
		}
	}
	switch len(found) {
	case 0:
		return 0, fmt.Errorf("%q: %w", prefix, ErrNotFound)
	case 1:
		return found[0], nil
	}
	ids := make([]string, len(found))
	for i, seq := range found {
		ids[i] = IDOf(seq)
	}
	return 0, &AmbiguousError{Prefix: prefix, IDs: ids}
}

func (j *Journal) stateOf(e change.Entry) (*entryState, error) {
	if err := j.file.CheckReadable(); err != nil {
		return nil, err
	}
	if e.Seq == 0 || e.Seq > j.head.begun || e.ID != IDOf(e.Seq) {
		return nil, fmt.Errorf("%q: %w", e.ID, ErrNotFound)
	}
	return j.snap().entryState(e.Seq)
}

// Ops returns the ops of an entry with their images. The error wraps [ErrForgotten] if the
// images were removed, and [ErrDamaged] if one does not match its hash.
func (j *Journal) Ops(e change.Entry) (ops []change.Op, err error) {
	defer j.lock(&err, "reading the images of repair %s", e.ID)()
	st, err := j.stateOf(e)
	if err != nil {
		return nil, err
	}
	if st.imagesErased {
		return nil, ErrForgotten
	}
	infos, err := j.opInfos(st.begin.Begin)
	if err != nil {
		return nil, err
	}
	ops = make([]change.Op, len(infos))
	for i, o := range infos {
		ops[i].Ref = o.Ref
		if ops[i].Pre, err = j.image(o.Pre); err != nil {
			return nil, err
		}
		if ops[i].Post, err = j.image(o.Post); err != nil {
			return nil, err
		}
		if times := st.begin.Begin.Times; ops[i].Pre != nil && len(times) == len(infos) {
			ops[i].Pre.Time = times[i]
		}
	}
	return ops, nil
}

// image reads an image; nil for nil.
func (j *Journal) image(d *change.Digest) (*change.Image, error) {
	if d == nil {
		return nil, nil
	}
	data, err := j.snap().Blob(bucketImages, d.SHA256)
	if err != nil {
		return nil, err
	}
	if int64(len(data)) != d.Size {
		return nil, damageError("an image has %d bytes, want %d", len(data), d.Size)
	}
	return &change.Image{Data: data, Mode: fs.FileMode(d.Mode)}, nil
}

// NewestEvent returns the number of the newest event, 0 for none, to be passed to [Journal.ChangedSince].
func (j *Journal) NewestEvent() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.head.seq
}

// ChangedSince returns the newest entry of a session of the store that was begun, finished or resolved
// after event number seen, and whether it exists. Aborted entries changed nothing and are skipped.
func (j *Journal) ChangedSince(seen uint64, store change.StoreID, session string) (e change.Entry, found bool, err error) {
	defer j.lock(&err, "reading the newest repairs")()
	q := Query{Store: &store, Session: session}
	seqs, err := j.candidates(q)
	if err != nil {
		return e, false, err
	}
	for seq := range seqs {
		st, err := j.snap().entryState(seq)
		if err != nil {
			return e, false, err
		}
		if st.newest > seen && q.matches(st) && st.state() != change.Aborted {
			e, err = j.readEntry(seq)
			return e, err == nil, err
		}
	}
	return e, false, nil
}
