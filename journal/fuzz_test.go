package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"mend/change"
	"mend/internal/boltfile"
)

func FuzzEvent(f *testing.F) {
	h := hash{1}
	for _, ev := range []*event{
		{Kind: kindBegin, Entry: 2, Begun: 2, Pending: 1, Begin: &beginEvent{Count: 1, Ops: []hash{h}, Text: &h, Cause: change.CauseUndo, Of: []uint64{1}}},
		{Kind: kindFinish, Entry: 2, Begun: 2, Finish: &finishEvent{State: change.Committed, Text: &h}},
		{Kind: kindResolve, Entry: 2, Begun: 3, Resolve: &resolveEvent{How: "back", By: 3}},
		{Kind: kindForget, Begun: 9, Entries: []span{{1, 2}, {4, 9}}},
	} {
		b, _, err := encodeEvent(7, h, ev)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[41 : len(b)-32])
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		// With a wrong hash decodeEvent would read nothing else.
		b, _, err := encodeEvent(7, h, &event{})
		if err != nil {
			t.Fatal(err)
		}
		b = append(b[:41:41], payload...)
		b = append(b, sha256Sum(b)...)
		ev, before, _, err := decodeEvent(7, b)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("decodeEvent: %v", err)
			}
			return
		}
		if before != h {
			t.Errorf("decodeEvent: the event before is %v", before)
		}
		again, _, err := encodeEvent(7, h, ev)
		if err == nil {
			_, _, _, err = decodeEvent(7, again)
		}
		if err != nil {
			t.Errorf("decoded once, but not again: %v", err)
		}
	})
}

func FuzzOps(f *testing.F) {
	f.Add(encodeOps(nil))
	f.Add(encodeOps([]change.OpInfo{
		{Ref: partRef(1), Pre: &change.Digest{Size: 1 << 40, Mode: 0o600}},
		{Ref: change.Ref{Kind: 200, Project: "\xff"}, Post: &change.Digest{SHA256: hash{1}}},
	}))
	f.Fuzz(func(t *testing.T, b []byte) {
		ops, err := decodeOps(b)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Errorf("decodeOps: %v", err)
			}
			return
		}
		again, err := decodeOps(encodeOps(ops))
		if err != nil || !bytes.Equal(encodeOps(again), encodeOps(ops)) {
			t.Errorf("decoded once, but not again: %v", err)
		}
	})
}

func FuzzChunk(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte("text text text text text text text text"))
	f.Add(boltfile.Compress(nil, make([]byte, boltfile.ChunkSize)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if raw, err := boltfile.Decompress(b, ErrDamaged); err == nil && len(raw) > boltfile.ChunkSize || err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("Decompress = %d bytes, %v", len(raw), err)
		}
		if got, err := boltfile.Decompress(boltfile.Compress(nil, b), ErrDamaged); err != nil || !bytes.Equal(got, b) {
			t.Errorf("Decompress(Compress(%d bytes)) = %d bytes, %v", len(b), len(got), err)
		}
	})
}

// FuzzFile: a file with arbitrary bytes at any place is read, or the error is damage.
func FuzzFile(f *testing.F) {
	dir := filepath.Join(f.TempDir(), "journal")
	j := mustOpen(f, dir, Options{Now: testClock()})
	fillJournal(f, j)
	mustClose(f, j)
	whole, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(0, []byte{})
	f.Add(4096*3+20, []byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, at int, patch []byte) {
		b := bytes.Clone(whole)
		if at < 0 || at > len(b) {
			return
		}
		copy(b[at:], patch)
		s, err := boltfile.NewSnapshot(bytes.NewReader(b), int64(len(b)), ErrDamaged)
		if err == nil {
			err = s.CheckStructure(buckets)
		}
		if err != nil && !errors.Is(err, ErrDamaged) {
			t.Errorf("CheckStructure: %v", err)
		}
		if s == nil {
			return
		}
		for _, name := range buckets {
			err := s.Scan(name, nil, nil, func(it boltfile.Item) error {
				_, err := it.Open(name)
				if err == nil && name == bucketImages && len(it.Key) == len(hash{}) {
					_, err = s.Blob(bucketImages, hash(it.Key))
				}
				return err
			})
			if err != nil && !errors.Is(err, ErrDamaged) {
				t.Errorf("Scan(%s): %v", name, err)
			}
		}
		for seq := range uint64(12) {
			if _, err := (snapshot{s}).entryState(seq); err != nil && !errors.Is(err, ErrDamaged) {
				t.Errorf("entryState(%d): %v", seq, err)
			}
		}
	})
}
