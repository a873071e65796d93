package repairs

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/culprit"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/internal/test/tables"
	"mend/repair"
)

// proposals returns n proposals of repairs, some with findings that stay or with a proof that fails.
func proposals(t *testing.T, n int) (all []show.Proposal) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "storage")
	if err := os.MkdirAll(filepath.Join(root, "session"), 0o755); err != nil {
		t.Fatal(err)
	}
	store, err := mend.Open(mend.Options{Agents: agents.All, Store: root, Journal: mend.OpenJournal(t.TempDir())})
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		p := show.Proposal{Store: store, Head: tables.Head(i)}
		for j := range i%4 + 1 {
			if d := tables.Diagnosis(j, repair.Broken); d.Fix != "" {
				p.Result.Fixed = append(p.Result.Fixed, d)
			} else if i%2 == 1 {
				p.Result.Remaining = append(p.Result.Remaining, d)
			}
		}
		p.Result.Plan.Ops = []change.Op{{Ref: change.Ref{Kind: change.KindPart, Session: p.Head.ID, Message: "m", Part: "p"}, Post: &change.Image{Data: []byte("{}")}}}
		p.StoreID = change.StoreID{Agent: "opencode"}
		p.Result.Proof = []repair.Proof{
			{Setting: repair.Setting{Version: "1.1.53", Thinking: true}},
			{Setting: repair.Setting{Version: "1.1.53"}},
			{Setting: repair.Setting{Version: "1.18.33", Thinking: true}},
			{Setting: repair.Setting{Version: "1.18.33"}},
		}
		if i == 2 {
			p.Result.Proof[1].Rules = []string{"R4"}
		}
		all = append(all, p)
	}
	return all
}

func TestTables(t *testing.T) {
	tables.Compare(t, []tables.Screen{
		{Name: "repair", Print: func(screen *term.Terminal, n int) {
			ps := proposals(t, n)
			r := repairRun{RepairBatch: frame.RepairBatch{Batch: frame.NewBatch(context.Background(), &frame.Env{Terminal: screen}, n)}, proposals: ps, shown: ps[0].Store}
			r.show()
			for i, e := range tables.Entries(min(n, 2)) {
				show.PrintCommitted(screen, e, ps[i].Head.Title, "")
				r.Done = append(r.Done, e)
				r.Made++
				r.Sessions[e.Session] = true
			}
			r.Failed = make([]frame.FailedJSON, n-len(r.Done))
			_ = r.end(nil)
		}},
		{Name: "fix, several sessions", Print: func(t *term.Terminal, n int) {
			var found []culprit.Culprit
			for i := range n {
				found = append(found, culprit.Culprit{Session: tables.Head(i), Match: repair.Match{Degree: repair.BreaksThere, Rule: "R1", N: 12, M: i%3 - 1}})
			}
			listCulprits(&frame.Env{Terminal: t}, found)
		}},
		{Name: "fix, one session", Print: func(t *term.Terminal, n int) {
			printCulprit(&frame.Env{Terminal: t}, culprit.Culprit{Session: tables.Head(n % 8), Match: repair.Match{Degree: repair.BreaksThere, Rule: "R1", N: 12, M: -1}})
		}},
	})
}

// TestUncertainCulprit: for an error without a certain session, the hint names the command for the session that fits.
func TestUncertainCulprit(t *testing.T) {
	err := uncertainCulprit([]culprit.Culprit{{Session: change.Head{ID: "x"}}}, "x")
	if code, hint := fail.Classify(err); code != fail.Refused || hint != "if it is the first of these: mend fix x" {
		t.Errorf("%v: %s, hint %q", err, code, hint)
	}
}
