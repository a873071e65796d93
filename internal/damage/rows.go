package damage

import (
	_ "embed" // the table
	"strings"
)

// Unlisted is what becomes of a session that is answered while the list of sessions, or
// the session's page, fails: one more besides [Alive] and [Dead].
const Unlisted = "unlisted"

// A Cell is a value in a column of the session's own row, and what became of the
// session with it in the real program.
type Cell struct {
	Version       string
	Column, Value string // the value as SQL
	Want          string // Alive, Dead or Unlisted
}

// Cut is the statement that puts the value there.
func (c Cell) Cut() string { return "update session set " + c.Column + " = " + c.Value }

//go:embed rows.tsv
var rowsTable string

// Cells are all that were measured: every column with values of every storage
// class, and of every kind of JSON. TestSessionRow of cmd/mend measures them again.
func Cells() []Cell {
	var all []Cell
	for line := range strings.Lines(rowsTable) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, Cell{f[0], f[1], f[2], f[3]})
	}
	return all
}
