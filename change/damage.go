package change

import (
	"fmt"
	"strings"

	"mend/internal/fail"
)

// ErrMalformed says that SQLite met a damaged page, and read no further.
var ErrMalformed error = fail.New(fail.Unusable,
	"nothing was changed. Close the agent and keep a copy of the file with its -wal and -shm. Restore it from a backup, or read what is left of its rows: sqlite3 FILE .dump",
	"it is damaged")

// A DamagedError says that the file of a database is damaged: its records can be read in part, or
// its indexes do not fit its tables. Such a file is never written.
type DamagedError struct {
	File string
	Why  string // the first thing that was found
	// Indexes are the indexes that are damaged, if nothing else is: every row can be read without
	// them. Rebuild has the statements that make them again; it is nil if an index belongs to its
	// table and has no statement of its own.
	Indexes, Rebuild []string
	Tables           []string // else the tables that are damaged, as far as they are known

	Hint string // what the user can do
}

// Failure gives the error its exit code and its hint, see [fail.Of].
func (e *DamagedError) Failure() (fail.Code, string) { return fail.Unusable, e.Hint }

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
