package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"mend/internal/atomicfile"
	"mend/internal/ownfile"
	"mend/live"
	"mend/repair"
)

// A tally keeps the counters of recoveries, of this run and of all.
type tally struct {
	path string
	mu   sync.Mutex
	own  tallies
}

// tallies counts errors by outcome and class.
type tallies map[live.Outcome]map[repair.Class]int

func (t tallies) count(o live.Outcome, c repair.Class) {
	if t[o] == nil {
		t[o] = map[repair.Class]int{}
	}
	t[o][c]++
}

// MarshalJSON shows every outcome.
func (t tallies) MarshalJSON() ([]byte, error) {
	all := map[live.Outcome]map[repair.Class]int{}
	for _, o := range []live.Outcome{live.Detected, live.Cured, live.Refused, live.Failed} {
		all[o] = t[o]
		if all[o] == nil {
			all[o] = map[repair.Class]int{}
		}
	}
	return json.Marshal(all)
}

func (t tallies) total(o live.Outcome) int {
	n := 0
	for _, c := range t[o] {
		n += c
	}
	return n
}

// String is the sum in words, "" for nothing.
func (t tallies) String() string {
	if t.total(live.Detected) == 0 {
		return ""
	}
	return fmt.Sprintf("%s of running agents: %d cured, %d refused, %d failed.", count(t.total(live.Detected), "error"), t.total(live.Cured), t.total(live.Refused), t.total(live.Failed))
}

func newTally(journal string) *tally {
	return &tally{path: tallyPath(journal), own: tallies{}}
}

// tallyPath is the file of the counters of all runs: it stands beside the journal.
func tallyPath(journal string) string { return filepath.Join(journal, "recoveries.json") }

// add counts in this run and in the file. Counters are no reason to fail: an
// error is logged.
func (t *tally) add(log *slog.Logger) func(live.Outcome, repair.Class) {
	return func(o live.Outcome, c repair.Class) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.own.count(o, c)
		if err := addToFile(t.path, o, c); err != nil {
			log.Warn("counting", "error", err)
		}
	}
}

func (t *tally) sinceStart() tallies {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.own
}

// countWithin is how long to wait for another process that counts.
const countWithin = 2 * time.Second

func addToFile(path string, o live.Outcome, c repair.Class) (err error) {
	if err := ownfile.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	lock, err := ownfile.Acquire(path+".lock", os.O_RDWR|os.O_CREATE, false, countWithin)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	all, err := readTallies(path)
	if err != nil {
		return err
	}
	all.count(o, c)
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, data, 0o600)
}

// readTallies reads the counters of all runs; none if there is no file, or one
// that cannot be read as such.
func readTallies(path string) (tallies, error) {
	data, err := ownfile.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all := tallies{}
	if json.Unmarshal(data, &all) != nil || all == nil {
		return tallies{}, nil
	}
	return all, nil
}
