package journal

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"mend/change"
	"mend/internal/boltfile"
)

// A Report has the results of Verify.
type Report struct {
	Entries int
	Events  int
	Images  int
	Bytes   int64  // of the images, uncompressed
	Head    string // hash of the newest event, for a later VerifyHead
	// Unfinished means that a crash interrupted something, and that the file may hold bytes that
	// should have been removed. The next Open for writing finishes it.
	Unfinished bool
}

// Verify checks the whole journal: every page, every checksum, the chain of events, every derived
// bucket, and the hash of every image that was not removed. The error wraps [ErrDamaged] and names
// the first problem. Only VerifyHead detects a chain that was rebuilt together with its hashes.
func (j *Journal) Verify() (Report, error) {
	return j.VerifyHead("")
}

// VerifyHead is Verify, and also checks that head, the Head of an earlier Report, is in the chain.
// If it is not, the error wraps errHead: entries were removed from the end of the chain, or it was
// rebuilt. An empty head is not checked.
func (j *Journal) VerifyHead(head string) (Report, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v := newVerifier(j, strings.ToLower(strings.TrimSpace(head)))
	err := j.file.CheckReadable()
	if err == nil && j.file.Snap != nil {
		j.snap().DropCache()
		err = cmp.Or(v.run(), j.damage)
	}
	if err == nil && v.wantHead != "" && !v.headFound {
		err = fmt.Errorf("%w: %s", errHead, v.wantHead)
	}
	if err != nil {
		return v.report, fmt.Errorf("verifying journal %s: %w", j.file.Path(), err)
	}
	return v.report, nil
}

// A verifier is a verification in progress.
type verifier struct {
	j         *Journal
	s         snapshot
	wantHead  string
	headFound bool
	// withoutImages means that the journal was made from an export without images.
	withoutImages bool
	report        Report

	states   []chainState      // states[0] belongs to entry 1
	pending  map[uint64]*event // begin events of the pending entries
	wantKeys map[string]int    // how many keys each derived bucket and each bucket of blobs must have

	staging  uint64 // the entry whose blobs are unfinished, 0 if none
	erasing  *event // the event whose blobs are not yet removed, nil if none
	refCount int    // number of references that the entries need
}

// A chainState is the state of an entry after the events checked so far.
type chainState struct {
	state                     change.State
	imagesErased, textsErased bool
}

func newVerifier(j *Journal, head string) *verifier {
	return &verifier{j: j, s: j.snap(), wantHead: head, wantKeys: map[string]int{}}
}

func (v *verifier) run() error {
	for _, check := range []func() error{
		func() error { return v.s.CheckStructure(buckets) },
		v.checkMeta, v.checkChain, v.checkIndexes, v.checkEntries, v.checkRefs, v.checkBlobs,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	v.report.Entries = len(v.states)
	return nil
}

// checkMeta checks the keys of the meta bucket and reads the marks.
func (v *verifier) checkMeta() error {
	known := map[string]bool{
		keyFormat: true, keyID: true, keyCreated: true,
		markNew: true, markStaging: true, markErasing: true, markCompact: true,
	}
	err := v.s.Scan(bucketMeta, nil, nil, func(it boltfile.Item) error {
		name := string(it.Key)
		if !known[name] {
			return damageError("meta has a key %q", it.Key)
		}
		v.report.Unfinished = v.report.Unfinished || name == markStaging || name == markErasing || name == markCompact
		_, err := it.Open(bucketMeta)
		return err
	})
	if err != nil {
		return err
	}
	if v.staging, _, err = v.j.markNumber(markStaging); err != nil {
		return err
	}
	seq, ok, err := v.j.markNumber(markErasing)
	if err != nil || !ok {
		return err
	}
	if v.erasing, err = v.s.event(seq); err == nil && len(v.erasing.Entries) == 0 {
		err = damageError("event %d removes nothing, but is marked as removing", seq)
	}
	return err
}

// checkChain reads the events in order and checks that each follows from the earlier ones.
func (v *verifier) checkChain() error {
	before := genesis(v.j.id)
	v.pending = map[uint64]*event{}
	v.headFound = v.wantHead == before.String()
	v.report.Head = before.String()
	return v.s.Scan(bucketEvents, nil, nil, func(it boltfile.Item) error {
		v.report.Events++
		seq := uint64(v.report.Events)
		if n, ok := boltfile.SplitU64(it.Key, 1); !ok || n[0] != seq {
			return damageError("events has key %x, want event %d", it.Key, seq)
		}
		b, err := it.Open(bucketEvents)
		if err != nil {
			return err
		}
		ev, link, sum, err := decodeEvent(seq, b)
		if err != nil {
			return err
		}
		if link != before {
			return damageError("event %d does not follow the one before it", seq)
		}
		before = sum
		v.report.Head = sum.String()
		v.headFound = v.headFound || v.wantHead == v.report.Head
		if err := v.apply(ev); err != nil {
			return fmt.Errorf("event %d: %w", seq, err)
		}
		return v.checkIndexed(seq, ev)
	})
}

// apply checks that the event is valid after the earlier ones, and updates the states.
func (v *verifier) apply(ev *event) error {
	switch ev.Kind {
	case kindBegin:
		if want := uint64(len(v.states)) + 1; ev.Entry != want {
			return damageError("it begins entry %d, want %d", ev.Entry, want)
		}
		v.states = append(v.states, chainState{state: change.Pending})
		v.pending[ev.Entry] = ev
	case kindFinish:
		if err := v.transition(ev.Entry, change.Pending, ev.Finish.State); err != nil {
			return err
		}
	case kindResolve:
		if err := v.transition(ev.Entry, change.Conflicted, change.Resolved); err != nil {
			return err
		}
	default:
		if err := v.applyErase(ev); err != nil {
			return err
		}
	}
	pending := uint64(len(v.pending))
	if ev.Kind == kindFinish {
		pending-- // checkIndexed removes the entry
	}
	if ev.Begun != uint64(len(v.states)) || ev.Pending != pending {
		return damageError("it counts %d entries, %d pending, want %d and %d", ev.Begun, ev.Pending, len(v.states), pending)
	}
	return nil
}

func (v *verifier) transition(entry uint64, from, to change.State) error {
	if entry > uint64(len(v.states)) || v.states[entry-1].state != from {
		return damageError("entry %d is not %s", entry, from)
	}
	v.states[entry-1].state = to
	return nil
}

func (v *verifier) applyErase(ev *event) error {
	for _, s := range ev.Entries {
		for entry := s[0]; entry <= s[1]; entry++ {
			if entry > uint64(len(v.states)) {
				return damageError("it removes images of entry %d of %d", entry, len(v.states))
			}
			e := &v.states[entry-1]
			if e.state == change.Pending || e.state == change.Conflicted {
				return damageError("it removes images of entry %d, which is %s", entry, e.state)
			}
			e.imagesErased, e.textsErased = true, e.textsErased || ev.Kind == kindForget
		}
	}
	return nil
}

// checkIndexed checks that the derived buckets have the keys that follow from the event,
// and counts them.
func (v *verifier) checkIndexed(seq uint64, ev *event) error {
	for _, k := range indexKeys(seq, ev, v.pending[ev.Entry]) {
		v.wantKeys[k.bucket]++
		if err := v.requireKey(k.bucket, k.key); err != nil {
			return err
		}
	}
	if ev.Kind == kindFinish {
		delete(v.pending, ev.Entry)
	}
	return nil
}

// requireKey checks that the bucket has the key, with an empty value.
func (v *verifier) requireKey(bucket string, key []byte) error {
	val, ok, err := v.s.Get(bucket, key)
	if err == nil && (!ok || len(val) > 0) {
		err = damageError("%s lacks the key %x", bucket, key)
	}
	return err
}

// checkIndexes checks that the derived buckets have no other keys.
func (v *verifier) checkIndexes() error {
	v.wantKeys[bucketPending] = len(v.pending)
	for entry := range v.pending {
		if err := v.requireKey(bucketPending, boltfile.U64(entry)); err != nil {
			return err
		}
	}
	return v.checkCounts(bucketPending, bucketEntries, bucketBySession)
}

// checkCounts checks that the buckets have as many keys as were found to be needed.
func (v *verifier) checkCounts(buckets ...string) error {
	for _, name := range buckets {
		n, err := v.s.Count(name)
		if err != nil {
			return err
		}
		if n != v.wantKeys[name] {
			return damageError("%s has %d keys, want %d", name, n, v.wantKeys[name])
		}
	}
	return nil
}

// checkEntries reads every entry, and checks that it has references to the blobs it needs.
func (v *verifier) checkEntries() error {
	undos := newUndoResolver(v.s)
	for i, want := range v.states {
		st, err := v.s.entryState(uint64(i) + 1)
		if err != nil {
			return err
		}
		if st.state() != want.state || st.imagesErased != want.imagesErased || st.textsErased != want.textsErased {
			return damageError("entry %d is %s, want %s", st.seq, st.state(), want.state)
		}
		e, err := v.j.buildEntry(st, undos)
		if err != nil {
			return err
		}
		if e.Digest != "" && e.Digest != change.PlanDigest(e.Ops) {
			return damageError("entry %d has a wrong digest", st.seq)
		}
		blobs, err := v.j.neededBlobs(st, !st.imagesErased && !v.withoutImages, !st.textsErased)
		if err != nil {
			return err
		}
		v.refCount += len(blobs)
		for id := range blobs {
			if err := v.requireKey(bucketRefs, id.key(st.seq)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkRefs checks that there are no superfluous references, and reads the referenced blobs.
func (v *verifier) checkRefs() error {
	if n := uint64(len(v.states)) + 1; v.staging != 0 && v.staging != n {
		return damageError("entry %d is being staged, want %d", v.staging, n)
	}
	var last blobID
	keys, isRead := 0, false // of the blob last
	err := v.s.Scan(bucketRefs, nil, nil, func(it boltfile.Item) error {
		r, entry, err := splitRef(it.Key)
		if err == nil {
			_, err = it.Open(bucketRefs)
		}
		if err == nil && r != last {
			last, isRead = r, false
			keys, err = v.countChunks(r)
		}
		if err != nil || v.isUnfinished(r, entry) {
			return err
		}
		v.refCount--
		if isRead {
			return nil
		}
		isRead = true
		return v.readBlob(r, keys)
	})
	if err == nil && v.refCount != 0 {
		err = damageError("refs has %d keys too many", -v.refCount)
	}
	return err
}

// countChunks returns the number of keys of a blob. All of them are needed, because an entry refers to the blob.
func (v *verifier) countChunks(id blobID) (n int, err error) {
	err = v.s.Scan(id.kind.bucket(), id.hash[:], nil, func(boltfile.Item) error {
		n++
		return nil
	})
	v.wantKeys[id.kind.bucket()] += n
	return n, err
}

// readBlob checks the content of a blob, and that it has no other keys.
func (v *verifier) readBlob(id blobID, keys int) error {
	size, err := v.s.CopyBlob(io.Discard, id.kind.bucket(), id.hash)
	if err != nil {
		return err
	}
	if want := boltfile.ChunkCount(size); uint64(keys) != want {
		return damageError("%s %v has %d chunks, want %d", id.kind.bucket(), id.hash, keys, want)
	}
	if id.kind == blobImage {
		v.report.Images++
		v.report.Bytes += int64(size)
	}
	return nil
}

// checkBlobs checks that an entry refers to every blob.
func (v *verifier) checkBlobs() error { return v.checkCounts(bucketImages, bucketOps, bucketTexts) }

// isUnfinished reports whether interrupted work has yet to remove the reference.
func (v *verifier) isUnfinished(id blobID, entry uint64) bool {
	if entry == v.staging && entry != 0 {
		return true
	}
	if v.erasing == nil || !v.erasing.erases(entry) {
		return false
	}
	return id.kind == blobImage || id.kind == blobText && v.erasing.Kind == kindForget
}
