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
	Head    string // hash of the newest event, for a later Verify
	// Unfinished means that a crash interrupted something, and that the file may hold bytes that
	// should have been removed. The next Open for writing finishes it.
	Unfinished bool
}

// Verify checks the whole journal: every page, every checksum, the chain of events, every derived bucket, and the hash of
// every image that was not removed. The error wraps [ErrDamaged] and names the first problem.
//
// Unless head is "", the Head of an earlier Report, it must be in the chain. If it is not, the error wraps errHead:
// entries were removed from the end of the chain, or it was rebuilt together with its hashes.
func (j *Journal) Verify(head string) (Report, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v := newVerifier(j, head)
	err := j.file.CheckReadable()
	if err == nil && j.file.Snap != nil {
		j.snap().DropCache()
		err = cmp.Or(v.run(), j.damage)
	}
	if err = cmp.Or(err, v.checkHead()); err != nil {
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

	chain                   // up to the event that is read
	wantKeys map[string]int // how many keys each derived bucket and each bucket of blobs must have

	staging  uint64 // the entry whose blobs are unfinished, 0 if none
	erasing  *event // the event whose blobs are not yet removed, nil if none
	refCount int    // number of references that the entries need
}

func newVerifier(j *Journal, head string) *verifier {
	return &verifier{j: j, s: j.snap(), wantHead: strings.ToLower(strings.TrimSpace(head)), chain: newChain(), wantKeys: map[string]int{}}
}

// checkHead returns an error that wraps errHead if the chain lacks the wanted head.
func (v *verifier) checkHead() error {
	if v.wantHead == "" || v.headFound {
		return nil
	}
	return fmt.Errorf("%w: %s", errHead, v.wantHead)
}

func (v *verifier) run() error {
	for _, check := range []func() error{
		func() error { return v.s.CheckStructure(buckets) },
		v.checkMeta, v.checkChain, v.checkIndexes, v.checkEntries, v.checkRefs,
		func() error { return v.checkCounts(bucketImages, bucketOps, bucketTexts) }, // an entry refers to every blob
	} {
		if err := check(); err != nil {
			return err
		}
	}
	v.report.Entries = int(v.begun)
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
		if err := v.apply(seq, ev); err != nil {
			return fmt.Errorf("event %d: %w", seq, err)
		}
		return nil
	})
}

// apply checks the totals of the event, and that the derived buckets have the keys that follow from it. It counts these
// keys. Whether the event is valid for the states of its entries follows from these keys, see [entryState.add].
func (v *verifier) apply(seq uint64, ev *event) error {
	begin, err := v.add(ev)
	if err != nil {
		return err
	}
	for _, k := range indexKeys(seq, ev, begin) {
		v.wantKeys[k.Bucket]++
		if err := v.requireKey(k.Bucket, k.Key); err != nil {
			return err
		}
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
	for i := range v.begun {
		st, err := v.s.entryState(i + 1)
		if err != nil {
			return err
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
	if n := v.begun + 1; v.staging != 0 && v.staging != n {
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
