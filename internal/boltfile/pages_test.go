package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"mend/internal/test/storetest"
)

var errDamaged = errors.New("test file is damaged")

const boltKeys = 3000 // enough for branch pages

func boltKey(i int) []byte   { return fmt.Appendf(nil, "key %06d", i) }
func boltValue(i int) []byte { return bytes.Repeat([]byte{byte(i)}, i%100) }

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
				err = errors.Join(err, b.Put(boltKey(i), boltValue(i)))
			}
			return err
		}
	}
	err = errors.Join(db.Update(put("large", boltKeys)), db.Update(put("small", 3)), db.Update(put("empty", 0)), db.Close())
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func openPages(file []byte) (*Snapshot, error) {
	return NewSnapshot(bytes.NewReader(file), int64(len(file)), errDamaged)
}

var boltBuckets = []string{"small", "empty", "large"}

// TestPages: Scan, Last and find return what bbolt wrote, and the structure of its file is sound.
func TestPages(t *testing.T) {
	s, err := openPages(boltFile(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CheckStructure(boltBuckets); err != nil {
		t.Errorf("CheckStructure: %v", err)
	}
	if free, _, err := s.freePages(); err != nil || len(free) == 0 || uint64(len(free)) >= s.high {
		t.Errorf("freePages = %d of %d, %v", len(free), s.high, err)
	}
	for name, n := range map[string]int{"large": boltKeys, "small": 3, "empty": 0} {
		i := 0
		err = s.Scan(name, nil, nil, func(it Item) error {
			v, err := it.Value()
			if err != nil || !bytes.Equal(it.Key, boltKey(i)) || !bytes.Equal(v, boltValue(i)) {
				t.Fatalf("%s: item %d is %q with %d bytes, %v", name, i, it.Key, len(v), err)
			}
			i++
			return nil
		})
		if err != nil || i != n {
			t.Errorf("%s: Scan calls fn %d times, %v, want %d", name, i, err, n)
		}
		last, ok, err := s.Last(name)
		if err != nil || ok != (n > 0) || ok && !bytes.Equal(last.Key, boltKey(n-1)) {
			t.Errorf("%s: Last = %q, %t, %v", name, last.Key, ok, err)
		}
		for _, i := range []int{0, 1, 2, n / 2, n - 1, n} {
			if i < 0 {
				continue
			}
			it, found, err := s.find(name, boltKey(i))
			if err != nil || found != (i < n) || found && !bytes.Equal(it.Key, boltKey(i)) {
				t.Errorf("%s: find(%d) = %q, %t, %v", name, i, it.Key, found, err)
			}
		}
	}
	for _, wrong := range [][]string{{"large", "small"}, {"empty", "large", "other", "small"}} {
		if err := s.CheckStructure(wrong); !errors.Is(err, errDamaged) {
			t.Errorf("CheckStructure(%q) = %v, want errDamaged", wrong, err)
		}
	}
	if _, err := s.bucket("other"); !errors.Is(err, errDamaged) {
		t.Errorf("bucket of an unknown name = %v, want errDamaged", err)
	}
}

// TestScan: Scan begins at the given key, and ends when fn returns an error.
func TestScan(t *testing.T) {
	s, err := openPages(boltFile(t))
	if err != nil {
		t.Fatal(err)
	}
	for end, want := range map[error]error{ErrStop: nil, os.ErrClosed: os.ErrClosed} {
		var got []string
		err := s.Scan("large", nil, boltKey(1234), func(it Item) error {
			if got = append(got, string(it.Key)); len(got) == 2 {
				return end
			}
			return nil
		})
		if fmt.Sprint(got) != "[key 001234 key 001235]" || !errors.Is(err, want) {
			t.Errorf("Scan with fn returning %v = %v after %q", end, err, got)
		}
	}
}

// TestElementsOverlap: elements that overlap are damage. Otherwise each of up to 65,535 elements could be as large as the
// page.
func TestElementsOverlap(t *testing.T) {
	file := boltFile(t)
	size := os.Getpagesize()
	for page := 2 * size; ; page += size {
		b := file[page:]
		if order.Uint16(b[8:]) != flagLeaf || order.Uint16(b[10:]) < 10 {
			continue
		}
		first := b[pageHeaderSize : pageHeaderSize+elemSize]
		rest := size - pageHeaderSize - int(order.Uint32(first[4:])) - int(order.Uint32(first[8:]))
		order.PutUint32(first[12:], uint32(rest)) // the first value ends with the page
		break
	}
	if err := readAll(file); !errors.Is(err, errDamaged) {
		t.Errorf("a page whose elements overlap is read: %v", err)
	}
}

// TestDamagedPages: after a change of any bytes every call returns, and each error wraps errDamaged.
func TestDamagedPages(t *testing.T) {
	storetest.Long(t)
	file := boltFile(t)
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	tries := storetest.Count(2000, 400)
	for range tries {
		b := bytes.Clone(file)
		for range 1 + rng.IntN(3) {
			b[rng.IntN(len(b)/64)*64+rng.IntN(40)] ^= byte(1 + rng.IntN(255)) // headers more often than other bytes
		}
		if err := readAll(b[:len(b)-rng.IntN(2)*rng.IntN(len(b))]); err != nil {
			found++
			if !errors.Is(err, errDamaged) {
				t.Errorf("a damaged file gives %v", err)
			}
		}
	}
	if found < tries/10 {
		t.Errorf("damage was found in %d of %d files", found, tries)
	}
}

func readAll(file []byte) error {
	s, err := openPages(file)
	if err != nil {
		return err
	}
	errs := []error{s.CheckStructure(boltBuckets)}
	for _, name := range boltBuckets {
		_, _, lastErr := s.Last(name)
		_, _, findErr := s.find(name, boltKey(7))
		errs = append(errs, lastErr, findErr, s.Scan(name, nil, nil, func(it Item) error {
			_, err := it.Value()
			return err
		}))
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, errDamaged) {
			return err
		}
	}
	return errors.Join(errs...)
}
