package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/change"
	"mend/internal/test/storetest"
)

func mustGet(t *testing.T, j *Journal, e change.Entry) change.Entry {
	t.Helper()
	e, err := j.Get(e.ID)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	return e
}

// TestForget: Forget erases the bytes and texts of an entry from the file, keeps those that other entries need, and leaves
// the chain valid.
func TestForget(t *testing.T) {
	dir := storetest.FastDir(t)
	j := mustOpen(t, dir, Options{})
	secret := &change.Image{Data: marker}
	cause := change.Cause{Kind: change.CauseError, Text: string(marker), Diagnoses: []string{"d"}, Title: string(marker)}
	a := mustBegin(t, j, cause, change.Op{Ref: partRef(1), Pre: secret}, change.Op{Ref: partRef(2), Post: image("shared")})
	a, err := j.Finish(a, change.Outcome{State: change.Committed, Conflicts: []change.Conflict{{Ref: partRef(1), Why: string(marker)}}, Kept: []string{"k"}})
	if err != nil {
		t.Fatal(err)
	}
	b := mustCommit(t, j, scanCause(), change.Op{Ref: partRef(2), Pre: image("shared")})
	pending := mustBegin(t, j, scanCause(), change.Op{Ref: partRef(3), Post: image("p")})
	head := mustVerify(t, j).Head
	if checkNoMarker(dir) == nil {
		t.Error("the marker is not in the file before Forget")
	}

	var state *StateError
	if _, err := j.Forget(ctx, []string{a.ID, pending.ID}); !errors.As(err, &state) || state.ID != pending.ID {
		t.Errorf("Forget of a pending entry: %v", err)
	}
	if got := mustGet(t, j, a); got.Forgotten {
		t.Error("a refused Forget has erased an entry")
	}
	freed, err := j.Forget(ctx, []string{a.ID, a.ID})
	if err != nil || freed.Entries != 1 || freed.Images != 3 || !slices.Equal(freed.SharedWith, []string{b.ID}) {
		t.Errorf("Forget = %+v, %v", freed, err)
	}
	if err := checkNoMarker(dir); err != nil {
		t.Error(err)
	}
	got := mustGet(t, j, a)
	if !got.Forgotten || got.Cause.Text != "" || got.Cause.Diagnoses != nil || got.Cause.Title != "" || got.Conflicts != nil || len(got.Ops) != 2 || got.State != change.Committed || got.Ops[0] != a.Ops[0] && *got.Ops[0].Pre != *a.Ops[0].Pre {
		t.Errorf("Get = %+v", got)
	}
	if _, err := j.Ops(a); !errors.Is(err, ErrForgotten) {
		t.Errorf("Ops of a forgotten entry: %v", err)
	}
	if ops, err := j.Ops(b); err != nil || string(ops[0].Pre.Data) != "shared" {
		t.Errorf("Ops of the other entry = %v, %v", ops, err)
	}
	if r, err := j.Verify(head); err != nil || r.Entries != 3 || r.Unfinished {
		t.Errorf("Verify = %+v, %v", r, err)
	}
	// A new entry can store the erased bytes again, and Forget can erase them again.
	c := mustCommit(t, j, scanCause(), change.Op{Ref: partRef(1), Post: secret})
	if _, err := j.Forget(ctx, []string{a.ID, c.ID}); err != nil {
		t.Error(err)
	}
	if err := checkNoMarker(dir); err != nil {
		t.Error(err)
	}
	mustFinish(t, j, pending, change.Aborted)
	mustVerify(t, j)
}

// TestForgetCancelled: the next Open finishes a Forget whose context has ended, unless the disk is full.
func TestForgetCancelled(t *testing.T) {
	dir := storetest.FastDir(t)
	j := mustOpen(t, dir, Options{})
	a := mustCommit(t, j, scanCause(), change.Op{Ref: partRef(1), Pre: &change.Image{Data: marker}})
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := j.Forget(done, []string{a.ID}); !errors.Is(err, context.Canceled) {
		t.Errorf("Forget: %v", err)
	}
	if r := mustVerify(t, j); !r.Unfinished || !mustGet(t, j, a).Forgotten {
		t.Errorf("Verify = %+v, want unfinished", r)
	}
	mustClose(t, j)
	j = mustOpen(t, dir, Options{Step: func(what string) error { // as on a full disk
		if what == "commit release" {
			return errFault
		}
		return nil
	}})
	if r := mustVerify(t, j); !r.Unfinished {
		t.Errorf("Verify = %+v, want unfinished", r)
	}
	mustClose(t, j)
	j = mustOpen(t, dir, Options{})
	if r := mustVerify(t, j); r.Unfinished || checkNoMarker(dir) != nil {
		t.Errorf("Verify = %+v, %v", r, checkNoMarker(dir))
	}
}

// TestGCCancelled: GC stops after the current transaction when its context ends, and the next Open finishes it.
func TestGCCancelled(t *testing.T) {
	dir := storetest.FastDir(t)
	done, cancel := context.WithCancel(ctx)
	o := Options{batchSize: 1, Step: func(name string) error {
		if strings.Contains(name, "release") {
			cancel()
		}
		return nil
	}}
	j := mustOpen(t, dir, o)
	for i := range 50 {
		mustCommit(t, j, scanCause(), change.Op{Ref: partRef(i), Pre: &change.Image{Data: randomBytes(uint64(i), 1000)}})
	}
	freed, err := j.GC(done, time.Now().Add(time.Hour), nil)
	if !errors.Is(err, context.Canceled) || freed.Images != 1 {
		t.Errorf("GC = %+v, %v, want one image removed", freed, err)
	}
	if r := mustVerify(t, j); !r.Unfinished {
		t.Errorf("Verify = %+v, want unfinished", r)
	}
	mustClose(t, j)
	j = mustOpen(t, dir, Options{})
	if r := mustVerify(t, j); r.Unfinished || r.Images != 0 {
		t.Errorf("after Open Verify = %+v, want no image", r)
	}
}

// TestGC: GC erases the entries from before the limit, except pending ones. An entry whose time is wrong counts as old as
// its neighbours.
func TestGC(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	now := day(1)
	dir := storetest.FastDir(t)
	j := mustOpen(t, dir, Options{Now: func() time.Time { return now }, compactAbove: 1 << 20})
	// The clock is wrong at entries 3 and 4.
	times := []time.Time{day(1), day(5), day(9).AddDate(300, 0, 0), time.Unix(0, 0), day(6), day(9)}
	states := []change.State{"", "", "", "", change.Pending, ""}
	for i, at := range times {
		now = at
		e := mustBegin(t, j, scanCause(), change.Op{Ref: partRef(i), Post: &change.Image{Data: randomBytes(uint64(i), 1<<20)}})
		if states[i] == "" {
			mustFinish(t, j, e, change.Committed)
		}
	}
	now = day(20)
	head := mustVerify(t, j).Head
	before, _ := os.Stat(filepath.Join(dir, fileName))
	for _, c := range []struct {
		limit  time.Time
		erased string
	}{
		{day(1), ""},
		{day(2), "1"},
		{day(5), "1"},
		{day(6), "4 3 2 1"},
		{day(7), "4 3 2 1"}, // 5 is pending
		{day(30), "6 4 3 2 1"},
		{day(30), "6 4 3 2 1"},
	} {
		freed, err := j.GC(ctx, c.limit, nil)
		if err != nil {
			t.Fatal(err)
		}
		all, err := j.List(Query{})
		if err != nil {
			t.Fatal(err)
		}
		all = slices.DeleteFunc(all, func(e change.Entry) bool { return !e.Forgotten })
		if got := seqs(all); got != c.erased {
			t.Errorf("GC(%v) = %+v, erased are %q, want %q", c.limit, freed, got, c.erased)
		}
		if len(all) > 0 && all[0].Cause.Diagnoses == nil {
			t.Error("GC removed the diagnoses")
		}
		if _, err := j.Verify(head); err != nil {
			t.Fatal(err)
		}
	}
	after, _ := os.Stat(filepath.Join(dir, fileName))
	if after.Size() > before.Size()/2 {
		t.Errorf("the file has %d bytes, had %d", after.Size(), before.Size())
	}
}

// TestGCOfSome: GC of named entries removes their images in one transaction, but never those of the user's own files.
func TestGCOfSome(t *testing.T) {
	released := 0
	j := mustOpen(t, storetest.FastDir(t), Options{Step: func(what string) error {
		if what == "commit release" {
			released++
		}
		return nil
	}})
	want := []string(nil)
	for i := range 3 {
		want = append([]string{mustCommit(t, j, scanCause(), change.Op{Ref: partRef(i), Post: image(fmt.Sprint(i))}).ID}, want...)
	}
	own := change.Op{Ref: change.Ref{Kind: change.KindFile, Session: "ses_1", Part: "notes.txt"}, Pre: image("own")}
	kept := mustCommit(t, j, scanCause(), own)
	later := time.Now().Add(time.Hour)
	if old, err := j.Old(later); err != nil || !slices.Equal(old, append([]string{kept.ID}, want...)) {
		t.Errorf("Old = %q, %v", old, err)
	}
	if freed, err := j.GC(ctx, later, []string{want[0], want[2], kept.ID}); err != nil || freed.Entries != 2 || freed.Images != 2 || freed.Bytes <= 0 || freed.Bytes > 100 || released != 1 {
		t.Errorf("GC of two = %+v, %v, in %d transactions", freed, err, released)
	}
	if got := mustGet(t, j, change.Entry{ID: want[1]}); got.Forgotten {
		t.Error("GC removed the images of another entry")
	}
	if freed, err := j.GC(ctx, later, nil); err != nil || freed.Entries != 1 {
		t.Errorf("GC of all = %+v, %v", freed, err)
	}
	if ops, err := j.Ops(kept); err != nil || string(ops[0].Pre.Data) != "own" {
		t.Errorf("the user's own file: %v, %v", ops, err)
	}
}

// TestGCOfDamaged: GC writes nothing into a damaged journal, because bbolt merges pages without checking them.
func TestGCOfDamaged(t *testing.T) {
	dir := storetest.FastDir(t)
	j := mustOpen(t, dir, Options{})
	cause := change.Cause{Kind: change.CauseError, Text: string(randomBytes(1, 3000))}
	mustCommit(t, j, cause, change.Op{Ref: partRef(1), Post: image("x")})
	mustClose(t, j)
	j = mustOpen(t, dir, Options{})
	path := filepath.Join(dir, fileName)
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	key, size := sha256Sum(encodeCause(cause)), os.Getpagesize()
	for at := 0; at < len(file); at += size { // the pages of texts, not those of refs
		if i := bytes.Index(file[at:at+size], key); i > 0 && file[at+i-1] != byte(blobText) {
			err = errors.Join(err, overwrite(path, int64(at), randomBytes(2, 16)))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.GC(ctx, time.Now().Add(time.Hour), nil); !errors.Is(err, ErrDamaged) {
		t.Errorf("GC = %v, want damaged", err)
	}
	if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, before) {
		t.Errorf("GC wrote to the file, %v", err)
	}
}

// TestGCUnknownTime begins entries while the clock is in the future, before any entry with a
// correct time. They never count as old.
func TestGCUnknownTime(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	now := day(1).AddDate(300, 0, 0)
	j := mustOpen(t, storetest.FastDir(t), Options{Now: func() time.Time { return now }})
	begin := func(i int) {
		mustCommit(t, j, scanCause(), change.Op{Ref: partRef(i), Post: image(fmt.Sprint(i))})
	}
	wantErased := func(limit time.Time, want int) {
		t.Helper()
		if freed, err := j.GC(ctx, limit, nil); err != nil || freed.Entries != want {
			t.Errorf("GC(%v) = %+v, %v, want %d entries", limit, freed, err, want)
		}
	}
	begin(1)
	begin(2)
	now = day(9)
	wantErased(day(30), 0) // no time is known
	begin(3)
	wantErased(day(9), 0)
	wantErased(day(10), 1)
}
