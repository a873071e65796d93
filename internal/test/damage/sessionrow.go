package damage

import (
	_ "embed" // the table
	"strings"
)

// Unlisted is the fate, besides [Alive] and [Dead], of a session that the agent answers in although the list
// of sessions or the session's page fails.
const Unlisted = "unlisted"

// A Cell is a value in a column of the session's own row, with the fate of the session in
// the real program.
type Cell struct {
	Version       string
	Column, Value string // the value as SQL
	Want          string // Alive, Dead or Unlisted
}

// Statement returns the SQL statement that sets the value.
func (c Cell) Statement() string { return "update session set " + c.Column + " = " + c.Value }

//go:embed sessionrow.tsv
var rowsTable string

// Cells returns all measured values: for every column values of every storage class, and of every kind of
// JSON. TestSessionRow of cmd/mend measures them again.
func Cells() []Cell {
	var all []Cell
	for line := range strings.Lines(rowsTable) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, Cell{f[0], f[1], f[2], f[3]})
	}
	return all
}
