package inspect

import (
	"fmt"
	"testing"
	"time"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/internal/test/tables"
)

func TestTables(t *testing.T) {
	tables.Compare(t, []tables.Screen{
		{Name: "scan", Print: func(t *term.Terminal, n int) { printScan(t, n, scanFlags{}) }},
		{Name: "scan -v", Print: func(t *term.Terminal, n int) { printScan(t, min(n, 5), scanFlags{verbose: true}) }},
		{Name: "status", Print: func(t *term.Terminal, n int) {
			last := mend.Summary{Sessions: n, Broken: n, Time: time.Now()}
			for i := range min(n, 20) {
				h := tables.Head(i)
				last.Worst = append(last.Worst, mend.SummarySession{ID: h.ID, Title: h.Title, Directory: h.Directory, Updated: h.Updated})
			}
			s := StatusJSON{Next: "mend fix", NextWhy: "preview and fix the broken sessions (asks first)"}
			for i := range min(n, 3) {
				st := storeJSON{Path: fmt.Sprintf("/home/user/a folder/with/a/rather/long/path/to/it/opencode-%d.db", i), Layout: "sqlite", InUse: i != 1, agent: "opencode"}
				if i == 0 {
					st.LastScan = &last
				}
				s.Stores = append(s.Stores, st)
			}
			printStatus(&frame.Env{Terminal: t}, s, tables.Entries(1), tables.Entries(min(n, 2)), tables.Entries(min(n, 4))[min(n, 4)-1:])
		}},
	})
}

func printScan(t *term.Terminal, n int, f scanFlags) {
	r := scanReport{Env: &frame.Env{Terminal: t}, flags: f}
	var heads []change.Head
	for _, f := range tables.Findings(n) {
		heads = append(heads, f.Session)
		r.add(f)
	}
	r.print(heads)
}

// TestStoreRows: status says whether a store was checked, and what was found in it.
func TestStoreRows(t *testing.T) {
	last := &mend.Summary{Sessions: 3, Broken: 2, Failed: 1, Time: time.Now().Add(-2 * time.Hour)}
	for _, r := range []struct {
		st   storeJSON
		want string
	}{
		{storeJSON{InUse: true, unread: true}, "cannot be read"},
		{storeJSON{InUse: true}, "not checked yet"},
		{storeJSON{InUse: true, LastScan: last}, "3 sessions: 2 broken (1 cannot be examined), 1 healthy (checked 2 hours ago)"},
	} {
		r.st.Path = "/store"
		if got := storeRows(StatusJSON{Stores: []storeJSON{r.st}})[0][1]; string(got) != "/store\n"+r.want {
			t.Errorf("the row of %+v is %q, want %q", r.st, got, r.want)
		}
	}
}
