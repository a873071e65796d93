package journal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
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
	return j.readHead(ev.Entry)
}

// newBeginEvent adds the blobs of a new entry to the batch and returns its begin event.
func (b *batch) newBeginEvent(p change.Plan, s change.Staged) (*event, error) {
	infos, ops, err := b.ops(s.Ops)
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

// indexedEntries returns the entries under which the bucket "entries" lists a begin event: its own entry and
// those that it reverts. The finish event is listed under the same entries.
func indexedEntries(begin *event) []uint64 {
	entries := []uint64{begin.Entry}
	seen := map[uint64]bool{}
	for _, seq := range begin.revertedEntries() {
		if !seen[seq] {
			seen[seq] = true
			entries = append(entries, seq)
		}
	}
	return entries
}

// relatedEntries returns the entries up to newest under which the bucket "entries" lists an event. begin is the
// begin event of the entry that a finish event belongs to.
func relatedEntries(ev, begin *event, newest uint64) (entries []uint64) {
	switch ev.Kind {
	case kindBegin:
		return indexedEntries(ev)
	case kindFinish:
		return indexedEntries(begin)
	case kindResolve:
		return []uint64{ev.Entry}
	default:
		for _, s := range ev.Entries {
			for entry := s[0]; entry <= min(s[1], newest); entry++ {
				entries = append(entries, entry)
			}
		}
		return entries
	}
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
	b := j.newBatch(st.seq, math.MaxInt)
	if ev.Finish.Text, err = b.text(encodeOutcome(o)); err != nil {
		return change.Entry{}, err
	}
	if err := b.commit("finish", ev, indexedEntries(st.begin)...); err != nil {
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
		return w.event(j, &event{Kind: kindResolve, Entry: st.seq, Resolve: d}, st.seq)
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

func (j *Journal) newBatch(entry uint64, limit int) *batch {
	return &batch{j: j, entry: entry, limit: limit}
}

// put adds a value. It writes the batch first if the value would make it too large.
func (b *batch) put(bucket string, key, val []byte) error {
	v := boltfile.NewValue(bucket, key, val)
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
		_, err = b.j.file.Codec.Copy(io.Discard, b.j.snap().Snapshot, id.kind.bucket(), id.hash)
		return err
	}
	return b.j.file.Codec.Write(h, data, func(key, val []byte) error {
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

// commit writes the rest of the batch and the event in one transaction, and lists the event under the given
// entries.
func (b *batch) commit(what string, ev *event, entries ...uint64) error {
	return b.j.update(what, func(w *writer) error {
		if err := w.PutAll(b.values); err != nil {
			return err
		}
		if b.staged {
			if err := w.Del(bucketMeta, []byte(markStaging)); err != nil {
				return err
			}
		}
		return w.event(b.j, ev, entries...)
	})
}

// drop removes the blobs of an entry that has no begin event.
func (b *batch) drop() error {
	if !b.staged || b.j.file.Fatal != nil {
		return nil
	}
	return b.j.file.CleanUp(b.j.cleanUpStaging)
}

// ops adds the images and the lists of ops. It returns the ops without images, and the hashes of the lists.
func (b *batch) ops(ops []change.Op) (infos []change.OpInfo, lists []hash, err error) {
	infos = change.InfosOf(ops)
	if err := b.images(infos, ops); err != nil {
		return nil, nil, err
	}
	for part := range slices.Chunk(infos, maxOpsPerList) {
		list := encodeOps(part)
		h := hash(sha256.Sum256(list))
		if err := b.blob(blobOps, h, list); err != nil {
			return nil, nil, err
		}
		lists = append(lists, h)
	}
	return infos, lists, nil
}

// images adds the images of the ops. It adds them in the order of their keys, so that each transaction reads and
// writes few pages, however many the journal has.
func (b *batch) images(infos []change.OpInfo, ops []change.Op) error {
	type item struct {
		digest *change.Digest
		image  *change.Image
	}
	items := make([]item, 0, len(ops))
	for i, o := range ops {
		if o.Pre != nil {
			items = append(items, item{infos[i].Pre, o.Pre})
		}
		if o.Post != nil {
			items = append(items, item{infos[i].Post, o.Post})
		}
	}
	slices.SortFunc(items, func(x, y item) int { return bytes.Compare(x.digest.SHA256[:], y.digest.SHA256[:]) })
	items = slices.CompactFunc(items, func(x, y item) bool { return x.digest.SHA256 == y.digest.SHA256 })
	for _, it := range items {
		if err := b.blob(blobImage, it.digest.SHA256, it.image.Data); err != nil {
			return err
		}
	}
	return nil
}

// text adds free text and returns its hash, or nil for nil data.
func (b *batch) text(data []byte) (*hash, error) {
	if data == nil {
		return nil, nil
	}
	h := hash(sha256.Sum256(data))
	return &h, b.blob(blobText, h, data)
}
