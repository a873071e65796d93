package change

import (
	"errors"
	"fmt"
	"math"
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
	Touched []string // the tables that are damaged or have a damaged index; nil if others may be affected
	WAL     bool     // its -wal belongs to another state of the file: SQLite mixes rows of two states
}

func (e *DamagedError) Error() string {
	if len(e.Parts) == 0 {
		return "it is damaged: " + e.Why
	}
	return fmt.Sprintf("it is damaged in %s: %s", strings.Join(e.Parts, ", "), e.Why)
}

// MaxText is the size in bytes of the largest record that mend reads. The agent cannot read much
// more: its JavaScript engine reads a text of 1.2 GB and aborts on one of 2.2 GB.
const MaxText = math.MaxInt32

// A SizeError means that a session is too large for the memory of this machine. Most is the
// limit in bytes.
type SizeError struct{ Most int64 }

func (e *SizeError) Error() string {
	return fmt.Sprintf("it has more than %d MB, which is too much for the memory of this machine", e.Most>>20)
}

// A ConflictError means that records hold other content than a plan expects. The store is unchanged, or was
// restored.
type ConflictError struct {
	Conflicts []Conflict
}

func (e *ConflictError) Error() string {
	if len(e.Conflicts) == 0 {
		return "the store was changed meanwhile"
	}
	c := e.Conflicts[0]
	text := fmt.Sprintf("%s %s: %s", c.Ref.Kind, c.Ref, c.Why)
	if n := len(e.Conflicts) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	return text
}

// A LinkedError means that a record's file must not be replaced because it has several hard links, or cannot
// be replaced because the user lacks the rights. Nothing was changed.
type LinkedError struct {
	Ref Ref
	Why string // also explains what the user can do
}

func (e *LinkedError) Error() string {
	return fmt.Sprintf("%v %s cannot be changed: %s", e.Ref.Kind, e.Ref, e.Why)
}

// ErrInUse means that a process has the record in memory, so it must not be replaced. Nothing was changed.
var ErrInUse = errors.New("a running process uses this session")

// ErrLocked means that another program held the lock of a database for longer than mend waits. Nothing was
// changed.
var ErrLocked = errors.New("the database is locked by another program")
