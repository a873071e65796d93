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
	CheckAll               // also its pages
)

// A DamagedError means that a database file is damaged: its records can be read in part, or its
// indexes do not match its tables. mend never writes to such a file.
type DamagedError struct {
	File    string
	Why     string   // the first problem that was found
	Parts   []string // the damaged tables and indexes, as far as they are known, such as "the table part"
	Touched []string // the tables that are damaged, or whose index is; nil if others may be affected
	WAL     bool     // its -wal belongs to another state of the file: SQLite mixes rows of two states
}

func (e *DamagedError) Error() string {
	if len(e.Parts) == 0 {
		return "it is damaged: " + e.Why
	}
	return fmt.Sprintf("it is damaged in %s: %s", strings.Join(e.Parts, ", "), e.Why)
}
