package journal

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/boltfile"
	"mend/internal/test/storetest"
)

// TestVerifyHead: a head that was kept is in the chain, unless the newest events were removed or written again.
func TestVerifyHead(t *testing.T) {
	dir := storetest.FastDir(t)
	path := filepath.Join(dir, fileName)
	j := mustOpen(t, dir, Options{Now: testClock()})
	heads := []string{mustVerify(t, j).Head}
	for i := range 5 {
		mustCommit(t, j, scanCause(), change.Op{Ref: partRef(i), Post: image("x")})
		heads = append(heads, mustVerify(t, j).Head)
	}
	for i, head := range heads {
		if _, err := j.Verify(strings.ToUpper(head) + "\n"); err != nil {
			t.Errorf("head %d: %v", i, err)
		}
	}
	for _, bad := range []string{"x", strings.Repeat("0", 64), heads[2][:60]} {
		if _, err := j.Verify(bad); !errors.Is(err, errHead) {
			t.Errorf("head %q: %v, want errHead", bad, err)
		}
	}
	mustClose(t, j)

	old, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, dir, Options{Now: testClock()})
	e := mustCommit(t, j, scanCause(), change.Op{Ref: partRef(9), Post: image("x")})
	head := mustVerify(t, j).Head
	mustClose(t, j)
	if err := os.WriteFile(path, old, 0o600); err != nil { // the tail is removed
		t.Fatal(err)
	}
	j = mustOpen(t, dir, Options{})
	mustVerify(t, j)
	if _, err := j.Verify(head); !errors.Is(err, errHead) {
		t.Errorf("removed tail: %v", err)
	}
	if again := mustCommit(t, j, scanCause(), change.Op{Ref: partRef(9), Post: image("y")}); again.ID != e.ID {
		t.Errorf("the next id is %s, want %s", again.ID, e.ID)
	}
	if _, err := j.Verify(head); !errors.Is(err, errHead) {
		t.Errorf("rebuilt tail: %v", err)
	}
	mustClose(t, j)

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, dir, Options{ReadOnly: true})
	if _, err := j.Verify(head); !errors.Is(err, errHead) {
		t.Errorf("no journal: %v", err)
	}
}

// TestForgedSession: a query finds a damaged key of the session's entries.
func TestForgedSession(t *testing.T) {
	j := mustOpen(t, storetest.FastDir(t), Options{})
	mustBegin(t, j, scanCause(), change.Op{Ref: partRef(1), Post: image("x")})
	key := append(boltfile.SessionKey("ses_1", 0), 0)
	if err := j.update("forge", func(w *writer) error { return w.Put(bucketBySession, key, nil) }); err != nil {
		t.Fatal(err)
	}
	if all, err := j.List(Query{Session: "ses_1"}); !errors.Is(err, ErrDamaged) || len(all) != 1 {
		t.Errorf("List = %d entries, %v, want one, damaged", len(all), err)
	}
}

// TestForgedChunk: a third chunk of an image of two chunks is damage.
func TestForgedChunk(t *testing.T) {
	j := mustOpen(t, storetest.FastDir(t), Options{})
	data := make([]byte, boltfile.ChunkSize+1)
	mustBegin(t, j, scanCause(), change.Op{Ref: partRef(1), Post: &change.Image{Data: data}})
	if r := mustVerify(t, j); r.Images != 1 || r.Bytes != int64(len(data)) {
		t.Errorf("Verify = %+v", r)
	}
	err := j.update("forge", func(w *writer) error {
		return w.Put(bucketImages, boltfile.ChunkKey(hash(sha256Sum(data)), 1), boltfile.Compress(nil, []byte("x")))
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Verify(""); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), "has 3 chunks, want 2") {
		t.Errorf("Verify = %v, want a chunk too many", err)
	}
}

// TestNotPending: an entry without an outcome that is not listed as pending is damage, because no recovery would find it.
func TestNotPending(t *testing.T) {
	dir := storetest.FastDir(t)
	j := mustOpen(t, dir, Options{})
	e := mustBegin(t, j, scanCause(), change.Op{Ref: partRef(1), Post: image("x")})
	if err := j.update("forge", func(w *writer) error { return w.Del(bucketPending, boltfile.U64(e.Seq)) }); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Get(e.ID); !errors.Is(err, ErrDamaged) {
		t.Errorf("Get = %v, want damaged", err)
	}
	mustClose(t, j)
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrDamaged) {
		t.Errorf("Open = %v, want damaged", err)
	}
}

// TestVerifyDigest: a wrong digest of the ops is damage. Earlier versions wrote no digest.
func TestVerifyDigest(t *testing.T) {
	for digest, want := range map[string]error{"": nil, "x": ErrDamaged} {
		j := mustOpen(t, storetest.FastDir(t), Options{})
		b := batch{j: j, entry: 1, limit: 1 << 20}
		ev, err := b.newBeginEvent(newPlan(scanCause(), sampleOps()...))
		if err == nil {
			ev.Begin.Digest = digest
			err = b.commit("begin", ev, ev)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Verify(""); !errors.Is(err, want) {
			t.Errorf("the digest %q: Verify = %v, want %v", digest, err, want)
		}
	}
}

// TestForgedKeys: Verify finds keys and events that were added, removed or changed with correct checksums.
func TestForgedKeys(t *testing.T) {
	for name, c := range map[string]struct {
		forge func(j *Journal, w *writer) error
		want  string
	}{
		"pending added":     {put(bucketPending, boltfile.U64(1)), "pending has 2 keys, want 1"},
		"pending removed":   {del(bucketPending, boltfile.U64(9)), "pending lacks the key"},
		"entries added":     {put(bucketEntries, boltfile.U64(1, 7)), "entries has 18 keys, want 17"},
		"entries removed":   {del(bucketEntries, boltfile.U64(3, 6)), "entries lacks the key"},
		"bysession added":   {put(bucketBySession, boltfile.SessionKey("x", 1)), "bysession has 10 keys, want 9"},
		"bysession removed": {del(bucketBySession, boltfile.SessionKey("ses_1", 1)), "bysession lacks the key"},
		"event removed":     {del(bucketEvents, boltfile.U64(4)), "want event 4"},
		"event repeated": {func(j *Journal, w *writer) error {
			return copyKey(j, w, bucketEvents, boltfile.U64(4), boltfile.U64(5))
		}, "event 5 is not an event"},
		"meta added":        {put(bucketMeta, []byte("x")), "meta has a key"},
		"ref added":         {put(bucketRefs, blobID{kind: blobImage}.key(1)), "is missing"},
		"ref of another":    {refOfAnother, "refs has 1 keys too many"},
		"ref removed":       {delFirst(bucketRefs), "refs lacks the key"},
		"image removed":     {delFirst(bucketImages), "is missing"},
		"ops removed":       {delFirst(bucketOps), "is missing"},
		"text removed":      {delFirst(bucketTexts), "is missing"},
		"image added":       {func(_ *Journal, w *writer) error { return w.Put(bucketImages, make([]byte, 32), make([]byte, 12)) }, "images has 10 keys, want 9"},
		"chunk added":       {addChunk, "has 2 chunks, want 1"},
		"staging marked":    {func(_ *Journal, w *writer) error { return w.Put(bucketMeta, []byte(markStaging), boltfile.U64(3)) }, "entry 3 is being staged, want 10"},
		"erasing marked":    {func(_ *Journal, w *writer) error { return w.Put(bucketMeta, []byte(markErasing), boltfile.U64(1)) }, "event 1 removes nothing"},
		"second finish":     {add(&event{Kind: kindFinish, Entry: 1, Finish: &finishEvent{State: change.Aborted}}), "entry 1 is not pending"},
		"resolve":           {add(&event{Kind: kindResolve, Entry: 1, Resolve: &resolveEvent{How: "keep"}}), `entry 1 is committed, and has an event "resolve" that cannot follow`},
		"forget of pending": {add(&event{Kind: kindForget, Entries: []span{{9, 9}}}), `entry 9 is pending, and has an event "forget" that cannot follow`},
		"too few entries":   {addTotals(8, 1), "it counts 8 entries, 1 pending, want 9 and 1"},
		"too few pending":   {addTotals(9, 0), "it counts 9 entries, 0 pending, want 9 and 1"},
	} {
		t.Run(name, func(t *testing.T) {
			j := mustOpen(t, storetest.FastDir(t), Options{})
			for i := range 8 {
				mustCommit(t, j, scanCause(), change.Op{Ref: partRef(i), Post: &change.Image{Data: randomBytes(uint64(i), 100)}})
			}
			mustBegin(t, j, scanCause(), change.Op{Ref: partRef(8), Post: image("x")})
			mustVerify(t, j)
			if err := j.update("forge", func(w *writer) error { return c.forge(j, w) }); err != nil {
				t.Fatal(err)
			}
			if _, err := j.Verify(""); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Verify = %v, want %q", err, c.want)
			}
		})
	}
}

func put(bucket string, key []byte) func(*Journal, *writer) error {
	return func(_ *Journal, w *writer) error { return w.Put(bucket, key, nil) }
}

func del(bucket string, key []byte) func(*Journal, *writer) error {
	return func(_ *Journal, w *writer) error { return w.Del(bucket, key) }
}

func add(ev *event) func(*Journal, *writer) error {
	return func(j *Journal, w *writer) error { return w.event(j, ev, &event{}) }
}

// addTotals adds an event with wrong totals.
func addTotals(begun, pending uint64) func(*Journal, *writer) error {
	return func(_ *Journal, w *writer) error {
		b, _, err := encodeEvent(w.head.seq+1, w.head.hash, &event{Kind: kindGC, Entries: []span{{1, 1}}, Begun: begun, Pending: pending})
		if err != nil {
			return err
		}
		return w.Put(bucketEvents, boltfile.U64(w.head.seq+1), b)
	}
}

// refOfAnother adds a reference of the pending entry to the image of another one.
func refOfAnother(j *Journal, w *writer) error {
	keys, err := w.Keys(bucketImages, nil, 2)
	if err != nil {
		return err
	}
	id := blobID{kind: blobImage, hash: hash(keys[0])}
	if _, ok, err := j.snap().Get(bucketRefs, id.key(9)); ok || err != nil {
		id.hash = hash(keys[1])
	}
	return w.Put(bucketRefs, id.key(9), nil)
}

func delFirst(bucket string) func(*Journal, *writer) error {
	return func(_ *Journal, w *writer) error {
		keys, err := w.Keys(bucket, nil, 1)
		if err != nil {
			return err
		}
		return w.Del(bucket, keys[0])
	}
}

func copyKey(j *Journal, w *writer, bucket string, from, to []byte) error {
	v, _, err := j.snap().Get(bucket, from)
	if err != nil {
		return err
	}
	return w.Put(bucket, to, v)
}

func addChunk(j *Journal, w *writer) error {
	keys, err := w.Keys(bucketImages, nil, 1)
	if err != nil {
		return err
	}
	return w.Put(bucketImages, boltfile.ChunkKey(hash(keys[0]), 0), boltfile.Compress(nil, []byte("x")))
}

// TestDamageIsExplained: the error names the damage and what the user can do, and the file stays unchanged.
func TestDamageIsExplained(t *testing.T) {
	dir := storetest.FastDir(t)
	path := filepath.Join(dir, fileName)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":   {nil, "is empty"},
		"garbage": {[]byte(strings.Repeat("garbage ", 1000)), "was not written by mend"},
		"short":   {[]byte("x"), "ends before"},
	} {
		if err := os.WriteFile(path, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, o := range []Options{{}, {ReadOnly: true}} {
			_, err := Open(dir, o)
			if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "move the file away") {
				t.Errorf("%s: Open: %v", name, err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, c.file) {
			t.Errorf("%s: the file was changed: %v", name, err)
		}
	}
}

// TestVerifyCancelled: Verify ends with its context, and reports no damage.
func TestVerifyCancelled(t *testing.T) {
	dir := t.TempDir()
	mustClose(t, mustOpen(t, dir, Options{}))
	ctx, cancel := context.WithCancel(t.Context())
	j := mustOpen(t, dir, Options{ReadOnly: true, Context: ctx})
	mustVerify(t, j)
	cancel()
	if _, err := j.Verify(""); !errors.Is(err, context.Canceled) || errors.Is(err, ErrDamaged) {
		t.Errorf("Verify() after the context = %v, want %v", err, context.Canceled)
	}
}
