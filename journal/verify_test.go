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
		if _, err := j.VerifyHead(strings.ToUpper(head) + "\n"); err != nil {
			t.Errorf("head %d: %v", i, err)
		}
	}
	for _, bad := range []string{"x", strings.Repeat("0", 64), heads[2][:60]} {
		if _, err := j.VerifyHead(bad); !errors.Is(err, errHead) {
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
	if _, err := j.VerifyHead(head); !errors.Is(err, errHead) {
		t.Errorf("removed tail: %v", err)
	}
	if again := mustCommit(t, j, scanCause(), change.Op{Ref: partRef(9), Post: image("y")}); again.ID != e.ID {
		t.Errorf("the next id is %s, want %s", again.ID, e.ID)
	}
	if _, err := j.VerifyHead(head); !errors.Is(err, errHead) {
		t.Errorf("rebuilt tail: %v", err)
	}
	mustClose(t, j)

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	j = mustOpen(t, dir, Options{ReadOnly: true})
	if _, err := j.VerifyHead(head); !errors.Is(err, errHead) {
		t.Errorf("no journal: %v", err)
	}
}

// TestForgedKeys changes the journal through bbolt, with correct checksums. Only Verify detects
// that.
func TestForgedKeys(t *testing.T) {
	for name, forge := range map[string]func(j *Journal, w *writer) error{
		"pending added":     func(_ *Journal, w *writer) error { return w.Put(bucketPending, boltfile.U64(1), nil) },
		"pending removed":   func(_ *Journal, w *writer) error { return w.Del(bucketPending, boltfile.U64(9)) },
		"entries added":     func(_ *Journal, w *writer) error { return w.Put(bucketEntries, boltfile.U64(1, 7), nil) },
		"entries removed":   func(_ *Journal, w *writer) error { return w.Del(bucketEntries, boltfile.U64(3, 6)) },
		"bysession added":   func(_ *Journal, w *writer) error { return w.Put(bucketBySession, sessionKey([]byte("x"), 1), nil) },
		"bysession removed": func(_ *Journal, w *writer) error { return w.Del(bucketBySession, sessionKey([]byte("ses_1"), 1)) },
		"event removed":     func(_ *Journal, w *writer) error { return w.Del(bucketEvents, boltfile.U64(4)) },
		"event repeated":    func(_ *Journal, w *writer) error { return copyKey(w, bucketEvents, boltfile.U64(4), boltfile.U64(5)) },
		"meta added":        func(_ *Journal, w *writer) error { return w.Put(bucketMeta, []byte("x"), nil) },
		"ref added":         func(_ *Journal, w *writer) error { return w.Put(bucketRefs, blobID{kind: blobImage}.key(1), nil) },
		"ref removed":       func(_ *Journal, w *writer) error { return delFirst(w, bucketRefs) },
		"image removed":     func(_ *Journal, w *writer) error { return delFirst(w, bucketImages) },
		"ops removed":       func(_ *Journal, w *writer) error { return delFirst(w, bucketOps) },
		"text removed":      func(_ *Journal, w *writer) error { return delFirst(w, bucketTexts) },
		"image added":       func(_ *Journal, w *writer) error { return w.Put(bucketImages, make([]byte, 32), make([]byte, 12)) },
		"chunk added":       func(j *Journal, w *writer) error { return addChunk(j, w) },
		"staging marked":    func(_ *Journal, w *writer) error { return w.Put(bucketMeta, []byte(markStaging), boltfile.U64(3)) },
		"second finish": func(j *Journal, w *writer) error {
			return w.event(j, &event{Kind: kindFinish, Entry: 1, Finish: &finishEvent{State: change.Aborted}}, 1)
		},
		"forget of a pending": func(j *Journal, w *writer) error {
			return w.event(j, &event{Kind: kindForget, Entries: []span{{9, 9}}}, 9)
		},
	} {
		t.Run(name, func(t *testing.T) {
			j := mustOpen(t, storetest.FastDir(t), Options{})
			for i := range 8 {
				mustCommit(t, j, scanCause(), change.Op{Ref: partRef(i), Post: &change.Image{Data: randomBytes(uint64(i), 100)}})
			}
			mustBegin(t, j, scanCause(), change.Op{Ref: partRef(8), Post: image("x")})
			mustVerify(t, j)
			if err := j.update("forge", func(w *writer) error { return forge(j, w) }); err != nil {
				if errors.Is(err, ErrDamaged) { // found even earlier
					return
				}
				t.Fatal(err)
			}
			if _, err := j.Verify(); !errors.Is(err, ErrDamaged) {
				t.Errorf("Verify: %v, want damaged", err)
			}
		})
	}
}

func delFirst(w *writer, bucket string) error {
	keys, err := w.Keys(bucket, nil, 1)
	if err != nil {
		return err
	}
	return w.Del(bucket, keys[0])
}

func copyKey(w *writer, bucket string, from, to []byte) error {
	v, _, err := w.Get(bucket, from)
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
	return w.Put(bucketImages, boltfile.ChunkKey(hash(keys[0]), 0), j.file.Codec.Compress(nil, []byte("x")))
}

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

// A verification ends with its context, which does not count as damage.
func TestVerifyCancelled(t *testing.T) {
	dir := t.TempDir()
	j, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	j, err = Open(dir, Options{ReadOnly: true, Context: ctx})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	if _, err := j.Verify(); err != nil {
		t.Errorf("Verify() = %v", err)
	}
	cancel()
	if _, err := j.Verify(); !errors.Is(err, context.Canceled) || errors.Is(err, ErrDamaged) {
		t.Errorf("Verify() after the context = %v, want %v", err, context.Canceled)
	}
}
