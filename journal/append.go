package journal

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"mend/change"
)

// Begin writes a new entry, pending, with everything that recovery and undo
// need: the ops are those of s, session and cause those of p. When it returns
// without an error the entry is durable. After an error there is no entry, unless
// it wraps [ErrUnsure]: then the next Open may show one, as pending, and the id
// that it would have comes with the error.
func (j *Journal) Begin(p change.Plan, s change.Staged) (change.Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, err := j.begin(p, s)
	if err != nil {
		return e, fmt.Errorf("beginning a repair: %w", err)
	}
	return e, nil
}

func (j *Journal) begin(p change.Plan, s change.Staged) (change.Entry, error) {
	if err := j.checkWritable(); err != nil {
		return change.Entry{}, err
	}
	if err := change.Validate(s.Ops); err != nil {
		return change.Entry{}, err
	}
	for _, of := range p.Cause.Entries {
		if of == 0 || of > j.head.begun {
			return change.Entry{}, fmt.Errorf("entry %d: %w", of, ErrNotFound)
		}
	}
	if err := j.cleanUpStaging(); err != nil {
		return change.Entry{}, err
	}
	b := j.newBatch(j.head.begun+1, j.opts.batchSize)
	ev, err := b.newBeginEvent(p, s)
	if err == nil {
		err = b.commit("begin", ev, indexedEntries(ev)...)
	}
	switch {
	case errors.Is(err, ErrUnsure):
		return change.Entry{Seq: b.entry, ID: IDOf(b.entry)}, err
	case err != nil:
		return change.Entry{}, errors.Join(err, b.drop())
	}
	return j.readEntry(ev.Entry)
}

// beginning adds the blobs of a begin event to the batch and makes the event.
func (b *batch) newBeginEvent(p change.Plan, s change.Staged) (*event, error) {
	ops, err := b.ops(s.Ops)
	if err != nil {
		return nil, err
	}
	text, err := b.text(encodeCause(p.Cause))
	if err != nil {
		return nil, err
	}
	return &event{Kind: kindBegin, Entry: b.entry, Begin: &beginEvent{
		Version: b.j.opts.Version,
		Store:   storeID{Kind: s.Store.Kind, Root: []byte(s.Store.Root), Dev: s.Store.Dev, Ino: s.Store.Ino},
		Dir:     []byte(s.Dir),
		Session: []byte(p.Session),
		Cause:   p.Cause.Kind,
		Of:      p.Cause.Entries,
		Partial: p.Cause.Partial,
		Text:    text,
		Ops:     ops,
		Count:   len(s.Ops),
	}}, nil
}

// about is the entries in whose lists a begin event stands: its own, and those
// that it takes back. A finish event stands in the same.
func indexedEntries(begin *event) []uint64 {
	entries := []uint64{begin.Entry}
	seen := map[uint64]bool{}
	for _, of := range begin.revertedEntries() {
		if !seen[of] {
			seen[of] = true
			entries = append(entries, of)
		}
	}
	return entries
}

// Finish writes what became of a pending entry: committed, aborted or
// conflicted. The error is a [*StateError] if the entry is not pending.
func (j *Journal) Finish(e change.Entry, o change.Outcome) (change.Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, err := j.finish(e, o)
	if err != nil {
		return change.Entry{}, fmt.Errorf("finishing a repair: %w", err)
	}
	return e, nil
}

func (j *Journal) finish(e change.Entry, o change.Outcome) (change.Entry, error) {
	st, err := j.requireState(e, change.Pending)
	if err != nil {
		return change.Entry{}, err
	}
	ev := &event{Kind: kindFinish, Entry: st.seq, Finish: &finishEvent{State: o.State}}
	if !ev.Finish.valid() {
		return change.Entry{}, fmt.Errorf("%q is no state to finish in", o.State)
	}
	b := j.newBatch(st.seq, math.MaxInt)
	if ev.Finish.Text, err = b.text(encodeOutcome(o)); err != nil {
		return change.Entry{}, err
	}
	if err := b.commit("finish", ev, indexedEntries(st.begin)...); err != nil {
		return change.Entry{}, err
	}
	return j.readEntry(st.seq)
}

// Resolve writes how the user decided a conflicted entry: keep, back or
// forward, and the id of the entry that did it, which keep has not. The error is
// a [*StateError] if the entry is not conflicted.
func (j *Journal) Resolve(e change.Entry, how, by string) (change.Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, err := j.resolve(e, how, by)
	if err != nil {
		return change.Entry{}, fmt.Errorf("resolving a repair: %w", err)
	}
	return e, nil
}

func (j *Journal) resolve(e change.Entry, how, by string) (change.Entry, error) {
	st, err := j.requireState(e, change.Conflicted)
	if err != nil {
		return change.Entry{}, err
	}
	d := &resolveEvent{How: how}
	switch how {
	case "keep", "back", "forward":
	default:
		return change.Entry{}, fmt.Errorf("%q is no decision", how)
	}
	if by != "" {
		seq, ok := SeqOf(by)
		if !ok || seq <= st.seq || seq > j.head.begun {
			return change.Entry{}, fmt.Errorf("by %q: %w", by, ErrNotFound)
		}
		d.By = seq
	}
	err = j.update("resolve", func(w *writer) error {
		return w.event(j, &event{Kind: kindResolve, Entry: st.seq, Resolve: d}, st.seq)
	})
	if err != nil {
		return change.Entry{}, err
	}
	return j.readEntry(st.seq)
}

// stateOf reads the history of e anew and checks its state.
func (j *Journal) requireState(e change.Entry, want change.State) (*entryState, error) {
	if err := j.checkWritable(); err != nil {
		return nil, err
	}
	st, err := j.stateOf(e)
	if err != nil {
		return nil, err
	}
	if st.state() != want {
		return nil, &StateError{ID: IDOf(st.seq), State: st.state(), Want: want}
	}
	return st, nil
}

// A batch collects the blobs of one entry and what refers to them, and writes
// them in transactions of bounded size. All but the last leave the mark that
// the entry is being staged, so that a crash leaves nothing for good.
type batch struct {
	j      *Journal
	entry  uint64
	limit  int
	values []keyValue
	size   int
	staged bool            // a transaction was written
	have   map[blobID]bool // what was added
}

type keyValue struct {
	bucket      string
	key, sealed []byte
}

func (j *Journal) newBatch(entry uint64, limit int) *batch {
	return &batch{j: j, entry: entry, limit: limit, have: map[blobID]bool{}}
}

// putCost is about what a key costs beside its bytes. It also bounds the number
// of keys in a transaction, which bbolt wants below 100,000.
const putCost = 200

// put adds a value, after a flush where the batch would become too large.
func (b *batch) put(bucket string, key, val []byte) error {
	size := len(key) + len(val) + putCost
	if b.size > 0 && b.size+size > b.limit {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.values = append(b.values, keyValue{bucket: bucket, key: key, sealed: seal(bucket, key, val)})
	b.size += size
	return nil
}

// blob adds a blob, unless it is in the journal already; then what is there is
// read once more, since it is about to be all that is left of the record.
func (b *batch) blob(kind blobKind, data []byte) (hash, error) {
	r := blobID{kind: kind, hash: sha256.Sum256(data)}
	if b.have[r] {
		return r.hash, nil
	}
	b.have[r] = true
	_, stored, err := b.j.snap.get(kind.bucket(), r.hash[:])
	if err != nil {
		return r.hash, err
	}
	if err := b.put(bucketRefs, r.key(b.entry), nil); err != nil { // first: it leads the clean-up to the rest
		return r.hash, err
	}
	if stored {
		_, err = b.j.codec.copyBlob(io.Discard, b.j.snap, r)
		return r.hash, err
	}
	return r.hash, b.j.codec.writeBlob(r.hash, data, func(key, val []byte) error {
		return b.put(kind.bucket(), key, val)
	})
}

// flush writes what was collected, marked as not begun.
func (b *batch) flush() error {
	err := b.j.update("blobs", func(w *writer) error {
		if err := w.put(bucketMeta, []byte(markStaging), u64(b.entry)); err != nil {
			return err
		}
		return b.writeTo(w)
	})
	b.staged = b.staged || err == nil
	b.values, b.size = nil, 0
	return err
}

// writeTo puts everything in the order of the keys, which suits bbolt.
func (b *batch) writeTo(w *writer) error {
	slices.SortFunc(b.values, func(x, y keyValue) int {
		return cmp.Or(cmp.Compare(x.bucket, y.bucket), bytes.Compare(x.key, y.key))
	})
	for _, p := range b.values {
		if err := w.putSealed(p.bucket, p.key, p.sealed); err != nil {
			return err
		}
	}
	return nil
}

// commit writes the rest together with the event.
func (b *batch) commit(what string, ev *event, entries ...uint64) error {
	return b.j.update(what, func(w *writer) error {
		if err := b.writeTo(w); err != nil {
			return err
		}
		if b.staged {
			if err := w.del(bucketMeta, []byte(markStaging)); err != nil {
				return err
			}
		}
		return w.event(b.j, ev, entries...)
	})
}

// drop removes what was written of an entry that could not be begun.
func (b *batch) drop() error {
	if !b.staged || b.j.fatal != nil {
		return nil
	}
	return b.j.cleanUpAfterError(b.j.cleanUpStaging)
}

// ops adds the images and the lists of ops, and returns the hashes of the lists.
func (b *batch) ops(ops []change.Op) ([]hash, error) {
	var lists []hash
	for part := range slices.Chunk(ops, maxOpsPerList) {
		infos := make([]change.OpInfo, len(part))
		for i, o := range part {
			pre, err := b.image(o.Pre)
			if err != nil {
				return nil, err
			}
			post, err := b.image(o.Post)
			if err != nil {
				return nil, err
			}
			infos[i] = change.OpInfo{Ref: o.Ref, Pre: pre, Post: post}
		}
		h, err := b.blob(blobOps, encodeOps(infos))
		if err != nil {
			return nil, err
		}
		lists = append(lists, h)
	}
	return lists, nil
}

func (b *batch) image(i *change.Image) (*change.Digest, error) {
	if i == nil {
		return nil, nil
	}
	h, err := b.blob(blobImage, i.Data)
	return digest(i, h), err
}

// text adds free text, where there is any.
func (b *batch) text(data []byte) (*hash, error) {
	if data == nil {
		return nil, nil
	}
	h, err := b.blob(blobText, data)
	return &h, err
}
