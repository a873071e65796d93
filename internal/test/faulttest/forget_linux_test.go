package faulttest_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"mend/change"
	"mend/internal/test/faulttest"
)

// TestForgetErases: after forget was killed at any call, the same command erases everything that an uninterrupted one erases:
// no file of mend has the bytes, not even in free pages, and no file remains beside the store.
func TestForgetErases(t *testing.T) {
	needLevel(t)
	const afterGC = "forget a session after gc"
	session := []string{"forget", "SESSION", "--yes"}
	id := []string{"forget", "ID", "--yes"}
	removed := [][]string{{"keep"}, repairAll, {"keep"}, {"clean", "sessions", "SESSION", "--yes"}}
	for _, s := range []scenario{
		{name: "forget a session", kind: newest, setup: removed, verb: session},
		{name: "forget a session", kind: tree, setup: removed, verb: session},
		{name: "forget a session", kind: lines, setup: removed, verb: session},
		{name: afterGC, kind: tree, setup: [][]string{repairAll}, verb: session},
		{name: "forget removed sessions", kind: newest, setup: [][]string{{"clean", "sessions", "SESSION", "--yes"}}, verb: id},
		{name: "forget the archive of events", kind: newest, setup: [][]string{{"clean", "events", "--yes"}}, verb: id},
		{name: cleanSnapshots().name, kind: newest, setup: [][]string{{"clean", "snapshots", "--yes"}}, verb: id},
		{name: "forget a salvage", kind: newest, pages: true, setup: [][]string{{"salvage", "--yes"}}, verb: id},
	} {
		t.Run(fmt.Sprint(s.name, ", ", s.kind), func(t *testing.T) {
			t.Parallel()
			sb := newSandbox(t, nil, built, s)
			sb.begin()
			before := sb.ownValues(false)
			if s.name == afterGC { // the data that gc removes is in free pages
				if code, out := sb.runUnfiltered("gc", "--older-than", "0h", "--yes"); code != 0 {
					t.Fatalf("gc: exit code %d: %s", code, out)
				}
				sb.saved = sb.state()
			}
			if code, out := sb.runUnfiltered(s.verb...); code != 0 {
				t.Fatalf("exit code %d: %s", code, out)
			}
			files, after := sb.ownFiles(), sb.ownValues(true)
			var gone []string // a part of each erased value
			for v := range before {
				piece := v[len(v)/2:][:min(32, len(v)/2)]
				if len(piece) == 32 && !slices.ContainsFunc(slices.Collect(maps.Keys(after)), func(content string) bool { return strings.Contains(content, piece) }) {
					gone = append(gone, piece)
				}
			}
			if len(gone) == 0 {
				t.Fatal("forget removes nothing")
			}
			cuts := 0
			for k := range sb.cuts(&sweepResult{}) {
				sb.begin()
				r := sb.run(faulttest.Fault{At: k, Action: faulttest.Kill}, s.verb...)
				if !r.Hit {
					break
				}
				cuts++
				where := fmt.Sprintf("killed before call %d (%s)", k, strings.ReplaceAll(r.Calls[k-1].String(), sb.live, ""))
				if code, out := sb.runUnfiltered(s.verb...); code != 0 {
					t.Fatalf("%s, then again: exit code %d:\n%s", where, code, out)
				}
				now := sb.ownFiles()
				if !slices.Equal(slices.Sorted(maps.Keys(now)), slices.Sorted(maps.Keys(files))) {
					t.Errorf("%s, then again: mend has the files %q, want %q", where, slices.Sorted(maps.Keys(now)), slices.Sorted(maps.Keys(files)))
				}
				for name, data := range now {
					if i := slices.IndexFunc(gone, func(v string) bool { return bytes.Contains(data, []byte(v)) }); i >= 0 {
						t.Errorf("%s, then again: %s has bytes that forget should erase: %q", where, name, gone[i])
					}
				}
			}
			if cuts == 0 {
				t.Error("no call was cut")
			}
		})
	}
}

// TestForgetAfterSalvage: after a salvage was killed at any call, forget removes the files that it has built.
func TestForgetAfterSalvage(t *testing.T) {
	needLevel(t)
	sb := newSandbox(t, nil, built, salvage())
	for k := range sb.cuts(&sweepResult{}) {
		sb.begin()
		r := sb.run(faulttest.Fault{At: k, Action: faulttest.Kill}, sb.verb...)
		if !r.Hit {
			break
		}
		where := fmt.Sprintf("killed before call %d (%s)", k, strings.ReplaceAll(r.Calls[k-1].String(), sb.live, ""))
		for _, verb := range [][]string{{"recover"}, {"forget", "SESSION", "--yes"}} {
			if code, out := sb.runUnfiltered(verb...); code != 0 {
				t.Fatalf("%s, then %s: exit code %d:\n%s", where, verb[0], code, out)
			}
		}
		es := []change.Entry{}
		if _, err := os.Stat(filepath.Join(sb.journal(), "journal.db")); err == nil {
			es = sb.entries()
		}
		for name := range sb.ownFiles() {
			if strings.Contains(name, "/.mend/") && (len(es) == 0 || es[0].State != change.Committed) {
				t.Errorf("%s, then forget: left over: %s", where, name)
			}
		}
	}
}

// ownFiles returns the content of the files in the folder of the journal, and of mend's files beside the store.
func (sb *sandbox) ownFiles() map[string][]byte {
	sb.Helper()
	all := map[string][]byte{}
	err := filepath.WalkDir(sb.live, func(path string, d fs.DirEntry, err error) error {
		name := strings.TrimPrefix(path, sb.live)
		if err != nil || !d.Type().IsRegular() || !strings.Contains(name, "/.mend/") && !strings.HasPrefix(path, sb.journal()) {
			return err
		}
		all[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		sb.Fatal(err)
	}
	return all
}

// ownValues returns all values in the journal and in the file of copies, and the content of mend's files beside the store.
// The events of the journal, which forget keeps, are optional.
func (sb *sandbox) ownValues(events bool) map[string]bool {
	sb.Helper()
	all := map[string]bool{}
	for name, data := range sb.ownFiles() {
		if !strings.HasSuffix(name, ".db") || strings.Contains(name, "/.mend/") {
			all[string(data)] = true
			continue
		}
		db, err := bolt.Open(filepath.Join(sb.live, name), 0o600, &bolt.Options{ReadOnly: true})
		if err != nil {
			sb.Fatal(err)
		}
		err = db.View(func(tx *bolt.Tx) error {
			return tx.ForEach(func(bucket []byte, b *bolt.Bucket) error {
				if string(bucket) == "events" && !events {
					return nil
				}
				return b.ForEach(func(_, v []byte) error { all[string(v)] = true; return nil })
			})
		})
		if err = errors.Join(err, db.Close()); err != nil {
			sb.Fatal(err)
		}
	}
	return all
}
