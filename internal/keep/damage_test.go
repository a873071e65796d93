package keep

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/change"
	"mend/internal/boltfile"
	"mend/internal/test/storetest"
)

// turns keeps n turns of a session, and returns the session and its records after each turn.
func turns(t *testing.T, dir string, n int) (*session, [][]change.Op) {
	t.Helper()
	s := &session{r: rand.New(rand.NewPCG(5, 6))}
	now := time.Unix(1_795_000_000, 0) // fixed, so that each run has the same file
	k := mustOpen(t, dir, Options{Now: func() time.Time { return now }})
	var want [][]change.Op
	for i := range n {
		s.turn()
		st := s.state()
		st.Time = now.Add(-time.Duration(n-i) * time.Hour)
		if _, err := k.Save(t.Context(), st, s.all); err != nil {
			t.Fatal(err)
		}
		want = append(want, s.images())
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	return s, want
}

var errCut = errors.New("cut")

// TestCutAtEveryStep: if a process that saves, thins and forgets ends before any change of a file, the earlier states
// are complete, and the next process continues.
func TestCutAtEveryStep(t *testing.T) {
	for at := 0; ; at++ {
		dir := t.TempDir()
		s, want := turns(t, dir, 3)
		n := 0
		o := Options{batchSize: 4000, Step: func(string) error {
			if n++; n > at {
				return errCut
			}
			return nil
		}}
		err := func() error {
			k, err := Open(dir, o)
			if err != nil {
				return err
			}
			defer func() { _ = k.Close() }()
			s.turn()
			if _, err := k.Save(t.Context(), s.state(), s.all); err != nil {
				return err
			}
			if _, err := k.Thin(t.Context(), Policy{Hourly: 3}); err != nil {
				return err
			}
			states, err := k.States(Query{})
			if err != nil {
				return err
			}
			_, err = k.Forget(t.Context(), states[1:2])
			return err
		}()
		k := mustOpen(t, dir, Options{Notice: func(text string) { t.Error(text) }})
		if _, verr := k.Verify(); verr != nil {
			t.Fatalf("cut before step %d: %v", at, verr)
		}
		states, lerr := k.States(Query{})
		if lerr != nil || len(states) == 0 {
			t.Fatalf("cut before step %d: %d states, %v", at, len(states), lerr)
		}
		for _, st := range states {
			got, lerr := k.Load(t.Context(), st)
			if st.seq <= 3 && (lerr != nil || !slices.EqualFunc(got, want[st.seq-1], same)) {
				t.Fatalf("cut before step %d: state %s is not what was kept: %v", at, st.ID, lerr)
			}
		}
		if _, serr := k.Save(t.Context(), s.state(), s.all); serr != nil {
			t.Fatalf("cut before step %d: the next copy: %v", at, serr)
		}
		_ = k.Close()
		if err == nil {
			if at < 10 {
				t.Errorf("only %d steps", at)
			}
			return
		}
		if !errors.Is(err, errCut) {
			t.Fatalf("cut before step %d: %v", at, err)
		}
	}
}

// TestDamage: if bytes of the file change, a reader reports the damage. A writer sets the file aside, reports this
// once, and begins a new file with the undamaged states. No state that is loaded differs from what was saved.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s, want := turns(t, dir, 30)
	whole, err := os.ReadFile(Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	found, copied, affected := 0, 0, 0 // damaged files; states that were copied after a change of one byte, of how many
	for range 40 {
		file := bytes.Clone(whole)
		kind := rng.IntN(3)
		switch kind {
		case 0:
			file = file[:rng.IntN(len(file))]
		case 1:
			file[rng.IntN(len(file))] ^= byte(1 + rng.IntN(255))
		default:
			at := rng.IntN(len(file)/4096) * 4096
			clear(file[at : at+4096])
		}
		if err := os.WriteFile(Path(dir), file, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Open(dir, Options{ReadOnly: true})
		if err == nil {
			states, err := r.States(Query{})
			for _, st := range states {
				got, lerr := r.Load(t.Context(), st)
				if lerr == nil && !slices.EqualFunc(got, want[st.seq-1], same) {
					t.Fatalf("state %s has other records, without an error", st.ID)
				}
				err = errors.Join(err, lerr)
			}
			if err != nil && !errors.Is(err, ErrDamaged) {
				t.Fatalf("reading: %v", err)
			}
			_ = r.Close()
		} else if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrFormat) {
			t.Fatalf("opening: %v", err)
		}
		setAside, recovered := 0, 0 // notices
		o := Options{Notice: func(text string) {
			if setAside += strings.Count(text, "The file is now"); strings.Contains(text, "recovered from") {
				recovered++
			}
		}}
		k, err := Open(dir, o)
		if errors.Is(err, ErrFormat) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Thin(t.Context(), Policy{Hourly: 1000}); errors.Is(err, ErrDamaged) { // it reads all
			if err := k.SetAside(err); err != nil {
				t.Fatal(err)
			}
			k = mustOpen(t, dir, o)
		}
		states, err := k.States(Query{})
		if err != nil {
			t.Fatal(err)
		}
		if setAside > 0 && kind == 1 {
			affected, copied = affected+len(want), copied+len(states)
		}
		for _, st := range states {
			if got, err := k.Load(t.Context(), st); setAside > 0 && (err != nil || !slices.EqualFunc(got, want[st.seq-1], same)) {
				t.Fatalf("state %s was copied, and differs from what was saved: %v", st.ID, err)
			}
		}
		if _, err := k.Verify(); setAside > 0 && err != nil {
			t.Fatal(err)
		}
		if recovered != setAside {
			t.Errorf("%d notices of a file set aside, and %d of copied states", setAside, recovered)
		}
		if _, err := k.Save(t.Context(), s.state(), s.all); err != nil && !errors.Is(err, ErrDamaged) {
			t.Fatal(err)
		}
		_ = k.Close()
		aside, err := filepath.Glob(filepath.Join(dir, "keep.db.damaged-*"))
		if err != nil || len(aside) != setAside {
			t.Fatalf("%d files were set aside, %v, and %d were reported", len(aside), err, setAside)
		}
		for _, name := range aside {
			if b, err := os.ReadFile(name); err != nil || !bytes.Equal(b, file) {
				t.Errorf("the file that was set aside is not the damaged one: %v", err)
			}
			_ = os.Remove(name)
			found++
		}
	}
	if found < 10 {
		t.Errorf("%d of 40 damaged files were set aside, want at least 10", found)
	}
	if affected == 0 || copied*3 < affected {
		t.Errorf("after a change of one byte %d of %d states were copied, want at least a third", copied, affected)
	}
}

// TestSalvageCut: if a process ends before any change of a file while it copies the states of a damaged file, the next
// process copies them.
func TestSalvageCut(t *testing.T) {
	made := t.TempDir()
	_, want := turns(t, made, 12)
	file, err := os.ReadFile(Path(made))
	if err != nil {
		t.Fatal(err)
	}
	clear(file[:4096]) // a meta page
	for at := 0; ; at++ {
		dir := t.TempDir()
		if err := os.WriteFile(Path(dir), file, 0o600); err != nil {
			t.Fatal(err)
		}
		n := 0
		k, err := Open(dir, Options{batchSize: 4000, Step: func(string) error {
			if n++; n > at {
				return errCut
			}
			return nil
		}})
		if err == nil {
			_ = k.Close()
		} else if !errors.Is(err, errCut) {
			t.Fatalf("cut before step %d: %v", at, err)
		}
		again := mustOpen(t, dir, Options{})
		states, serr := again.States(Query{})
		if serr != nil || len(states) != len(want) {
			t.Fatalf("cut before step %d: %d states are there, %v, want %d", at, len(states), serr, len(want))
		}
		for _, st := range states {
			if got, lerr := again.Load(t.Context(), st); lerr != nil || !slices.EqualFunc(got, want[st.seq-1], same) {
				t.Fatalf("cut before step %d: state %s is not what was kept: %v", at, st.ID, lerr)
			}
		}
		aside, aerr := DamagedFiles(dir, time.Now().Add(time.Minute))
		size, rerr := RemoveDamaged(aside)
		if len(aside) != 1 || size != int64(len(file)) || aerr != nil || rerr != nil {
			t.Errorf("removed %q, %d bytes, %v, %v, want one file of %d bytes", aside, size, aerr, rerr, len(file))
		}
		_ = again.Close()
		if err == nil {
			if at < 8 {
				t.Errorf("only %d steps", at)
			}
			return
		}
	}
}

// TestSecondWriter: a second writer waits, and then reports that the file is locked.
func TestSecondWriter(t *testing.T) {
	dir := t.TempDir()
	k := mustOpen(t, dir, Options{})
	_, err := Open(dir, Options{Timeout: 20 * time.Millisecond})
	if !errors.As(err, new(*boltfile.LockedError)) {
		t.Errorf("a second writer: %v, want a LockedError", err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	mustOpen(t, dir, Options{})
}

// TestThin: of the states of a year these are left.
func TestThin(t *testing.T) {
	now := time.Date(2026, 11, 26, 12, 30, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	k := mustOpen(t, t.TempDir(), Options{Now: clock})
	s := &session{r: rand.New(rand.NewPCG(9, 10))}
	for range 4 {
		s.turn()
	}
	for _, ago := range []time.Duration{300 * 24, 50 * 24, 49 * 24, 4 * 24, 3*24 + 1, 3 * 24, 5, 4, 3, 1, 0} {
		st := s.state()
		st.Time = now.Add(-ago * time.Hour)
		s.records[0].Data = s.text(50)
		if _, err := k.Save(t.Context(), st, s.all); err != nil {
			t.Fatal(err)
		}
	}
	left := func(p Policy) string {
		if _, err := k.Thin(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		states, err := k.States(Query{})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, st := range states {
			ids = append(ids, st.ID)
		}
		if _, err := k.Verify(); err != nil {
			t.Error(err)
		}
		return strings.Join(ids, " ")
	}
	for _, c := range []struct {
		p    Policy
		want string
	}{
		{Policy{Hourly: 100, Daily: 100, Weekly: 100}, "k11 k10 k9 k8 k7 k6 k5 k4 k3 k2 k1"},
		{Policy{Hourly: 3, Daily: 3, Weekly: 4}, "k11 k10 k9 k6 k4 k3 k1"},
		{Policy{Hourly: 1, Daily: 1, Weekly: 2}, "k11 k4"},
		{Policy{}, "k11"},
	} {
		if got := left(c.p); got != c.want {
			t.Errorf("Thin(%+v) leaves %s, want %s", c.p, got, c.want)
		}
	}
}

// TestThinBySize: the oldest states are removed first, but never a session's newest state, its newest complete state or
// the state with the most messages.
func TestThinBySize(t *testing.T) {
	k := mustOpen(t, t.TempDir(), Options{})
	s := &session{r: rand.New(rand.NewPCG(11, 12))}
	for range 20 {
		s.turn()
	}
	most := s.records
	if _, err := k.Save(t.Context(), s.state(), s.all); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		s.records = most[:11]
		s.records[10].Data = s.text(5000)
		st := s.state()
		if i == 4 {
			st.Unread = "a part"
		}
		if _, err := k.Save(t.Context(), st, s.all); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := k.Thin(t.Context(), Policy{Hourly: 100, MaxBytes: 1}); err != nil {
		t.Fatal(err)
	}
	states, err := k.States(Query{})
	var ids []string
	for _, st := range states {
		ids = append(ids, st.ID)
	}
	if got := strings.Join(ids, " "); err != nil || got != "k6 k5 k1" {
		t.Errorf("%s are left, %v, want k6 k5 k1", got, err)
	}
}

// TestThinCompacts: Thin returns the free space of the file to the file system.
func TestThinCompacts(t *testing.T) {
	storetest.NeedAllCases(t)
	dir := t.TempDir()
	k := mustOpen(t, dir, Options{})
	s := &session{r: rand.New(rand.NewPCG(13, 14))}
	s.turn()
	for n := range 3000 {
		s.records[1].Data = s.text(8000)
		s.records[0].Ref.Session = fmt.Sprintf("ses_%d", n)
		st := s.state()
		st.Session = s.records[0].Ref.Session
		if _, err := k.Add(t.Context(), st, s.all); err != nil {
			t.Fatal(err)
		}
	}
	if err := k.Flush(); err != nil {
		t.Fatal(err)
	}
	size := func() int64 {
		info, err := os.Stat(Path(dir))
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	before := size()
	if before-k.Size() <= before/5 { // Thin would not compact the file
		t.Fatalf("%d of %d bytes are free", before-k.Size(), before)
	}
	if _, err := k.Thin(t.Context(), Policy{Hourly: 1000}); err != nil {
		t.Fatal(err)
	}
	if after := size(); after-k.Size() > after/10 {
		t.Errorf("%d of %d bytes are free after Thin", after-k.Size(), after)
	}
}

// TestDamagedChunk: after a change of one byte the next Save reports the damage, or saves a state that can be loaded.
func TestDamagedChunk(t *testing.T) {
	dir := t.TempDir()
	s, _ := turns(t, dir, 20)
	whole, err := os.ReadFile(Path(dir))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(13, 14))
	found := 0
	for n := 0; n < 40 || found == 0 && n < 1000; n++ { // most bytes are free, or are checked when the file is opened
		file := bytes.Clone(whole)
		file[rng.IntN(len(file))] ^= 1
		if err := os.WriteFile(Path(dir), file, 0o600); err != nil {
			t.Fatal(err)
		}
		k, err := open(dir, Options{Timeout: time.Second, Now: time.Now, batchSize: 8 << 20})
		if err != nil { // reported when the file is opened
			_ = k.Close()
			continue
		}
		saved, err := k.Save(t.Context(), s.state(), s.all)
		if errors.Is(err, ErrDamaged) {
			found++
		} else if err != nil {
			t.Fatal(err)
		} else if got, err := k.Load(t.Context(), saved.State); err != nil || !slices.EqualFunc(got, s.images(), same) {
			t.Errorf("the new state cannot be loaded: %v", err)
		}
		_ = k.Close()
	}
	if found == 0 {
		t.Error("no Save has reported damage")
	}
}

// TestHugeTree: a state of a few KB whose tree names one chunk a thousand million times is reported as damaged.
func TestHugeTree(t *testing.T) {
	dir := t.TempDir()
	s, _ := turns(t, dir, 1)
	k := mustOpen(t, dir, Options{})
	last, _, err := k.Latest(s.state().Store, s.state().Session, s.state().Ref)
	var n int64
	for last.depth = 0; last.depth < 3 && err == nil; last.depth++ {
		last.root, err = k.blob(bytes.Repeat(last.root[:], maxNode), &n)
	}
	if err == nil {
		err = k.put(bucketStates, boltfile.U64(last.seq), encodeState(&last))
	}
	if err := errors.Join(err, k.Flush()); err != nil {
		t.Fatal(err)
	}
	if _, err := k.Save(t.Context(), s.state(), s.all); !errors.Is(err, ErrDamaged) {
		t.Errorf("Save: %v", err)
	}
	if _, err := k.Load(t.Context(), last); !errors.Is(err, ErrDamaged) {
		t.Errorf("Load: %v", err)
	}
	if _, err := k.Verify(); err != nil {
		t.Errorf("Verify: %v", err)
	}
}
