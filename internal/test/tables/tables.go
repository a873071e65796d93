// Package tables compares what verbs print for many sessions, with titles that are hard to display.
//
// It may import change, internal/mend, internal/term, internal/test/storetest and repair. Read [Compare] first.
package tables

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/fatih/color"

	"mend/change"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/internal/test/storetest"
	"mend/repair"
)

// titles are titles that are hard to display.
var titles = []string{
	"Add dark mode to the settings page", "家族旅行の計画を立てる", "תקן את הבדיקות השבורות", "👩\u200d👩\u200d👧 family tree 🏳\ufe0f\u200d🌈", "می\u200cخواهم آزمون\u200cها را درست کنم",
	"", "a title\twith \x1b[31mescapes\x1b[0m", strings.Repeat("very ", 40) + "long",
}

// Head returns a session with one of the titles.
func Head(i int) change.Head {
	used := time.Now().Add(-time.Duration(i*i+1) * 3 * time.Hour).UnixMilli()
	return change.Head{
		ID: fmt.Sprintf("ses_%08x4ffe%014d", 0xe0442e90-i, i), Title: titles[i%len(titles)],
		Directory: []string{"/home/user/project", "/home/user/a folder/with/a/rather/long/path/to/it"}[i%2], Updated: used, Created: used,
	}
}

// Diagnosis returns one of three findings.
func Diagnosis(i int, severity repair.Severity) repair.Diagnosis {
	d := []repair.Diagnosis{
		{Rule: "R11", Class: "empty_content_message", Why: "The text is only whitespace; the provider rejects that.", Fix: `The text becomes "[user interrupted]".`},
		{Rule: "R1", Class: "tool_result_missing", Why: "The call toolu_01 has no result.", Fix: "The call is marked as failed.", Loses: "Nothing of the conversation."},
		{Rule: "field", Class: "incomplete_record", Why: "OpenCode crashes on this part: `state.output` is missing.", WhyNot: "Its contents are unknown."},
	}[i%3]
	d.Severity, d.Ref = severity, change.Ref{Kind: change.KindPart, Session: "ses_1", Message: fmt.Sprintf("msg_%d", i), Part: fmt.Sprintf("prt_%d", i)}
	return d
}

// Findings returns findings of n sessions of every kind.
func Findings(n int) (all []mend.Finding) {
	for i := range n {
		f := mend.Finding{Session: Head(i), Busy: i%7 == 6}
		switch i % 5 {
		case 0, 3:
			for j := range i%4 + 1 {
				f.Diagnoses = append(f.Diagnoses, Diagnosis(j, repair.Broken))
			}
		case 1:
			f.Diagnoses = []repair.Diagnosis{Diagnosis(1, repair.Latent)}
		case 2:
			if i%10 == 2 {
				f.Err = errors.New("reading message msg_1: permission denied")
			}
		}
		all = append(all, f)
	}
	return all
}

// Entries returns n entries of every kind, some of them as an older version wrote them.
func Entries(n int) (all []change.Entry) {
	for i := range n {
		h := Head(i)
		e := change.Entry{
			ID: fmt.Sprintf("repa%02d", i%100), Time: time.UnixMilli(h.Updated), Version: "1.0", Session: h.ID, State: change.Committed, Ops: make([]change.OpInfo, i%4+1),
			Store: change.StoreID{Kind: "sqlite", Root: "/home/user/.local/share/opencode/opencode.db"},
			Cause: change.Cause{Kind: change.CauseScan, Title: h.Title},
		}
		for j := range i%3 + 1 {
			d := Diagnosis(j, repair.Broken)
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

// A Screen is the output of a verb for n sessions.
type Screen struct {
	Name  string
	Print func(t *term.Terminal, n int)
}

var update = flag.Bool("update", false, "rewrite the golden file")

// maxLines is the number of lines of a screen in the golden file; of a longer one it has both ends.
const maxLines = 40

// golden is in the folder of each package that has screens.
const golden = "testdata/tables.golden"

var moment = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\dZ)?|\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d \w+`)

// Compare compares screens on terminals of 80 and 120 columns, with colours and without, and in a pipe, with
// testdata/tables.golden. No line is longer than the terminal.
func Compare(t *testing.T, screens []Screen) {
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
				s.Print(&term.Terminal{Out: &out, Err: &out, Width: c.width, ErrWidth: c.width}, n)
				name := fmt.Sprintf("%s, %s, %d columns, colours %s", s.Name, term.Count(n, "session"), c.width, map[bool]string{true: "on", false: "off"}[c.colour])
				lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
				for _, line := range lines {
					if w := ansi.StringWidth(line); c.width > 0 && w > c.width {
						t.Errorf("%s: a line has %d columns: %q", name, w, line)
					}
				}
				if rest := len(lines) - maxLines; rest > 0 {
					lines = append(append(lines[:maxLines/2:maxLines/2], fmt.Sprintf("(%d more lines)", rest)), lines[len(lines)-maxLines/2:]...)
				}
				fmt.Fprintf(&all, "-- %s --\n", name)
				for _, line := range lines {
					all.WriteString(strings.ReplaceAll(line, "\x1b", "␛") + "\n")
				}
			}
		}
	}
	storetest.Golden(t, golden, moment.ReplaceAllString(all.String(), "TIME"), *update)
}
