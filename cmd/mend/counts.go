package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"mend/internal/atomicfile"
	"mend/internal/live"
	"mend/internal/ownfile"
	"mend/repair"
)

// A recoveryCounter counts recoveries of this run, and adds them to the file of all runs.
type recoveryCounter struct {
	path    string
	mu      sync.Mutex
	current recoveryCounts
}

// recoveryCounts holds the number of errors by outcome and class.
type recoveryCounts map[live.Outcome]map[repair.Class]int

func (rc recoveryCounts) count(o live.Outcome, c repair.Class) {
	if rc[o] == nil {
		rc[o] = map[repair.Class]int{}
	}
	rc[o][c]++
}

// MarshalJSON includes every outcome.
func (rc recoveryCounts) MarshalJSON() ([]byte, error) {
	all := map[live.Outcome]map[repair.Class]int{}
	for _, o := range []live.Outcome{live.Detected, live.Repaired, live.Refused, live.Failed} {
		all[o] = rc[o]
		if all[o] == nil {
			all[o] = map[repair.Class]int{}
		}
	}
	return json.Marshal(all)
}

func (rc recoveryCounts) total(o live.Outcome) int {
	n := 0
	for _, c := range rc[o] {
		n += c
	}
	return n
}

// String returns a summary, or "" if nothing was counted.
func (rc recoveryCounts) String() string {
	if rc.total(live.Detected) == 0 {
		return ""
	}
	return fmt.Sprintf("%s in running agents: %d repaired, %d given up, %d failed.", count(rc.total(live.Detected), "error"), rc.total(live.Repaired), rc.total(live.Refused), rc.total(live.Failed))
}

// givenUp returns the classes of the errors that no repair answered, with their numbers; ""
// for none.
func (rc recoveryCounts) givenUp() string {
	var parts []string
	for _, o := range []live.Outcome{live.Refused, live.Failed} {
		for _, class := range slices.Sorted(maps.Keys(rc[o])) {
			parts = append(parts, fmt.Sprintf("%d × %s", rc[o][class], class))
		}
	}
	return strings.Join(parts, ", ")
}

func newRecoveryCounter(journal string) *recoveryCounter {
	return &recoveryCounter{path: countsPath(journal), current: recoveryCounts{}}
}

// countsPath returns the path of the file with the counts of all runs, in the folder of
// the journal.
func countsPath(journal string) string { return filepath.Join(journal, "recoveries.json") }

// add returns a function that counts in this run and in the file. An error is only
// logged.
func (r *recoveryCounter) add(log *slog.Logger) func(live.Outcome, repair.Class) {
	return func(o live.Outcome, c repair.Class) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.current.count(o, c)
		if err := addToCounts(r.path, o, c); err != nil {
			log.Warn("counting", "error", err)
		}
	}
}

func (r *recoveryCounter) sinceStart() recoveryCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

// countsLockTimeout is how long to wait for another process that updates the file.
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

// readCounts reads the counts of all runs. A missing or invalid file has no counts.
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
