package boltread_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"mend/journal/boltread"
)

const keys = 3000 // enough for branch pages

func key(i int) []byte   { return fmt.Appendf(nil, "key %06d", i) }
func value(i int) []byte { return bytes.Repeat([]byte{byte(i)}, i%100) }

// boltFile returns a file with a large, a small and an empty bucket, and free pages.
func boltFile(t *testing.T) []byte {
	t.Helper()
	name := filepath.Join(t.TempDir(), "bolt.db")
	db, err := bolt.Open(name, 0o600, &bolt.Options{FreelistType: bolt.FreelistMapType})
	if err != nil {
		t.Fatal(err)
	}
	put := func(bucket string, n int) func(*bolt.Tx) error {
		return func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte(bucket))
			for i := range n {
				err = errors.Join(err, b.Put(key(i), value(i)))
			}
			return err
		}
	}
	err = errors.Join(db.Update(put("large", keys)), db.Update(put("small", 3)), db.Update(put("empty", 0)), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func open(file []byte) (*boltread.Snapshot, error) {
	return boltread.Open(bytes.NewReader(file), int64(len(file)))
}

var buckets = []string{"empty", "large", "small"}

// TestRead reads everything that bbolt wrote.
func TestRead(t *testing.T) {
	s, err := open(boltFile(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.CheckStructure(buckets), s.CheckFreelist()); err != nil {
		t.Errorf("CheckStructure: %v", err)
	}
	if free, err := s.FreeBytes(); err != nil || free <= 0 || free >= s.Size() {
		t.Errorf("FreeBytes = %d of %d, %v", free, s.Size(), err)
	}
	for name, n := range map[string]int{"large": keys, "small": 3, "empty": 0} {
		b, err := s.Bucket(name)
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		err = b.Ascend(nil, func(it boltread.Item) error {
			v, err := it.Value()
			if err != nil || !bytes.Equal(it.Key, key(i)) || !bytes.Equal(v, value(i)) {
				t.Fatalf("%s: item %d is %q with %d bytes, %v", name, i, it.Key, len(v), err)
			}
			i++
			return nil
		})
		if err != nil || i != n {
			t.Errorf("%s: Ascend calls fn %d times, %v, want %d", name, i, err, n)
		}
		last, ok, err := b.Last()
		if err != nil || ok != (n > 0) || ok && !bytes.Equal(last.Key, key(n-1)) {
			t.Errorf("%s: Last = %q, %t, %v", name, last.Key, ok, err)
		}
		for _, i := range []int{0, 1, 2, n / 2, n - 1, n} {
			if i < 0 {
				continue
			}
			v, found, err := b.Get(key(i))
			if err != nil || found != (i < n) || found && !bytes.Equal(v, value(i)) {
				t.Errorf("%s: Get(%d) = %d bytes, %t, %v", name, i, len(v), found, err)
			}
		}
	}
	for _, wrong := range [][]string{{"large", "small"}, {"empty", "large", "other", "small"}} {
		if err := s.CheckStructure(wrong); !errors.Is(err, boltread.ErrDamaged) {
			t.Errorf("CheckStructure(%q) = %v, want ErrDamaged", wrong, err)
		}
	}
	if _, err := s.Bucket("other"); !errors.Is(err, boltread.ErrDamaged) {
		t.Errorf("Bucket of a name that there is not = %v, want ErrDamaged", err)
	}
}

// TestAscend starts in the middle and ends early.
func TestAscend(t *testing.T) {
	s, err := open(boltFile(t))
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Bucket("large")
	if err != nil {
		t.Fatal(err)
	}
	for end, want := range map[error]error{boltread.ErrStop: nil, os.ErrClosed: os.ErrClosed} {
		var got []string
		err := b.Ascend(key(1234), func(it boltread.Item) error {
			if got = append(got, string(it.Key)); len(got) == 2 {
				return end
			}
			return nil
		})
		if fmt.Sprint(got) != "[key 001234 key 001235]" || !errors.Is(err, want) {
			t.Errorf("Ascend that ends with %v reads %q and returns %v", end, got, err)
		}
	}
}

// Elements that overlap are damage: each could be as large as the page, and there can
// be 65,535 of them.
func TestElementsOverlap(t *testing.T) {
	const headerSize, elemSize, flagLeaf = 16, 16, 2
	file, order := boltFile(t), binary.NativeEndian
	size := os.Getpagesize()
	for page := 2 * size; ; page += size {
		b := file[page:]
		if order.Uint16(b[8:]) != flagLeaf || order.Uint16(b[10:]) < 10 {
			continue
		}
		first := b[headerSize : headerSize+elemSize]
		rest := size - headerSize - int(order.Uint32(first[4:])) - int(order.Uint32(first[8:]))
		order.PutUint32(first[12:], uint32(rest)) // the first value is all that follows
		break
	}
	if err := readAll(file); !errors.Is(err, boltread.ErrDamaged) {
		t.Errorf("a page whose elements overlap is read: %v", err)
	}
}

// TestDamage changes bytes of the file: every call returns, with ErrDamaged if with any
// error.
func TestDamage(t *testing.T) {
	file := boltFile(t)
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	const tries = 2000
	for range tries {
		b := bytes.Clone(file)
		for range 1 + rng.IntN(3) {
			b[rng.IntN(len(b)/64)*64+rng.IntN(40)] ^= byte(1 + rng.IntN(255)) // headers more often than their share
		}
		if err := readAll(b[:len(b)-rng.IntN(2)*rng.IntN(len(b))]); err != nil {
			found++
			if !errors.Is(err, boltread.ErrDamaged) {
				t.Errorf("a damaged file gives %v", err)
			}
		}
	}
	t.Logf("%d of %d damages found", found, tries)
	if found < tries/10 {
		t.Errorf("only %d of %d damages were found", found, tries)
	}
}

func readAll(file []byte) error {
	s, err := open(file)
	if err != nil {
		return err
	}
	errs := []error{s.CheckStructure(buckets)}
	for _, name := range buckets {
		b, err := s.Bucket(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		_, _, err = b.Last()
		errs = append(errs, err, b.CheckPath(key(7)), b.Ascend(nil, func(it boltread.Item) error {
			_, err := it.Value()
			return err
		}))
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, boltread.ErrDamaged) {
			return err
		}
	}
	return errors.Join(errs...)
}
