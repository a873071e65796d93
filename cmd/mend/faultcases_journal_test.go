package main

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/journal"
	"mend/repair"
)

// A journalDamage is a kind of damage to a journal file.
type journalDamage struct {
	name  string
	apply func(r *rand.Rand, file []byte) []byte
}

var journalDamages = []journalDamage{
	{"truncated", func(r *rand.Rand, f []byte) []byte { return f[:r.IntN(len(f))] }},
	{"a byte flipped", func(r *rand.Rand, f []byte) []byte { f[r.IntN(len(f))] ^= byte(1 + r.IntN(255)); return f }},
	{"a bit flipped", func(r *rand.Rand, f []byte) []byte { f[r.IntN(len(f)/2)] ^= 1 << r.IntN(8); return f }},
	{"a page zeroed", func(r *rand.Rand, f []byte) []byte { clear(page(r, f)); return f }},
	{"a page of another", func(r *rand.Rand, f []byte) []byte { copy(page(r, f), page(r, f)); return f }},
	{"two pages swapped", func(r *rand.Rand, f []byte) []byte {
		a, b := page(r, f), page(r, f)
		old := bytes.Clone(a)
		copy(a, b)
		copy(b, old)
		return f
	}},
	{"garbage in a page", func(r *rand.Rand, f []byte) []byte { noise(r, page(r, f)); return f }},
	{"garbage", func(r *rand.Rand, _ []byte) []byte { f := make([]byte, 1+r.IntN(1<<16)); noise(r, f); return f }},
	{"the head of another format", func(_ *rand.Rand, f []byte) []byte { copy(f, "SQLite format 3\x00"); return f }},
}

func page(r *rand.Rand, f []byte) []byte {
	const size = 4096
	n := r.IntN(len(f) / size)
	return f[n*size : (n+1)*size]
}

func noise(r *rand.Rand, b []byte) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

// TestCase19Damaged: no verb crashes on a damaged journal, and if verify or the verb finds the damage, neither the
// store nor the journal is changed.
func TestCase19Damaged(t *testing.T) {
	sb := newSandbox(t, damage.Versions[0], "")
	sb.setHome()
	undo := sb.mustRepair()
	repaired := sb.snapshot()
	name := filepath.Join(sb.dir, "state", "mend", "journal.db")
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	sb.mustExit(frame.ExitDone, "undo", "--yes", undo)
	undone := sb.snapshot()
	sb.mustExit(frame.ExitDone, "redo", "--yes", undo)
	verbs := [][]string{
		{"log"},
		{"undo", "--yes", undo},
		{"repair", "--yes", sb.session},
		{"recover"},
		{"gc", "--older-than", "0h", "--yes"},
		{"show", undo},
		{"redo", "--yes", undo},
		{"undo", "--yes", "--session", sb.session},
		{"forget", undo, "--yes"},
		{"resolve", "--yes", undo, "--keep"},
		{"scan"},
		{"status"},
	}
	found, tried := 0, tortureCount(storetest.Count(3, 1), 128)
	for i := range tried * len(journalDamages) {
		d := journalDamages[i%len(journalDamages)]
		when := fmt.Sprintf("%s (%d)", d.name, i)
		broken := d.apply(rand.New(rand.NewPCG(5, uint64(i))), bytes.Clone(whole))
		if err := os.WriteFile(name, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		a := sb.mend("verify")
		sb.wantOutput(a, "")
		damaged := a.code == frame.ExitUnusable
		if damaged {
			found++
		} else if a.code != frame.ExitDone {
			t.Errorf("%s: verify: exit code %d\n%s", when, a.code, a.err)
		}
		verb := verbs[(i+i/len(journalDamages))%len(verbs)]
		a = sb.mend(verb...)
		sb.wantOutput(a, "")
		if damaged || a.code == frame.ExitUnusable {
			sb.wantSnapshot(when, repaired)
			if after, err := os.ReadFile(name); err != nil || !bytes.Equal(after, broken) {
				t.Errorf("%s: %s changed the damaged journal (%v)", when, verb[0], err)
			}
			if a.code == frame.ExitUnusable && !strings.Contains(a.err, "mend verify") {
				t.Errorf("%s: %s does not name mend verify: %s", when, verb[0], a.err)
			}
		}
		switch now := sb.snapshot(); {
		case a.code == frame.ExitUnusable:
		case a.code != frame.ExitDone && a.code != frame.ExitUsage && a.code != frame.ExitRefused:
			t.Errorf("%s: %s: exit code %d\n%s", when, verb[0], a.code, a.err)
		case maps.Equal(now, undone): // the damaged page is not in use
			sb.restore(repaired, undone)
		default:
			sb.wantSnapshot(when, repaired)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d damaged journals, %d found by verify", tried*len(journalDamages), found)
	if found < tried*len(journalDamages)/2 {
		t.Errorf("verify found %d of %d damaged journals, want at least half", found, tried*len(journalDamages))
	}
}

// restore writes the files of want that differ from now.
func (sb sandbox) restore(want, now map[string]string) {
	sb.Helper()
	for name, content := range want {
		if now[name] == content {
			continue
		}
		const mode = len("-rw-r--r-- ")
		if err := os.WriteFile(filepath.Join(sb.store, name), []byte(content[mode:]), 0o644); err != nil {
			sb.Fatal(err)
		}
	}
	sb.wantSnapshot("restored", want)
}

// TestCase20Replaced: if the journal is replaced by the journal of another store, its repairs are not undone here.
func TestCase20Replaced(t *testing.T) {
	sb := newSandbox(t, damage.Versions[0], "")
	other := newSandbox(t, damage.Versions[0], "")
	other.session = sb.session
	undo := sb.mustRepair()
	repaired := sb.snapshot()
	other.mustRepair()
	theirs, err := os.ReadFile(filepath.Join(other.dir, "state", "mend", "journal.db"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(sb.dir, "state", "mend", "journal.db"), theirs, 0o600); err != nil {
		t.Fatal(err)
	}
	sb.wantOutput(sb.mustExit(frame.ExitRefused, "undo", "--yes", undo, "--store", sb.store), "another store")
	sb.wantSnapshot("refused", repaired)
}

// TestCase22Clock: with a clock in 1970, far in the future, or going backwards, repairs and undos are ordered by
// number.
func TestCase22Clock(t *testing.T) {
	sb := newSandbox(t, damage.Versions[0], "")
	before := sb.snapshot()
	times := []time.Time{time.Date(2262, 4, 12, 0, 0, 0, 0, time.UTC), time.Unix(0, 0), time.Unix(-1, 0), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Unix(1, 0)}
	o := mend.Options{Agents: agents.All, Store: sb.store, Journal: mend.OpenJournal(filepath.Join(sb.dir, "state", "mend")), Cache: filepath.Join(sb.dir, "cache")}
	var ids []string
	for i, now := range times {
		o.Now = func() time.Time { return now }
		c, err := mend.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		var p change.Plan
		if i%2 == 0 {
			r, rerr := c.ProposeRepair(t.Context(), change.Head{ID: sb.session}, repair.Request{Force: true})
			p, err = r.Plan, rerr
		} else {
			p, err = c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{ids[i-1]}})
		}
		if err != nil {
			t.Fatalf("%v: %v", now, err)
		}
		e, err := c.Apply(t.Context(), p)
		if err != nil {
			t.Fatalf("%v: %v", now, err)
		}
		ids = append(ids, e.ID)
	}
	es, err := o.Journal.Log(journal.Query{})
	if err != nil || len(es) != len(ids) {
		t.Fatalf("Log = %v, %v, want %d entries", es, err, len(ids))
	}
	for i, e := range es {
		if want := ids[len(ids)-1-i]; e.ID != want {
			t.Errorf("entry %d is %s, want %s, by number", i, e.ID, want)
		}
	}
	if freed, err := o.Journal.GC(t.Context(), time.Unix(-86300, 0), nil); err != nil || freed.Entries != 0 {
		t.Errorf("GC = %+v, %v, want nothing deleted", freed, err)
	}
	sb.mustExit(frame.ExitDone, "verify")
	sb.mustExit(frame.ExitDone, "undo", "--yes", ids[len(ids)-1])
	sb.wantSnapshot("all undone", before)
}

// TestGiveUp: a pending repair can be resolved in either direction, and the plan stays valid after that was written to
// the journal.
func TestGiveUp(t *testing.T) {
	for d, want := range map[mend.Decision]bool{mend.Back: false, mend.Forward: true} {
		sb := newSandbox(t, damage.Versions[0], "")
		before, dir := sb.snapshot(), filepath.Join(sb.dir, "journal")
		dead := false
		if err := repairWith(sb.store, dir, sb.session, func(call string) error {
			if dead = dead || strings.HasPrefix(call, "exchange"); dead {
				return errors.New("killed")
			}
			return nil
		}); err == nil {
			t.Fatal("the repair was not killed")
		}
		o := mend.Options{Agents: agents.All, Store: sb.store, Journal: mend.OpenJournal(dir)}
		c, err := mend.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		e, p, err := c.ProposeResolve(t.Context(), journal.IDOf(1), d)
		if err == nil {
			e, p, err = o.Journal.GiveUp(e, p)
		}
		var by change.Entry
		if err == nil && len(p.Ops) > 0 {
			by, err = c.Apply(t.Context(), p)
		}
		if err == nil {
			e, err = o.Journal.Resolve(e, d, by.ID)
		}
		if err == nil {
			_, err = c.Recover(t.Context(), true)
		}
		if err != nil || e.State != change.Resolved {
			t.Errorf("resolving %s = %v, %v", d, e.State, err)
		}
		if changed := !maps.Equal(before, sb.snapshot()); changed != want {
			t.Errorf("resolved %s: the store changed: %t, want %t", d, changed, want)
		}
	}
}
