package faulttest_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

var update = flag.Bool("update", false, "write the table of what was found into docs/verified.md")

// A sweepResult counts the outcomes of one sweep.
type sweepResult struct {
	What  string // the fault
	Store kind
	Verb  string

	Cuts, Before, After        int
	States                     int // new states that the cuts left
	Mixed, Torn, Lost, Foreign int
	problems                   []string
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
		if row.What == t.What && row.Store == t.Store {
			row.add(t)
			return
		}
	}
	row := &sweepResult{What: t.What, Store: t.Store}
	row.add(t)
	tb.rows = append(tb.rows, row)
}

func (tb *table) String() string {
	var s strings.Builder
	s.WriteString("| what happens, at every call | store | cuts | wholly before | wholly after | mixed | torn | printed ids lost | foreign bytes lost |\n")
	s.WriteString("|---|---|--:|--:|--:|--:|--:|--:|--:|\n")
	slices.SortStableFunc(tb.rows, func(a, b *sweepResult) int {
		return cmp.Or(cmp.Compare(a.What, b.What), cmp.Compare(a.Store, b.Store))
	})
	for _, r := range tb.rows {
		fmt.Fprintf(&s, "| %s | %s | %d | %d | %d | %d | %d | %d | %d |\n",
			r.What, r.Store, r.Cuts, r.Before, r.After, r.Mixed, r.Torn, r.Lost, r.Foreign)
	}
	return s.String()
}

// The marks around the table in docs/verified.md.
const (
	tableBegin = "<!-- faults: written by make faults-table -->\n"
	tableEnd   = "<!-- end of faults -->\n"
)

// publish writes the table into docs/verified.md.
func (tb *table) publish() error {
	const page = "../../../docs/verified.md"
	data, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	before, rest, ok := bytes.Cut(data, []byte(tableBegin))
	_, after, ok2 := bytes.Cut(rest, []byte(tableEnd))
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the table", page)
	}
	text := string(before) + tableBegin + tb.String() + tableEnd + string(after)
	return os.WriteFile(page, []byte(text), 0o644)
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
