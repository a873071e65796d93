package mend_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/agent"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/mend"
	"mend/internal/test/dbtest"
	"mend/repair"
	"mend/sqlstore"
)

// TestWALOfAnotherMoment: a database with a -wal from another time is reported as damaged, and its sessions as broken.
// A salvage restores the newest rows, and the undo of the salvage restores both files.
func TestWALOfAnotherMoment(t *testing.T) {
	const (
		prompt = `INSERT INTO message SELECT id || 'TAG', session_id, time_created + 9, time_updated + 9, data FROM message;
			INSERT INTO part SELECT id || 'TAG', message_id || 'TAG', session_id, time_created + 9, time_updated + 9, data FROM part;`
		events = `INSERT INTO event SELECT id || 'TAG', aggregate_id, seq + (SELECT 1 + max(seq) FROM event), type, data FROM event;
			UPDATE event_sequence SET seq = (SELECT max(seq) FROM event WHERE event.aggregate_id = event_sequence.aggregate_id)`
		event = `INSERT INTO event SELECT id || 'TAG', aggregate_id, seq + 1, type, '{}' FROM event WHERE seq = (SELECT max(seq) FROM event); UPDATE event_sequence SET seq = seq + 1`
	)
	for name, c := range map[string]struct {
		old, fresh string // statements before and after the time of the -wal
	}{
		"an older -wal":                        {prompt, strings.ReplaceAll(prompt+events, "TAG", "fresh")},
		"a -wal that was copied with its file": {event, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path, _ := dbtest.Unpack(t, "1.18.33")
			db := dbtest.Agent(t, path)
			dbtest.Exec(t, db, "PRAGMA wal_autocheckpoint=0; PRAGMA wal_checkpoint(TRUNCATE)")
			dbtest.Exec(t, db, "%s", c.old)
			before := dbtest.Files(t, path)
			dbtest.Exec(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
			if c.fresh != "" {
				dbtest.Exec(t, db, "%s", c.fresh)
			}
			dbtest.Exec(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
			after := dbtest.Files(t, path)
			file, wal := after[dbtest.Name], before[dbtest.Name+"-wal"]
			dir := t.TempDir()
			alone, mixed := filepath.Join(dir, "alone.db"), filepath.Join(dir, "opencode.db")
			dbtest.Write(t, alone, after[dbtest.Name])
			dbtest.Write(t, mixed, file)
			dbtest.Write(t, mixed+"-wal", wal)

			o := mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: mixed, Journal: mend.OpenJournal(filepath.Join(dir, "journal")), Cache: t.TempDir()}
			s, err := mend.Open(o)
			if err != nil {
				t.Fatal(err)
			}
			heads, err := s.Sessions(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			damage := s.CheckFile(t.Context(), 1) // no pages
			if _, damaged := errors.AsType[*change.DamagedError](damage); damaged != (c.fresh != "") {
				t.Fatalf("CheckFile = %v", damage)
			}
			for f := range s.Scan(t.Context(), heads) {
				broken := errors.Is(f.Err, change.ErrMalformed) ||
					slices.ContainsFunc(f.Diagnoses, func(d repair.Diagnosis) bool { return d.Rule == "index" && d.Severity == repair.Broken })
				if broken != (damage != nil) {
					t.Errorf("session %s: broken %t, want %t", f.Session.ID, broken, damage != nil)
				}
			}
			if damage == nil {
				return
			}
			untouched := dbtest.Files(t, mixed)
			if _, err := s.ProposeClean(t.Context(), "events", agent.CleanRequest{Events: true}); err == nil {
				t.Error("ProposeClean does not refuse the damaged database")
			}
			if _, _, err := s.Reclaim(t.Context()); err == nil {
				t.Error("Reclaim does not refuse the damaged database")
			}
			if now := dbtest.Files(t, mixed); !maps.Equal(now, untouched) {
				t.Error("a refused clean changes the files")
			}
			salvaged, err := s.ProposeSalvage(t.Context(), false, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer salvaged.Discard()
			read := func() (files [2]string) {
				for i, suffix := range []string{"", "-wal"} {
					data, _ := os.ReadFile(mixed + suffix) // a missing file counts as empty
					files[i] = string(data)
				}
				return files
			}
			files := read()
			e, err := s.Apply(t.Context(), salvaged.Plan)
			if err != nil {
				t.Fatal(err)
			}
			if dbtest.DumpRows(t, mixed) != dbtest.DumpRows(t, alone) {
				t.Error("the salvaged database has other rows than the file")
			}
			if err := s.CheckFile(t.Context(), 0); err != nil {
				t.Errorf("after the salvage: %v", err)
			}
			undo, err := s.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{e.ID}})
			if err == nil {
				_, err = s.Apply(t.Context(), undo)
			}
			if err != nil {
				t.Fatal(err)
			}
			if read() != files {
				t.Error("the undo did not restore both files")
			}
		})
	}
}

// TestEmptyFile: from an empty database file a salvage finds the sessions in the -wal.
func TestEmptyFile(t *testing.T) {
	path, id := dbtest.Unpack(t, "1.18.33")
	dbtest.Exec(t, dbtest.Agent(t, path), "PRAGMA wal_autocheckpoint=0; VACUUM")
	files := dbtest.Files(t, path)
	empty := filepath.Join(t.TempDir(), "opencode.db")
	dbtest.Write(t, empty, "")
	dbtest.Write(t, empty+"-wal", files[dbtest.Name+"-wal"])
	s, err := mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: empty, Journal: mend.OpenJournal(t.TempDir()), Cache: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Sessions(t.Context()); !errors.Is(err, sqlstore.ErrUnusable) || !strings.Contains(err.Error(), "empty") {
		t.Fatalf("Sessions: %v", err)
	}
	found, err := s.ProposeSalvage(t.Context(), true, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(found.Sessions) != 1 || found.Sessions[0].ID != id || !found.Sessions[0].Whole() {
		t.Errorf("sessions %+v", found.Sessions)
	}
}
