package diagnose_test

import (
	"bytes"
	"strings"
	"testing"

	"mend/internal/jsonedit"
	"mend/internal/test/claude"
	"mend/internal/test/mutation"
	"mend/repair"
)

// TestFutureVersion writes an unknown kind and an unknown field at every place of each kind of record, as a version
// newer than all known ones may write it. It is at most a note, and no repair changes it.
func TestFutureVersion(t *testing.T) {
	seen := map[string]bool{}
	for _, shape := range claude.Shapes {
		testFutureVersion(t, claude.Shape(shape).Lines, seen)
	}
}

func testFutureVersion(t *testing.T, lines [][]byte, seen map[string]bool) {
	for i, line := range lines {
		key := kindOf(line)
		if seen[key] {
			continue
		}
		seen[key] = true
		for _, v := range mutation.FutureVersions(line) {
			data := bytes.Join([][]byte{bytes.Join(lines[:i], []byte("\n")), v.Data, bytes.Join(lines[i+1:], []byte("\n")), nil}, []byte("\n"))
			c := caseOn("3.0.0", bytes.TrimPrefix(data, []byte("\n")))
			for _, d := range repair.Diagnose(c) {
				if d.Severity != repair.Note || d.Fix != "" {
					t.Errorf("%s, %s: %s is %s, fix %q: %s", key, v.Name, d.Rule, d.Severity, d.Fix, d.Text)
				}
			}
			r, err := repair.Plan(claude.Session, c, repair.Request{Latent: true})
			if err != nil || len(r.Plan.Ops) > 0 {
				t.Errorf("%s, %s: %d records are changed, %v", key, v.Name, len(r.Plan.Ops), err)
			}
		}
	}
}

// kindOf returns the kinds of a record and of the blocks in it.
func kindOf(line []byte) string {
	v := jsonedit.Parse(line)
	kinds := []string{v.TextAt("type"), v.TextAt("subtype"), v.TextAt("attachment", "type")}
	for b := range v.Get("message").Get("content").Elements() {
		kinds = append(kinds, b.TextAt("type"))
	}
	return strings.TrimSpace(strings.Join(kinds, " "))
}
