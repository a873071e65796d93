package journal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"mend/change"
	"mend/internal/boltfile"
)

// Begin writes a new, pending entry with everything that recovery and undo need: the ops of s, and the session and
// cause of p. When it returns nil, the entry is durable. The returned entry lacks its Ops, which s has.
//
// After an error there is no entry, unless the error wraps [ErrUnsure]: then the next Open may find a pending
// entry with the id that Begin returned.
func (j *Journal) Begin(p change.Plan, s change.Staged) (e change.Entry, err error) {
	defer j.lock(&err, "beginning a repair")()
	if err := j.file.CheckWritable(); err != nil {
		return change.Entry{}, err
	}
	if err := change.Validate(s.Ops); err != nil {
		return change.Entry{}, err
	}
	for _, seq := range p.Cause.Entries {
		if seq == 0 || seq > j.head.begun {
			return change.Entry{}, fmt.Errorf("entry %d: %w", seq, ErrNotFound)
		}
	}
	if p.Operation > j.head.begun {
		return change.Entry{}, fmt.Errorf("entry %d: %w", p.Operation, ErrNotFound)
	}
	if err := j.cleanUpStaging(); err != nil {
		return change.Entry{}, err
	}
	b := batch{j: j, entry: j.head.begun + 1, limit: j.opts.batchSize}
	ev, err := b.newBeginEvent(p, s)
	if err == nil {
		err = b.commit("begin", ev, ev)
	}
	switch {
	case errors.Is(err, ErrUnsure):
		return change.Entry{Seq: b.entry, ID: IDOf(b.entry)}, err
	case err != nil:
		return change.Entry{}, errors.Join(err, b.drop())
	}
	return j.readHead(ev.Entry)
}

// newBeginEvent adds the blobs of a new entry to the batch and returns its begin event.
func (b *batch) newBeginEvent(p change.Plan, s change.Staged) (*event, error) {
	infos := change.InfosOf(s.Ops)
	ops, err := b.ops(s.Ops, infos)
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
		Append:  s.Append,
		Session: []byte(p.Session),
		Cause:   p.Cause.Kind,
		Of:      p.Cause.Entries,
		Partial: p.Cause.Partial,
		Text:    text,
		Ops:     ops,
		Count:   len(s.Ops),
		Digest:  change.PlanDigest(infos),

		Operation: p.Operation,
		Times:     mtimes(s.Ops),
	}}, nil
}

// mtimes returns the mtimes of the files that the ops replace or delete; nil if all are 0.
func mtimes(ops []change.Op) []int64 {
	if !slices.ContainsFunc(ops, func(o change.Op) bool { return o.Pre != nil && o.Pre.Time != 0 }) {
		return nil
	}
	all := make([]int64, len(ops))
	for i, o := range ops {
		if o.Pre != nil {
			all[i] = o.Pre.Time
		}
	}
	return all
}

// indexKeys returns the keys, with empty values, that event seq adds to the buckets "bysession" and "entries". begin is
// the begin event of the entry of a begin or finish event.
func indexKeys(seq uint64, ev, begin *event) (keys []boltfile.Value) {
	var entries []uint64
	switch ev.Kind {
	case kindBegin, kindFinish:
		entries = append([]uint64{ev.Entry}, begin.revertedEntries()...)
	case kindResolve:
		entries = []uint64{ev.Entry}
	case kindGC, kindForget:
		entries = ev.erasedEntries()
	}
	if ev.Kind == kindBegin {
		keys = append(keys, boltfile.Value{Bucket: bucketBySession, Key: boltfile.SessionKey(string(ev.Begin.Session), ev.Entry)})
	}
	slices.Sort(entries)
	for _, entry := range slices.Compact(entries) {
		keys = append(keys, boltfile.Value{Bucket: bucketEntries, Key: boltfile.U64(entry, seq)})
	}
	return keys
}

// Finish writes the outcome of a pending entry: committed, aborted or conflicted. The returned entry has the
// Ops of e. The error is a [*StateError] if the entry is not pending.
func (j *Journal) Finish(e change.Entry, o change.Outcome) (done change.Entry, err error) {
	defer j.lock(&err, "finishing a repair")()
	st, err := j.requireState(e, change.Pending)
	if err != nil {
		return change.Entry{}, err
	}
	ev := &event{Kind: kindFinish, Entry: st.seq, Finish: &finishEvent{State: o.State}}
	if !ev.Finish.valid() {
		return change.Entry{}, fmt.Errorf("%q is not a final state", o.State)
	}
	b := batch{j: j, entry: st.seq, limit: math.MaxInt}
	if ev.Finish.Text, err = b.text(encodeOutcome(o)); err != nil {
		return change.Entry{}, err
	}
	if err := b.commit("finish", ev, st.begin); err != nil {
		return change.Entry{}, err
	}
	done, err = j.readHead(st.seq)
	done.Ops = e.Ops
	return done, err
}

// Resolve writes the user's decision on a conflicted entry. how is keep, back or forward; by is the id of the
// entry that carried it out, "" for keep. The error is a [*StateError] if the entry is not conflicted.
func (j *Journal) Resolve(e change.Entry, how, by string) (done change.Entry, err error) {
	defer j.lock(&err, "resolving a repair")()
	st, err := j.requireState(e, change.Conflicted)
	if err != nil {
		return change.Entry{}, err
	}
	d := &resolveEvent{How: how}
	switch how {
	case "keep", "back", "forward":
	default:
		return change.Entry{}, fmt.Errorf("%q is not a decision", how)
	}
	if by != "" {
		seq, ok := seqOf(by)
		if !ok || seq <= st.seq || seq > j.head.begun {
			return change.Entry{}, fmt.Errorf("by %q: %w", by, ErrNotFound)
		}
		d.By = seq
	}
	err = j.update("resolve", func(w *writer) error {
		return w.event(j, &event{Kind: kindResolve, Entry: st.seq, Resolve: d}, nil)
	})
	if err != nil {
		return change.Entry{}, err
	}
	return j.readEntry(st.seq)
}

// requireState reads the state of e from the journal. The error is a [*StateError] if e is in another state.
func (j *Journal) requireState(e change.Entry, want change.State) (*entryState, error) {
	if err := j.file.CheckWritable(); err != nil {
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

// A writer is one transaction that can append events.
type writer struct {
	*boltfile.Tx
	head head
}

// update runs fn in one transaction, see [boltfile.File.Update].
func (j *Journal) update(what string, fn func(*writer) error) error {
	return j.file.Update(what, func(tx *boltfile.Tx) error { return fn(&writer{tx, j.head}) })
}

// event sets the time and the totals of an event, appends it to the chain, and indexes it, see [indexKeys].
func (w *writer) event(j *Journal, ev, begin *event) error {
	now := j.opts.Now()
	ev.Sec, ev.Nsec = now.Unix(), int64(now.Nanosecond())
	ev.Begun, ev.Pending = w.head.begun, w.head.pending
	ev.Actor = j.opts.Actor
	var err error
	switch ev.Kind {
	case kindBegin:
		ev.Begun, ev.Pending = ev.Begun+1, ev.Pending+1
		err = w.Put(bucketPending, boltfile.U64(ev.Entry), nil)
	case kindFinish:
		ev.Pending--
		err = w.Del(bucketPending, boltfile.U64(ev.Entry))
	default:
	}
	if err != nil {
		return err
	}
	seq, before := w.head.seq+1, w.head.hash
	if w.head.seq == 0 {
		before = genesis(j.id)
	}
	b, sum, err := encodeEvent(seq, before, ev)
	if err != nil {
		return err
	}
	if err := w.Put(bucketEvents, boltfile.U64(seq), b); err != nil {
		return err
	}
	w.head = head{seq: seq, hash: sum, begun: ev.Begun, pending: ev.Pending}
	return w.PutAll(indexKeys(seq, ev, begin))
}

// A batch collects the blobs and references of one entry, and writes them in transactions of bounded size. All
// but the last transaction set markStaging, so that blobs left by a crash are removed later.
type batch struct {
	j      *Journal
	entry  uint64
	limit  int // greatest size
	values []boltfile.Value
	size   int  // approximate size of values in the file
	staged bool // markStaging was written
}

// put adds a value. It writes the batch first if the value would make it too large.
func (b *batch) put(bucket string, key, val []byte) error {
	v := boltfile.Value{Bucket: bucket, Key: key, Val: val}
	if b.size+v.Cost() > b.limit {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.values = append(b.values, v)
	b.size += v.Cost()
	return nil
}

// blob adds a blob and a reference to it, once per entry. A blob that the journal already has is only verified: it may
// soon be the only copy of the record.
func (b *batch) blob(kind blobKind, h hash, data []byte) error {
	id := blobID{kind: kind, hash: h}
	_, stored, err := b.j.snap().Get(kind.bucket(), h[:])
	if err != nil {
		return err
	}
	if err := b.put(bucketRefs, id.key(b.entry), nil); err != nil { // first, so that cleanUpStaging finds the blob
		return err
	}
	if stored {
		_, err = b.j.snap().CopyBlob(io.Discard, id.kind.bucket(), id.hash)
		return err
	}
	return boltfile.WriteBlob(h, data, func(key, val []byte) error {
		return b.put(kind.bucket(), key, val)
	})
}

// flush writes the collected values, with markStaging.
func (b *batch) flush() error {
	err := b.j.update("blobs", func(w *writer) error {
		if err := w.Put(bucketMeta, []byte(markStaging), boltfile.U64(b.entry)); err != nil {
			return err
		}
		return w.PutAll(b.values)
	})
	b.staged = b.staged || err == nil
	b.values, b.size = nil, 0
	return err
}

// commit writes the rest of the batch and the event in one transaction. begin is the begin event of the entry.
func (b *batch) commit(what string, ev, begin *event) error {
	return b.j.update(what, func(w *writer) error {
		if err := w.PutAll(b.values); err != nil {
			return err
		}
		if b.staged {
			if err := w.Del(bucketMeta, []byte(markStaging)); err != nil {
				return err
			}
		}
		return w.event(b.j, ev, begin)
	})
}

// drop removes the blobs of an entry that has no begin event.
func (b *batch) drop() error {
	if !b.staged || b.j.file.Fatal != nil {
		return nil
	}
	return b.j.cleanUpStaging()
}

// ops adds the images of the ops, and the lists of infos. It returns the hashes of the lists.
func (b *batch) ops(ops []change.Op, infos []change.OpInfo) (lists []hash, err error) {
	images := map[hash][]byte{}
	for i, o := range ops {
		if o.Pre != nil {
			images[infos[i].Pre.SHA256] = o.Pre.Data
		}
		if o.Post != nil {
			images[infos[i].Post.SHA256] = o.Post.Data
		}
	}
	// In the order of their keys, each transaction reads and writes few pages, however many the journal has.
	inOrder := slices.SortedFunc(maps.Keys(images), func(x, y hash) int { return bytes.Compare(x[:], y[:]) })
	for _, h := range inOrder {
		if err := b.blob(blobImage, h, images[h]); err != nil {
			return nil, err
		}
	}
	for part := range slices.Chunk(infos, maxOpsPerList) {
		list := encodeOps(part)
		h := hash(sha256.Sum256(list))
		if err := b.blob(blobOps, h, list); err != nil {
			return nil, err
		}
		lists = append(lists, h)
	}
	return lists, nil
}

// text adds free text and returns its hash, or nil for nil data.
func (b *batch) text(data []byte) (*hash, error) {
	if data == nil {
		return nil, nil
	}
	h := hash(sha256.Sum256(data))
	return &h, b.blob(blobText, h, data)
}
