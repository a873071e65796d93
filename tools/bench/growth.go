package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// measured is what is measured of each store, in this order: of a tree, and of a
// database.
var measured = [...]string{
	"scan, tree", "scan again, tree", "repair, tree", "undo, tree",
	"scan, database", "scan again, database", "repair, database", "undo, database",
}

// A point is what a store of some size costs.
type point struct {
	parts   int
	costs   [len(measured)]cost
	largest int64 // session in the tree, in bytes
}

func (p point) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %d |", p.parts)
	for _, c := range p.costs {
		fmt.Fprintf(&b, " %s ms, %d MB |", short(c.wall), c.peak>>20)
	}
	return b.String()
}

// kept is how many parts a store may have that stays when it was measured.
const kept = 300_000

// growth measures stores with these numbers of parts, and one repair in each.
func (l *lab) growth(parts, rounds int) (p point, err error) {
	p.parts = parts
	var scans, writes []command
	for _, kind := range []string{"tree", "db"} {
		s, err := l.store(kind, parts, 1)
		if err != nil {
			return p, err
		}
		if parts > kept {
			defer func() { err = errors.Join(err, os.RemoveAll(filepath.Dir(s.data))) }()
		}
		if kind == "tree" {
			if p.largest, err = largest(s.storage()); err != nil {
				return p, err
			}
		}
		mend := []string{l.path("mend"), "--store", s.data}
		warm, state := l.path(fmt.Sprintf("cache-of-%d", parts)), l.path(fmt.Sprintf("state-of-%d", parts))
		scans = append(scans, command{args: append(mend, "scan")}, command{args: append(mend, "scan"), cache: warm})
		writes = append(writes,
			command{args: append(mend, "repair", s.session, "--latent", "--force", "--yes"), state: state, until: "Repaired"},
			command{args: append(mend, "undo", "--session", s.session, "--yes"), state: state, until: "Undone"})
	}
	if err := l.runAll(writes); err != nil { // so that there is a journal
		return p, err
	}
	time.Sleep(3 * time.Second)             // until what was written is old enough to be trusted
	if err := l.runAll(scans); err != nil { // so that there is an index of that
		return p, err
	}
	read, err := l.measure(rounds, scans)
	if err != nil {
		return p, err
	}
	written, err := l.measure(rounds, writes)
	copy(p.costs[:], slices.Concat(read[:2], written[:2], read[2:], written[2:]))
	return p, err
}

// largest returns the size of the largest session of a tree in bytes.
func largest(storage string) (int64, error) {
	sessions, err := os.ReadDir(filepath.Join(storage, "message"))
	var most int64
	for _, s := range sessions {
		messages := filepath.Join(storage, "message", s.Name())
		total, serr := size(messages)
		names, lerr := os.ReadDir(messages)
		for _, m := range names {
			n, perr := size(filepath.Join(storage, "part", strings.TrimSuffix(m.Name(), ".json")))
			if !errors.Is(perr, fs.ErrNotExist) {
				err = errors.Join(err, perr)
			}
			total += n
		}
		err = errors.Join(err, serr, lerr)
		most = max(most, total)
	}
	return most, err
}

// size returns the size of all files in a folder in bytes.
func size(dir string) (total int64, err error) {
	all, err := os.ReadDir(dir)
	for _, e := range all {
		info, ierr := e.Info()
		if ierr != nil {
			return total, ierr
		}
		total += info.Size()
	}
	return total, err
}

// memoryRows adds the rows about the memory that a scan of each store needs.
func (t *table) memoryRows(points []point) {
	for _, p := range points {
		r := row{
			work: fmt.Sprintf("memory of a scan, %d parts", p.parts), measure: fmt.Sprintf("peak; 32 MB + 3 × the largest session (%.1f MB)", float64(p.largest)/(1<<20)),
			figure: memory, goal: 32 + 3*float64(p.largest)/(1<<20),
		}
		t.add(r, p.costs[0], cost{})
	}
}
