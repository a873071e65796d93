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
type recoveryCounter struct {
	path    string
	mu      sync.Mutex
	current recoveryCounts
}

// tallies counts errors by outcome and class.
type recoveryCounts map[live.Outcome]map[repair.Class]int

func (t recoveryCounts) count(o live.Outcome, c repair.Class) {
	if t[o] == nil {
		t[o] = map[repair.Class]int{}
	}
	t[o][c]++
}

// MarshalJSON shows every outcome.
func (t recoveryCounts) MarshalJSON() ([]byte, error) {
	all := map[live.Outcome]map[repair.Class]int{}
	for _, o := range []live.Outcome{live.Detected, live.Repaired, live.Refused, live.Failed} {
		all[o] = t[o]
		if all[o] == nil {
			all[o] = map[repair.Class]int{}
		}
	}
	return json.Marshal(all)
}

func (t recoveryCounts) total(o live.Outcome) int {
	n := 0
	for _, c := range t[o] {
		n += c
	}
	return n
}

// String is the sum in words, "" for nothing.
func (t recoveryCounts) String() string {
	if t.total(live.Detected) == 0 {
		return ""
	}
	return fmt.Sprintf("%s of running agents: %d cured, %d refused, %d failed.", count(t.total(live.Detected), "error"), t.total(live.Repaired), t.total(live.Refused), t.total(live.Failed))
}

func newRecoveryCounter(journal string) *recoveryCounter {
	return &recoveryCounter{path: countsPath(journal), current: recoveryCounts{}}
}

// tallyPath is the file of the counters of all runs: it stands beside the journal.
func countsPath(journal string) string { return filepath.Join(journal, "recoveries.json") }

// add counts in this run and in the file. Counters are no reason to fail: an
// error is logged.
func (t *recoveryCounter) add(log *slog.Logger) func(live.Outcome, repair.Class) {
	return func(o live.Outcome, c repair.Class) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.current.count(o, c)
		if err := addToCounts(t.path, o, c); err != nil {
			log.Warn("counting", "error", err)
		}
	}
}

func (t *recoveryCounter) sinceStart() recoveryCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.current
}

// countWithin is how long to wait for another process that counts.
const countsLockTimeout = 2 * time.Second

func addToCounts(path string, o live.Outcome, c repair.Class) (err error) {
	if err := ownfile.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	lock, err := ownfile.Acquire(path+".lock", os.O_RDWR|os.O_CREATE, false, countsLockTimeout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	all, err := readCounts(path)
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
func readCounts(path string) (recoveryCounts, error) {
	data, err := ownfile.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all := recoveryCounts{}
	if json.Unmarshal(data, &all) != nil || all == nil {
		return recoveryCounts{}, nil
	}
	return all, nil
}
