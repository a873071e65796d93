package frame

import (
	"slices"
	"testing"

	"mend/change"
	"mend/cmd/mend/internal/show"
	"mend/internal/term"
	"mend/internal/test/tables"
)

func TestTables(t *testing.T) {
	tables.Compare(t, []tables.Screen{
		{Name: "log", Print: func(t *term.Terminal, n int) {
			_ = PrintEntries(&Env{Terminal: t}, slices.Values(tables.Entries(n)), nil, "Nothing was repaired yet.")
		}},
		{Name: "an ambiguous name", Print: func(t *term.Terminal, n int) {
			var heads []change.Head
			for i := range n {
				heads = append(heads, tables.Head(i))
			}
			listAmbiguous(t, show.SessionRows(t, heads, heads))
		}},
	})
}
