package faulttest_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/internal/damage"
)

// cut breaks three messages, so that their cure makes a folder, creates, changes
// and deletes.
func (w *world) cut() {
	w.Helper()
	var s damage.Store = damage.Database{SQL: damage.SQL(w.T, w.store)}
	if w.kind == tree {
		s = damage.Tree{T: w.T, Root: w.store, Session: w.session}
	}
	if w.many {
		runningCalls(s)
		return
	}
	for _, name := range []string{"reasoning last", "blank prompt", "first prompt lost its parts"} {
		i := slices.IndexFunc(damage.Table, func(w damage.Kind) bool { return w.Name == name })
		damage.Table[i].Cut(s)
	}
	if w.kind == tree { // the agent, too, removes a folder that it has emptied
		messages, _ := s.Records()
		if err := os.Remove(filepath.Join(w.store, "part", messages[damage.FirstPrompt].ID)); err != nil {
			w.Fatal(err)
		}
	}
}

// runningCalls adds calls that are still running.
func runningCalls(s damage.Store) {
	tool := damage.Parts(s, damage.OneCall, "tool")[0]
	for i := range 20 {
		one := tool.Edit(func(p map[string]any) {
			p["callID"] = fmt.Sprintf("call_many_%d", i)
			p["state"] = map[string]any{"status": "running", "input": map[string]any{"command": "x"}, "time": map[string]any{"start": 1}}
		})
		one.ID += fmt.Sprintf("z%02d", i)
		s.Put(one)
	}
}

// leaveWal runs f, and leaves behind what it wrote in a -wal, as the agent does.
func (w *world) leaveWal(f func()) {
	w.Helper()
	agent, err := sqlite3.Open(w.store)
	if err == nil {
		err = agent.Exec("PRAGMA wal_autocheckpoint=0; SELECT 1 FROM session")
	}
	if err != nil {
		w.Fatal(err)
	}
	f() // its connections are not the last ones to close
	left, err := readState(filepath.Dir(w.store))
	err = errors.Join(err, agent.Close()) // the last one, which empties the -wal
	base := filepath.Base(w.store)
	err = errors.Join(err, left[base].put(w.store, true), left[base+"-wal"].put(w.store+"-wal", false))
	if err != nil {
		w.Fatal(err)
	}
}

// records is what the store holds, without what is ours in it.
func (w *world) records() snapshot {
	w.Helper()
	key, known := w.key()
	if all, ok := w.known[key]; known && ok {
		return maps.Clone(all)
	}
	all, err := damage.Snapshot(w.store)
	if err != nil {
		w.Fatal(err)
	}
	maps.DeleteFunc(all, func(name, _ string) bool {
		return name == "." || name == ".mend" || strings.HasPrefix(name, ".mend/")
	})
	if known {
		w.known[key] = maps.Clone(all)
	}
	return all
}

// key stands for what a database holds that nobody has open: the same bytes are
// the same rows, and reading these takes long.
func (w *world) key() (key digest, ok bool) {
	if w.kind == tree {
		return key, false
	}
	if info, err := os.Stat(w.store + "-wal"); !errors.Is(err, fs.ErrNotExist) && (err != nil || info.Size() > 0) {
		return key, false
	}
	data, err := os.ReadFile(w.store)
	return digest(sha256.Sum256(data)), err == nil
}

// snapshot is the records, and which entries have lost their bytes.
func (w *world) snapshot() snapshot {
	w.Helper()
	all := w.records()
	for _, e := range w.entries() {
		if e.Forgotten {
			all["journal "+e.ID] = "forgotten"
		}
	}
	return all
}

// litter lists what should be gone: all in our folder of the tree but what is
// kept, and files beside the journal's.
func (w *world) litter() []string {
	var left []string
	for _, pattern := range []string{filepath.Join(w.store, ".mend", "*"), filepath.Join(w.journal(), "*"), filepath.Join(w.live, "cache", "mend", "*")} {
		found, _ := filepath.Glob(pattern)
		left = append(left, found...)
	}
	return slices.DeleteFunc(left, func(p string) bool {
		return slices.Contains([]string{"journal.db", "journal.lock", "kept"}, filepath.Base(p))
	})
}
