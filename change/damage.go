package change

import (
	"errors"
	"fmt"
	"strings"
)

// ErrMalformed says that SQLite met a damaged page, and read no further.
var ErrMalformed = errors.New("it is damaged")

// A Check says how much of the file of a database is checked.
type Check uint8

// The checks. Each includes the one before.
const (
	CheckLog  Check = iota // whether its -wal belongs to it
	CheckFree              // also its schema and its free list
	CheckAny               // also its pages, up to the first fault
	CheckAll               // also its pages, for every fault
)

// A DamagedError says that the file of a database is damaged: its records can be read in part, or
// its indexes do not fit its tables. Such a file is never written.
type DamagedError struct {
	File string
	Why  string // the first thing that was found
	// Indexes are the indexes that are damaged, if nothing else is: every row can be read without
	// them.
	Indexes []string
	Tables  []string // else the tables that are damaged, as far as they are known
	Touched []string // the tables that are damaged or of which an index is; nil if something else may be
	WAL     bool     // its -wal does not fit it: SQLite reads rows of different moments
}

func (e *DamagedError) Error() string {
	switch {
	case len(e.Indexes) > 0:
		if len(e.Indexes) > 1 {
			return fmt.Sprintf("%s are damaged, and nothing else: each row can be read without them (%s)", named("index", "indexes", e.Indexes), e.Why)
		}
		return fmt.Sprintf("the index %s is damaged, and nothing else: each row can be read without it (%s)", e.Indexes[0], e.Why)
	case len(e.Tables) > 0:
		return fmt.Sprintf("it is damaged in %s: %s", named("table", "tables", e.Tables), e.Why)
	}
	return "it is damaged: " + e.Why
}

func named(one, many string, names []string) string {
	if len(names) == 1 {
		return "the " + one + " " + names[0]
	}
	return "the " + many + " " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
