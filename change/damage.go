package change

import (
	"errors"
	"fmt"
	"strings"
)

// ErrMalformed is returned when SQLite meets a damaged page and stops reading.
var ErrMalformed = errors.New("it is damaged")

// A Check is how thoroughly a database file is checked. Each check includes the ones before it.
type Check uint8

// The checks.
const (
	CheckLog  Check = iota // whether the -wal belongs to the file
	CheckFree              // also its schema and its free list
	CheckAny               // also its pages, up to the first damaged one
	CheckAll               // also its pages, reporting all damage
)

// A DamagedError means that a database file is damaged: its records can be read in part, or its
// indexes do not match its tables. mend never writes to such a file.
type DamagedError struct {
	File string
	Why  string // the first problem that was found
	// Indexes are the damaged indexes, if nothing else is damaged: every row can be read without them.
	Indexes []string
	Tables  []string // otherwise the damaged tables, as far as they are known
	Touched []string // the tables that are damaged, or whose index is; nil if others may be affected
	WAL     bool     // its -wal belongs to another state of the file: SQLite mixes rows of two states
}

func (e *DamagedError) Error() string {
	switch {
	case len(e.Indexes) > 0:
		return fmt.Sprintf("it is damaged in %s alone, and each row can be read: %s", enumerate("index", "indexes", e.Indexes), e.Why)
	case len(e.Tables) > 0:
		return fmt.Sprintf("it is damaged in %s: %s", enumerate("table", "tables", e.Tables), e.Why)
	}
	return "it is damaged: " + e.Why
}

func enumerate(one, many string, names []string) string {
	if len(names) == 1 {
		return "the " + one + " " + names[0]
	}
	return "the " + many + " " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
