package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/diff"

	"mend/change"
)

// TestDiffLines compares what is shown of a record that comes or goes with the
// difference to nothing.
func TestDiffLines(t *testing.T) {
	for _, data := range []string{"", "\n", "a", "a\n\n@@ b\n", `{"a":[1,{"b":"c\n"}],"d":{}}`, "\xff\x00", "-- a\n\\ No newline at end of file"} {
		i := &change.Image{Data: []byte(data)}
		for _, c := range []struct {
			pre, post *change.Image
			text      []byte
		}{
			{nil, i, diff.Diff("before", nil, "after", lines(i))},
			{i, nil, diff.Diff("before", lines(i), "after", nil)},
		} {
			want := strings.Split(strings.TrimSuffix(string(c.text), "\n"), "\n")[4:] // behind names and place
			if d := cmp.Diff(want, diffLines(c.pre, c.post)); d != "" {
				t.Errorf("diffLines(%v, %v) (-want +got):\n%s", c.pre, c.post, d)
			}
		}
	}
	if got := diffLines(nil, nil); len(got) > 0 {
		t.Errorf("diffLines of nothing = %q", got)
	}
}

// TestDeepLines has what would be a hundred times as long, if it were indented.
func TestDeepLines(t *testing.T) {
	nested := func(depth int) []byte {
		return []byte(strings.Repeat(`{"a\"[{":[`, depth) + strings.Repeat("]}", depth))
	}
	for _, c := range []struct {
		depth int
		whole bool
	}{{maxLine / 4, false}, {maxLine/4 + 1, true}, {4000, true}} {
		data := nested(c.depth)
		got := lines(&change.Image{Data: data})
		if whole := bytes.Count(got, []byte("\n")) == 1; whole != c.whole {
			t.Errorf("depth %d: in one line: %v, want %v", 2*c.depth, whole, c.whole)
		}
	}
}

func TestOneDiffLine(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"", ""},
		{"+\ta", `+\ta`},
		{strings.Repeat("ö", maxLine), strings.Repeat("ö", maxLine)},
		{strings.Repeat("ö", maxLine) + "x", strings.Repeat("ö", maxLine) + "…"},
		{"\xff\xfe" + strings.Repeat("x", maxLine), "\ufffd\ufffd" + strings.Repeat("x", maxLine-2) + "…"},
		{"\xff", `\xff`},
	} {
		if got := oneDiffLine(c.line); got != c.want {
			t.Errorf("oneDiffLine(%q) = %q, want %q", c.line, got, c.want)
		}
	}
}
