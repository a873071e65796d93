package show

import (
	"strings"
	"testing"

	"mend/internal/mend"
	"mend/internal/term"
	"mend/internal/test/tables"
	"mend/repair"
)

func TestTables(t *testing.T) {
	tables.Compare(t, []tables.Screen{
		{Name: "show", Print: func(t *term.Terminal, n int) {
			Entry(t, tables.Entries(n)[min(n, 6)-1], nil, mend.Related{}, nil, "")
		}},
		{Name: "undo", Print: func(t *term.Terminal, n int) { EntryHead(t, tables.Entries(n)[0], false) }},
		{Name: "trim", Print: func(t *term.Terminal, n int) {
			Header(t, tables.Head(n%8))
			var outputs []repair.TrimmedOutput
			for i := range n {
				outputs = append(outputs, repair.TrimmedOutput{Tool: []string{"bash", "read", "mcp_計画_" + strings.Repeat("long", 9)}[i%3], Tokens: i * 1000, Copy: i%4 == 0})
			}
			PrintTrimmed(t, outputs)
			Sizes(t, n*10000, n*4000, 0)
		}},
	})
}
