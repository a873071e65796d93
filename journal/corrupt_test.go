package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"mend/change"
	"mend/internal/boltfile"
	"mend/internal/test/storetest"
)

// A fixture is a journal with branch pages, its file, and a digest of its content.
type fixture struct {
	dir    string
	file   []byte
	digest [32]byte
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{dir: storetest.FastDir(t)}
	j := mustOpen(t, f.dir, Options{Now: testClock()})
	fillJournal(t, j)
	for i := range storetest.Count(50, 5) {
		mustCommit(t, j, scanCause(), change.Op{Ref: partRef(i), Post: &change.Image{Data: randomBytes(uint64(i), 40)}})
	}
	mustVerify(t, j)
	var err error
	if f.digest, err = digestJournal(j); err != nil {
		t.Fatal(err)
	}
	mustClose(t, j)
	if f.file, err = os.ReadFile(filepath.Join(f.dir, fileName)); err != nil {
		t.Fatal(err)
	}
	return f
}

// Constants of bbolt's file format.
const (
	pageHeaderSize, elemSize           = 16, 16
	flagBranch, flagLeaf, flagFreelist = 0x01, 0x02, 0x10
)

var order = binary.NativeEndian

func (f *fixture) pageSize() int { return int(order.Uint32(f.file[pageHeaderSize+8:])) }

// usedSize returns the size of the part of the file that has pages.
func (f *fixture) usedSize() int {
	s, err := boltfile.NewSnapshot(bytes.NewReader(f.file), int64(len(f.file)), ErrDamaged)
	if err != nil {
		return 0
	}
	return int(s.Size())
}

func (f *fixture) damagedCopy(change func(b []byte)) []byte {
	b := bytes.Clone(f.file)
	change(b)
	return b
}

// check opens the damaged file for reading and for writing, and reports whether the damage was found. If not, the journal
// must read as before.
func (f *fixture) check(t *testing.T, what string, file []byte) (found bool) {
	t.Helper()
	for name, data := range map[string][]byte{fileName: file, tempName: []byte("left by a cut compaction")} {
		if err := os.WriteFile(filepath.Join(f.dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	defer func() {
		if p := recover(); p != nil {
			t.Fatalf("%s: panic: %v", what, p)
		}
	}()
	found = f.read(t, what)
	f.write(t, what, found)
	return found
}

// files returns the content of the journal and of the leftover of a compaction.
func (f *fixture) files(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, name := range []string{fileName, tempName} {
		b, err := os.ReadFile(filepath.Join(f.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(b)
	}
	return files
}

func (f *fixture) read(t *testing.T, what string) (found bool) {
	t.Helper()
	j, err := Open(f.dir, Options{ReadOnly: true})
	if err != nil {
		if !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: Open: %v", what, err)
		}
		return true
	}
	defer mustClose(t, j)
	_, err = j.Verify("")
	if err != nil && !errors.Is(err, ErrDamaged) {
		t.Errorf("%s: Verify: %v", what, err)
	}
	got, digestErr := digestJournal(j)
	if err == nil && (digestErr != nil || got != f.digest) {
		t.Errorf("%s: Verify finds no damage, but the content differs: %v", what, digestErr)
	}
	return err != nil
}

// write opens the damaged file for writing. If the damage was found, that must fail and
// leave every file unchanged.
func (f *fixture) write(t *testing.T, what string, found bool) {
	t.Helper()
	before := f.files(t)
	j, err := Open(f.dir, Options{})
	if err != nil {
		if !found || !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: found %t, Open for writing: %v", what, found, err)
		}
		if !maps.Equal(f.files(t), before) {
			t.Errorf("%s: Open for writing is refused and has changed a file", what)
		}
		return
	}
	if found {
		t.Errorf("%s: Verify finds the damage, and Open for writing does not", what)
	}
	defer mustClose(t, j)
	e, err := j.Begin(newPlan(scanCause(), sampleOps()...))
	if err == nil {
		_, err = j.Finish(e, change.Outcome{State: change.Committed})
	}
	if err == nil && !found {
		_, err = j.Verify("")
	}
	if err != nil && (!found || !errors.Is(err, ErrDamaged)) {
		t.Errorf("%s: writing: %v", what, err)
	}
}

// TestFlippedBytes: a changed byte is found, or the journal reads as before.
func TestFlippedBytes(t *testing.T) {
	storetest.Long(t)
	f := newFixture(t)
	rng := rand.New(rand.NewPCG(1, 2))
	size, tried, found := f.pageSize(), 0, 0
	flip := func(at int) {
		x := byte(1 << rng.IntN(8))
		if rng.IntN(2) == 0 {
			x = byte(1 + rng.IntN(255))
		}
		tried++
		if f.check(t, fmt.Sprintf("byte %d ^ %#x", at, x), f.damagedCopy(func(b []byte) { b[at] ^= x })) {
			found++
		}
	}
	for range storetest.Count(f.usedSize()/size, 10) {
		page := rng.IntN(f.usedSize()/size) * size
		flip(page + rng.IntN(pageHeaderSize))    // in the header
		flip(page + rng.IntN(20*elemSize))       // in the table
		flip(page + size - 1 - rng.IntN(size/2)) // in the keys and values
	}
	for range storetest.Count(150, 20) {
		flip(rng.IntN(f.usedSize()))
	}
	t.Logf("%d pages, %d bytes changed, %d found", f.usedSize()/size, tried, found)
}

// TestDamagedFiles: a file without its end and garbage are found. A zeroed page, or a page in the place of another, is
// found, or the journal reads as before.
func TestDamagedFiles(t *testing.T) {
	storetest.Long(t)
	f := newFixture(t)
	size := f.pageSize()
	rng := rand.New(rand.NewPCG(3, 4))
	found, tried := 0, 0
	try := func(what string, file []byte) bool {
		tried++
		isFound := f.check(t, what, file)
		if isFound {
			found++
		}
		return isFound
	}
	for page := 0; page < f.usedSize(); page += size {
		try(fmt.Sprintf("page %d zeroed", page/size), f.damagedCopy(func(b []byte) { clear(b[page : page+size]) }))
	}
	for range storetest.Count(40, 5) {
		n := rng.IntN(len(f.file))
		try(fmt.Sprintf("cut to %d bytes", n), f.file[:n])
	}
	for n := range 20 {
		if !try(fmt.Sprintf("cut to %d bytes", n*size/2), f.file[:n*size/2]) {
			t.Errorf("cut to %d bytes: not found", n*size/2)
		}
	}
	for n := range 20 {
		if !try("garbage", randomBytes(uint64(n), 1<<n)) {
			t.Error("garbage was not found")
		}
	}
	for range storetest.Count(40, 5) { // a page in the place of another
		a, b := rng.IntN(len(f.file)/size), rng.IntN(len(f.file)/size)
		try(fmt.Sprintf("page %d in place of %d", a, b), f.damagedCopy(func(file []byte) { copy(file[b*size:][:size], f.file[a*size:]) }))
	}
	t.Logf("%d files, %d found", tried, found)
}

// TestCyclicPointers: pages that point to themselves, and too large lengths and numbers, are found, or the journal reads
// as before. bbolt alone would follow such pointers until the process dies.
func TestCyclicPointers(t *testing.T) {
	storetest.Long(t)
	f := newFixture(t)
	size := f.pageSize()
	branches := 0
	for off := 2 * size; off < len(f.file); off += size {
		h := f.file[off:]
		id, flags, count := order.Uint64(h), order.Uint16(h[8:]), int(order.Uint16(h[10:]))
		if int(id) != off/size || count == 0 {
			continue
		}
		switch flags {
		case flagBranch:
			branches++
			for _, to := range []uint64{id, 0, 2, 1 << 63} {
				f.check(t, fmt.Sprintf("page %d leads to %d", id, to), f.damagedCopy(func(b []byte) {
					for i := range count {
						order.PutUint64(b[off+pageHeaderSize+elemSize*i+8:], to)
					}
				}))
			}
		case flagLeaf:
			f.check(t, fmt.Sprintf("page %d has a large number", id), f.damagedCopy(func(b []byte) {
				order.PutUint32(b[off+pageHeaderSize+off/size%4*4:], 0xFFFFFFF0)
			}))
		case flagFreelist:
			for _, n := range []uint64{0, 1 << 20, 1 << 62, 1<<64 - 1} {
				f.check(t, "free list", f.damagedCopy(func(b []byte) {
					order.PutUint16(b[off+10:], 0xFFFF)
					order.PutUint64(b[off+pageHeaderSize:], n)
				}))
			}
		}
	}
	if branches == 0 {
		t.Error("the fixture has no branch page")
	}
}
