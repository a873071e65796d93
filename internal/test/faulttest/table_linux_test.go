package faulttest_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write the table of results into testdata/found.md")

// A sweepResult counts the outcomes of one sweep.
type sweepResult struct {
	What  string // the fault
	Store kind
	Verb  string

	Cuts, Before, After        int
	States                     int // number of new states
	Mixed, Torn, Lost, Foreign int
	problems                   []string
}

// store names the store of the fault: copies have their own rows.
func (t *sweepResult) store() string {
	if strings.HasPrefix(t.Verb, "keep") {
		return "copies of a " + string(t.Store)
	}
	return string(t.Store)
}

func (t *sweepResult) String() string { return fmt.Sprintf("%s: %s, %s", t.Store, t.Verb, t.What) }

func (t *sweepResult) problem(format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

func (t *sweepResult) add(o *sweepResult) {
	t.Cuts, t.Before, t.After = t.Cuts+o.Cuts, t.Before+o.Before, t.After+o.After
	t.Mixed, t.Torn, t.Lost, t.Foreign = t.Mixed+o.Mixed, t.Torn+o.Torn, t.Lost+o.Lost, t.Foreign+o.Foreign
}

// A table has the sums of all sweeps of a run.
type table struct {
	mu   sync.Mutex
	rows []*sweepResult // one for each fault and store
}

var found table

func (tb *table) add(t *sweepResult) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for _, row := range tb.rows {
		if row.What == t.What && row.store() == t.store() {
			row.add(t)
			return
		}
	}
	row := &sweepResult{What: t.What, Store: t.Store, Verb: t.Verb}
	row.add(t)
	tb.rows = append(tb.rows, row)
}

// merge returns the table with the rows of this run, and with the other rows of the previous table.
func (tb *table) merge(previous string) string {
	rows := map[string]string{} // by fault and store
	for line := range strings.Lines(previous) {
		if cells := strings.SplitN(line, " | ", 3); len(cells) == 3 && strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| what happens") {
			rows[cells[0]+" | "+cells[1]] = cells[2]
		}
	}
	for _, r := range tb.rows {
		rows["| "+r.What+" | "+r.store()] = fmt.Sprintf("%d | %d | %d | %d | %d | %d | %d |\n", r.Cuts, r.Before, r.After, r.Mixed, r.Torn, r.Lost, r.Foreign)
	}
	var s strings.Builder
	s.WriteString("| what happens, at every call | store | cuts | as before | as after | mixed | torn | printed ids lost | foreign bytes lost |\n")
	s.WriteString("|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	for _, key := range slices.Sorted(maps.Keys(rows)) {
		s.WriteString(key + " | " + rows[key])
	}
	return s.String()
}

// The marks around the table in testdata/found.md.
const (
	tableBegin = "<!-- faults: written by make faults-table -->\n"
	tableEnd   = "<!-- end of faults -->\n"
)

// publish writes the table into testdata/found.md.
func (tb *table) publish() error {
	const page = "../../../testdata/found.md"
	data, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(data), tableBegin)
	previous, after, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks for the table", page)
	}
	return os.WriteFile(page, []byte(before+tableBegin+tb.merge(previous)+tableEnd+after), 0o644)
}

// report adds the result of a sweep to the table, and its problems to the test.
func report(t *testing.T, s *sweepResult) {
	t.Helper()
	found.add(s)
	t.Logf("%d cuts, %d before, %d after; %d new states", s.Cuts, s.Before, s.After, s.States)
	for i, p := range s.problems {
		if i == 5 {
			t.Errorf("and %d more", len(s.problems)-i)
			break
		}
		t.Error(p)
	}
}
