package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/fatih/color"
	gocmp "github.com/google/go-cmp/cmp"

	"mend/change"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/culprit"
	"mend/internal/mend"
	"mend/internal/scancache"
	"mend/internal/term"
	"mend/internal/test/storetest"
	"mend/repair"
)

const tablesGolden = "testdata/tables.golden"

// screenTitles are titles that are hard to display.
var screenTitles = []string{
	"Add dark mode to the settings page", "家族旅行の計画を立てる", "תקן את הבדיקות השבורות", "👩\u200d👩\u200d👧 family tree 🏳\ufe0f\u200d🌈", "می\u200cخواهم آزمون\u200cها را درست کنم",
	"", "a title\twith \x1b[31mescapes\x1b[0m", strings.Repeat("very ", 40) + "long",
}

func screenHead(i int) change.Head {
	used := time.Now().Add(-time.Duration(i*i+1) * 3 * time.Hour).UnixMilli()
	return change.Head{
		ID: fmt.Sprintf("ses_%08x4ffe%014d", 0xe0442e90-i, i), Title: screenTitles[i%len(screenTitles)],
		Directory: []string{"/home/user/project", "/home/user/a folder/with/a/rather/long/path/to/it"}[i%2], Updated: used, Created: used,
	}
}

func screenDiagnosis(i int, severity repair.Severity) repair.Diagnosis {
	d := []repair.Diagnosis{
		{Rule: "R11", Class: "empty_content_message", Why: "The text is only whitespace; the provider rejects that.", Fix: `The text becomes "[user interrupted]".`},
		{Rule: "R1", Class: "tool_result_missing", Why: "The call toolu_01 has no result.", Fix: "The call is marked as failed.", Loses: "Nothing of the conversation."},
		{Rule: "field", Class: "incomplete_record", Why: "OpenCode crashes on this part: `state.output` is missing.", WhyNot: "Its contents are unknown."},
	}[i%3]
	d.Severity, d.Ref = severity, change.Ref{Kind: change.KindPart, Session: "ses_1", Message: fmt.Sprintf("msg_%d", i), Part: fmt.Sprintf("prt_%d", i)}
	return d
}

// screenFindings returns findings of n sessions of every kind.
func screenFindings(n int) (all []mend.Finding) {
	for i := range n {
		f := mend.Finding{Session: screenHead(i), Busy: i%7 == 6}
		switch i % 5 {
		case 0, 3:
			for j := range i%4 + 1 {
				f.Diagnoses = append(f.Diagnoses, screenDiagnosis(j, repair.Broken))
			}
		case 1:
			f.Diagnoses = []repair.Diagnosis{screenDiagnosis(1, repair.Latent)}
		case 2:
			if i%10 == 2 {
				f.Err = errors.New("reading message msg_1: permission denied")
			}
		}
		all = append(all, f)
	}
	return all
}

// screenEntries returns n entries of every kind, the last one of an older version.
func screenEntries(n int) (all []change.Entry) {
	for i := range n {
		h := screenHead(i)
		e := change.Entry{
			ID: fmt.Sprintf("repa%02d", i%100), Time: time.UnixMilli(h.Updated), Version: "1.0", Session: h.ID, State: change.Committed, Ops: make([]change.OpInfo, i%4+1),
			Store: change.StoreID{Kind: "sqlite", Root: "/home/user/.local/share/opencode/opencode.db"},
			Cause: change.Cause{Kind: change.CauseScan, Title: h.Title},
		}
		for j := range i%3 + 1 {
			d := screenDiagnosis(j, repair.Broken)
			e.Cause.Findings = append(e.Cause.Findings, change.Finding{Rule: d.Rule, Class: string(d.Class), Why: d.Why, Fix: d.Fix, Loses: d.Loses, Count: j + 1})
		}
		switch i % 6 {
		case 1:
			e.Cause = change.Cause{Kind: change.CauseUndo, Title: h.Title, Entries: []uint64{uint64(i)}}
		case 2:
			e.UndoneBy = "goqare"
		case 3:
			e.State = change.Conflicted
		case 4:
			e.Cause.Kind, e.Cause.Text, e.Cause.Live = change.CauseError, "messages.12: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01", true
		case 5:
			e.Cause.Title, e.Cause.Findings, e.Cause.Diagnoses = "", nil, []string{"It is empty. It is filled.", "It is empty. It is filled."}
		}
		all = append(all, e)
	}
	return all
}

func screenProposals(n int) (all []show.Proposal) {
	for i := range n {
		p := show.Proposal{Head: screenHead(i)}
		for j := range i%4 + 1 {
			if d := screenDiagnosis(j, repair.Broken); d.Fix != "" {
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

// screens are the outputs of the verbs for n sessions.
var screens = []struct {
	name  string
	print func(a *frame.Env, n int)
}{
	{"scan", func(a *frame.Env, n int) { printScan(a, n, scanFlags{}) }},
	{"scan -v", func(a *frame.Env, n int) { printScan(a, min(n, 5), scanFlags{verbose: true}) }},
	{"repair", func(a *frame.Env, n int) {
		ps := screenProposals(n)
		r := repairRun{RepairBatch: frame.RepairBatch{Batch: frame.NewBatch(context.Background(), a, n)}, proposals: ps}
		r.show(ps)
		for i, e := range screenEntries(min(n, 2)) {
			show.Committed(a.Terminal, e, ps[i].Head.Title, "")
			r.Done = append(r.Done, e)
		}
		r.Failed = make([]frame.FailedJSON, n-len(r.Done))
		_ = r.end(nil)
	}},
	{"fix, several sessions", func(a *frame.Env, n int) {
		var found []culprit.Culprit
		for i := range n {
			found = append(found, culprit.Culprit{Session: screenHead(i), Match: repair.Match{Degree: repair.BreaksThere, Rule: "R1", N: 12, M: i%3 - 1}})
		}
		listCulprits(a, found, culpritRows(a.Terminal, found))
	}},
	{"fix, one session", func(a *frame.Env, n int) {
		printCulprit(a, culprit.Culprit{Session: screenHead(n % 8), Match: repair.Match{Degree: repair.BreaksThere, Rule: "R1", N: 12, M: -1}})
	}},
	{"log", func(a *frame.Env, n int) {
		_ = frame.PrintEntries(a, screenEntries(n), nil, "Nothing was repaired yet.")
	}},
	{"show", func(a *frame.Env, n int) {
		show.Entry(a.Terminal, screenEntries(n)[min(n, 6)-1], nil, mend.Related{}, nil, "")
	}},
	{"undo", func(a *frame.Env, n int) { show.EntryHead(a.Terminal, screenEntries(n)[0]) }},
	{"status", func(a *frame.Env, n int) {
		last := mend.Summary{Sessions: n, Broken: n, Time: time.Now()}
		for i := range min(n, 20) {
			h := screenHead(i)
			last.Worst = append(last.Worst, scancache.SummarySession{ID: h.ID, Title: h.Title, Directory: h.Directory, Updated: h.Updated})
		}
		s := statusJSON{LastScan: &last, Next: "mend fix", NextWhy: "preview and fix the broken sessions (asks first)"}
		for i := range min(n, 3) {
			s.Stores = append(s.Stores, storeJSON{Path: fmt.Sprintf("/home/user/a folder/with/a/rather/long/path/to/it/opencode-%d.db", i), Layout: "sqlite", InUse: i != 1})
		}
		printStatus(a, s, screenEntries(1), screenEntries(min(n, 2)), screenEntries(min(n, 4))[min(n, 4)-1:])
	}},
	{"trim", func(a *frame.Env, n int) {
		show.Header(a.Terminal, screenHead(n%8))
		var outputs []repair.TrimmedOutput
		for i := range n {
			outputs = append(outputs, repair.TrimmedOutput{Tool: []string{"bash", "read", "mcp_計画_" + strings.Repeat("long", 9)}[i%3], Tokens: i * 1000, Copy: i%4 == 0})
		}
		show.Trimmed(a.Terminal, outputs)
		show.Sizes(a.Terminal, n*10000, n*4000, 0)
	}},
	{"an ambiguous name", func(a *frame.Env, n int) {
		var heads []change.Head
		for i := range n {
			heads = append(heads, screenHead(i))
		}
		frame.ListAmbiguous(a.Terminal, show.SessionRows(a.Terminal, heads, heads))
	}},
}

func printScan(a *frame.Env, n int, f scanFlags) {
	r := scanReport{Env: a, flags: f}
	var heads []change.Head
	for _, f := range screenFindings(n) {
		heads = append(heads, f.Session)
		r.add(f)
	}
	r.print(heads)
}

// maxScreen is the number of lines of a screen in the golden file; of a longer one it has both ends.
const maxScreen = 40

// TestTables compares the output of the verbs on terminals of 80 and 120 columns, with colours and without,
// and in a pipe, with testdata/tables.golden. No line is longer than the terminal.
func TestTables(t *testing.T) {
	storetest.Long(t)
	t.Setenv("HOME", "/home/user")
	plain := color.NoColor
	t.Cleanup(func() { color.NoColor = plain })
	var all strings.Builder
	for _, s := range screens {
		for _, n := range []int{1, 20, 300} {
			for _, c := range []struct {
				width  int
				colour bool
			}{{80, false}, {120, false}, {0, false}, {80, true}} {
				if n != 1 && c.colour || n == 300 && c.width != 80 {
					continue
				}
				color.NoColor = !c.colour
				var out bytes.Buffer
				a := &frame.Env{Terminal: &term.Terminal{Out: &out, Err: &out, Width: c.width, ErrWidth: c.width}}
				s.print(a, n)
				name := fmt.Sprintf("%s, %s, %d columns, colours %s", s.name, term.Count(n, "session"), c.width, show.OnOrOff(c.colour))
				lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
				for _, line := range lines {
					if w := ansi.StringWidth(line); c.width > 0 && w > c.width {
						t.Errorf("%s: a line has %d columns: %q", name, w, line)
					}
				}
				if rest := len(lines) - maxScreen; rest > 0 {
					lines = append(append(lines[:maxScreen/2:maxScreen/2], fmt.Sprintf("(%d more lines)", rest)), lines[len(lines)-maxScreen/2:]...)
				}
				fmt.Fprintf(&all, "-- %s --\n", name)
				for _, line := range lines {
					all.WriteString(strings.ReplaceAll(line, "\x1b", "␛") + "\n")
				}
			}
		}
	}
	got := all.String()
	for _, v := range volatile {
		if strings.Contains(v.with, "TIME") || v.with == "VERSION" {
			got = v.pattern.ReplaceAllString(got, v.with)
		}
	}
	if *update {
		if err := os.WriteFile(tablesGolden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(tablesGolden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the screens are not those of %s; -update writes it (-golden +found):\n%s", tablesGolden, diff)
	}
}

// If a store could not be checked in time, status shows the result of the last scan, and its time.
func TestEarlierScan(t *testing.T) {
	last := &mend.Summary{Sessions: 3, Broken: 2, Failed: 1, Time: time.Now().Add(-2 * time.Hour)}
	for _, r := range []struct {
		st   storeJSON
		want string
	}{
		{storeJSON{InUse: true, earlier: last}, "at the last scan, 2 hours ago: 3 sessions: 2 broken (1 cannot be examined), 1 healthy"},
		{storeJSON{InUse: true, earlier: last, unread: true}, "cannot be read"},
		{storeJSON{InUse: true}, "not checked yet"},
		{storeJSON{InUse: true, LastScan: last}, "3 sessions: 2 broken (1 cannot be examined), 1 healthy (checked 2 hours ago)"},
	} {
		if got := sessionsText(&frame.Env{Terminal: &term.Terminal{}}, statusJSON{Stores: []storeJSON{r.st}}); got != r.want {
			t.Errorf("sessionsText(%+v) = %q, want %q", r.st, got, r.want)
		}
	}
}
