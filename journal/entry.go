package journal

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"mend/change"
	"mend/internal/boltfile"
)

// An entryState is the state of an entry, derived from its events.
type entryState struct {
	seq          uint64
	begin        *event
	finish       *event // nil if it is pending
	resolve      *event // nil if it was not resolved
	newest       uint64 // the number of the newest of these events
	imagesErased bool
	textsErased  bool
	undoers      []uint64 // the committed entries that revert it, oldest first
}

func (st *entryState) state() change.State {
	switch {
	case st.finish == nil:
		return change.Pending
	case st.resolve != nil:
		return change.Resolved
	}
	return st.finish.Finish.State
}

// isDecided reports whether the entry is neither pending nor conflicted. Its images are then needed
// only by an undo.
func (st *entryState) isDecided() bool {
	return st.state() != change.Pending && st.state() != change.Conflicted
}

// entryState reads the events of an entry. With an error that wraps ErrDamaged it also returns the
// state that it could read, nil for none.
func (s snapshot) entryState(seq uint64) (*entryState, error) {
	st := &entryState{seq: seq}
	var damage error
	err := s.Scan(bucketEntries, boltfile.U64(seq), nil, func(it boltfile.Item) error {
		n, ok := boltfile.SplitU64(it.Key, 2)
		if !ok {
			return damageError("entries has a key %x", it.Key)
		}
		_, err := it.Open(bucketEntries)
		var ev *event
		if err == nil {
			ev, err = s.event(n[1])
		}
		if err == nil {
			err = st.add(ev)
		}
		if err == nil && ev.Entry == seq {
			st.newest = n[1]
		}
		if errors.Is(err, ErrDamaged) {
			damage, err = cmp.Or(damage, err), nil
		}
		return err
	})
	if err == nil {
		err = damage
	}
	if st.begin == nil {
		return nil, cmp.Or(err, damageError("entry %d has no begin event", seq))
	}
	if err != nil {
		return st, err
	}
	if st.finish == nil {
		if _, ok, err := s.Get(bucketPending, boltfile.U64(seq)); err != nil {
			return st, err
		} else if !ok {
			return st, damageError("entry %d is pending, but not listed as pending", seq)
		}
	}
	return st, nil
}

// add adds the next event of the entry. It returns an error if the event cannot follow the earlier ones.
func (st *entryState) add(ev *event) error {
	own := ev.Entry == st.seq
	switch {
	case st.begin == nil && (!own || ev.Kind != kindBegin):
		return damageError("entry %d does not start with its begin event", st.seq)
	case own && ev.Kind == kindBegin && st.begin == nil:
		st.begin = ev
	case own && ev.Kind == kindFinish && st.finish == nil:
		st.finish = ev
	case own && ev.Kind == kindResolve && st.state() == change.Conflicted:
		st.resolve = ev
	case (ev.Kind == kindGC || ev.Kind == kindForget) && ev.erases(st.seq) && st.isDecided():
		st.imagesErased, st.textsErased = true, st.textsErased || ev.Kind == kindForget
	case !own && ev.Kind == kindBegin && slices.Contains(ev.revertedEntries(), st.seq):
	case !own && ev.Kind == kindFinish && ev.Entry > st.seq:
		if ev.Finish.State == change.Committed {
			st.undoers = append(st.undoers, ev.Entry)
		}
	default:
		return damageError("entry %d is %s, and has an event %q that cannot follow", st.seq, st.state(), ev.Kind)
	}
	return nil
}

// An undoResolver determines which entries are undone. It reads each entry at most once.
type undoResolver struct {
	s     snapshot
	cache map[uint64]uint64 // by entry: the entry that undid it, or 0
}

func newUndoResolver(s snapshot) *undoResolver {
	return &undoResolver{s: s, cache: map[uint64]uint64{}}
}

// newestUndo returns the newest committed entry that reverts st and is not itself undone, 0 for none. It terminates,
// because it only follows references to later entries.
func (u *undoResolver) newestUndo(st *entryState) (uint64, error) {
	if by, ok := u.cache[st.seq]; ok {
		return by, nil
	}
	undoers := slices.Sorted(slices.Values(st.undoers))
	for _, seq := range slices.Backward(undoers) {
		by, ok := u.cache[seq]
		if !ok {
			undo, err := u.s.entryState(seq)
			if err != nil {
				return 0, err
			}
			if by, err = u.newestUndo(undo); err != nil {
				return 0, err
			}
		}
		if by == 0 {
			u.cache[st.seq] = seq
			return seq, nil
		}
	}
	u.cache[st.seq] = 0
	return 0, nil
}

// neededBlobs returns the blobs that an entry refers to: always the lists of ops, and on request
// the images and texts.
func (j *Journal) neededBlobs(st *entryState, images, texts bool) (map[blobID]bool, error) {
	blobs := map[blobID]bool{}
	for _, list := range st.begin.Begin.Ops {
		blobs[blobID{blobOps, list}] = true
	}
	if images {
		ops, err := j.opInfos(st.begin.Begin)
		if err != nil {
			return nil, err
		}
		for _, o := range ops {
			for _, d := range [...]*change.Digest{o.Pre, o.Post} {
				if d != nil {
					blobs[blobID{blobImage, d.SHA256}] = true
				}
			}
		}
	}
	if texts {
		if t := st.begin.Begin.Text; t != nil {
			blobs[blobID{blobText, *t}] = true
		}
		if st.finish != nil && st.finish.Finish.Text != nil {
			blobs[blobID{blobText, *st.finish.Finish.Text}] = true
		}
	}
	return blobs, nil
}

func (j *Journal) readEntry(seq uint64) (change.Entry, error) {
	st, err := j.snap().entryState(seq)
	if err != nil {
		return change.Entry{}, err
	}
	return j.buildEntry(st, newUndoResolver(j.snap()))
}

// readHead is readEntry without the ops.
func (j *Journal) readHead(seq uint64) (change.Entry, error) {
	st, err := j.snap().entryState(seq)
	if err != nil {
		return change.Entry{}, err
	}
	e := newEntry(st)
	return e, j.addTexts(&e, st)
}

// newEntry returns the entry of a state, without reading blobs.
func newEntry(st *entryState) change.Entry {
	b := st.begin.Begin
	e := change.Entry{
		Seq: st.seq, ID: IDOf(st.seq), Time: st.begin.time(), Version: b.Version,
		Actor: st.begin.Actor, Digest: b.Digest,
		Store:   change.StoreID{Agent: agentOf(st.begin.Actor, b.Store.Kind), Kind: b.Store.Kind, Root: string(b.Store.Root), Dev: b.Store.Dev, Ino: b.Store.Ino},
		Dir:     string(b.Dir),
		Append:  b.appendPoint(),
		Session: string(b.Session),
		Cause:   st.begin.cause(),
		State:   st.state(), Forgotten: st.imagesErased, Erased: st.textsErased,
		Operation: cmp.Or(b.Operation, st.seq),
	}
	if r := st.resolve; r != nil {
		e.Resolved = resolvedText(r.Resolve)
	}
	return e
}

func resolvedText(r *resolveEvent) string {
	if r.By == 0 {
		return r.How
	}
	return r.How + " by " + IDOf(r.By)
}

// buildEntry returns the entry of a state, with its ops and texts.
func (j *Journal) buildEntry(st *entryState, u *undoResolver) (change.Entry, error) {
	e := newEntry(st)
	by, err := u.newestUndo(st)
	if err != nil {
		return change.Entry{}, err
	}
	if by != 0 {
		e.UndoneBy = IDOf(by)
	}
	if e.Ops, err = j.opInfos(st.begin.Begin); err != nil {
		return change.Entry{}, err
	}
	return e, j.addTexts(&e, st)
}

// damagedEntry returns the readable fields of an entry. st is nil if its begin event cannot be
// read.
func (j *Journal) damagedEntry(seq uint64, st *entryState, damage error) change.Entry {
	e := change.Entry{Seq: seq, ID: IDOf(seq), Operation: seq}
	if st != nil {
		e = newEntry(st)
		e.Ops, _ = j.opInfos(st.begin.Begin)
		_ = j.addTexts(&e, st)
	}
	e.State, e.Damage = change.Unknown, damage.Error()
	return e
}

// cause returns the cause of a begin event, without its texts.
func (e *event) cause() change.Cause {
	return change.Cause{Kind: e.Begin.Cause, Entries: e.Begin.Of, Partial: e.Begin.Partial}
}

// opInfos reads the ops of an entry, without their images.
func (j *Journal) opInfos(b *beginEvent) ([]change.OpInfo, error) {
	var all []change.OpInfo
	for _, h := range b.Ops {
		list, err := j.snap().Blob(blobOps.bucket(), h)
		if err != nil {
			return nil, err
		}
		ops, err := decodeOps(list)
		if err != nil {
			return nil, err
		}
		all = append(all, ops...)
	}
	if len(all) != b.Count {
		return nil, damageError("an entry has %d ops, want %d", len(all), b.Count)
	}
	return all, nil
}

// addTexts reads the free text of an entry, unless it was forgotten.
func (j *Journal) addTexts(e *change.Entry, st *entryState) error {
	if st.textsErased {
		return nil
	}
	var cause causeText
	if err := j.readText(st.begin.Begin.Text, &cause); err != nil {
		return err
	}
	cause.addTo(&e.Cause)
	if st.finish == nil {
		return nil
	}
	var end outcomeText
	err := j.readText(st.finish.Finish.Text, &end)
	if err == nil {
		e.Kept = convert[string](end.Kept)
		e.Conflicts, err = end.conflicts()
	}
	return err
}

// readText decodes a text into a causeText or outcomeText. A nil hash leaves it empty.
func (j *Journal) readText(h *hash, target any) error {
	if h == nil {
		return nil
	}
	b, err := j.snap().Blob(blobText.bucket(), *h)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, target); err != nil {
		return damageError("text %v: %v", *h, err)
	}
	return nil
}
