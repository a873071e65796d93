package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/diff"
	"pgregory.net/rapid"

	"mend/change"
)

// lines returns the text of an image.
func lines(i *change.Image) (text []byte) {
	if i != nil {
		newImageText(i).lines(func(line []byte) { text = append(text, line...) })
	}
	return text
}

// TestIndent compares with the standard library.
func TestIndent(t *testing.T) {
	for _, data := range []string{
		`{}`, `[ ]`, ` 7 `, "\t{\n}\r\n", `[[],{},[{}]]`, `{"a": {"b" : [1 , 2,"}],\\\"{:"]} , "c":null}`, `"\\\\"`, "[1,[2,[3]]]\n\n", `[-1.5e+3,true ]`,
	} {
		var want bytes.Buffer
		if err := json.Indent(&want, []byte(data), "", indent); err != nil {
			t.Fatal(err)
		}
		want.WriteByte('\n')
		if got := lines(&change.Image{Data: []byte(data)}); string(got) != want.String() {
			t.Errorf("%q is indented to %q, want %q", data, got, want.String())
		}
	}
}

// TestDiffSame compares diffs of similar texts with those of their lines.
func TestDiffSame(t *testing.T) {
	list := func(t *rapid.T, name string) *change.Image {
		kept := rapid.SliceOfN(rapid.Bool(), 60, 60).Draw(t, name)
		from, until := rapid.IntRange(0, 60).Draw(t, "from"), rapid.IntRange(0, 60).Draw(t, "until")
		var all []string
		for i, keep := range kept {
			if keep || i < from || i >= until {
				all = append(all, fmt.Sprint(i))
			}
		}
		shape := rapid.SampledFrom([]string{`{"a":[%s],"b":[{}]}`, "[%s]", "[%s] \n", "[\n%s"}).Draw(t, "shape")
		i := &change.Image{Data: fmt.Appendf(nil, shape, strings.Join(all, rapid.SampledFrom([]string{",", ", ", ",\n"}).Draw(t, "between")))}
		if rapid.Bool().Draw(t, "row") {
			i = change.ImageOf(&change.Record{Data: i.Data, Cols: change.NewCols(change.IntCol("time_updated", int64(from)))})
		}
		return i
	}
	rapid.Check(t, func(t *rapid.T) {
		pre, post := list(t, "pre"), list(t, "post")
		want := wholeDiff(pre, post)
		if d := cmp.Diff(want, diffLines(pre, post)); d != "" {
			t.Fatalf("%s\n%s\n(-want +got):\n%s", pre.Data, post.Data, d)
		}
	})
}

// wholeDiff returns the diff of all lines of both images, without windows.
func wholeDiff(pre, post *change.Image) (all []string) {
	for i, line := range strings.Split(strings.TrimSuffix(string(diff.Diff("a", lines(pre), "b", lines(post))), "\n"), "\n") {
		if i >= 3 && line != "" && !strings.HasPrefix(line, "@@") {
			all = append(all, line)
		}
	}
	return all
}

// TestDiffLong compares diffs of texts too long for one window with those of all their lines.
func TestDiffLong(t *testing.T) {
	const n = maxWindow / 8
	list := func(item func(i int) string) *change.Image {
		text := []byte("[-1")
		for i := range n {
			text = append(text, item(i)...)
		}
		return &change.Image{Data: append(text, ']')}
	}
	number := func(i int) string { return fmt.Sprint(",", i) }
	pre := list(number)
	for _, c := range []struct {
		name string
		item func(i int) string
	}{
		{"nothing", number},
		{"two lines", func(i int) string {
			if i == 7 || i == n-7 {
				return ",null"
			}
			return number(i)
		}},
		{"lines added, removed and changed", func(i int) string {
			switch i % 9001 {
			case 1:
				return number(i) + ",true"
			case 2, 300:
				return ""
			case 310:
				return ",false"
			}
			return number(i)
		}},
		{"half of the lines removed", func(i int) string {
			if i > n/4 && i < 3*n/4 {
				return ""
			}
			return number(i)
		}},
	} {
		if d := cmp.Diff(wholeDiff(pre, list(c.item)), diffLines(pre, list(c.item))); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}

	post := list(func(i int) string { return fmt.Sprint(",", -i) })
	var before, after strings.Builder
	for _, line := range diffLines(pre, post) {
		if line[0] != '+' {
			before.WriteString(line[1:] + "\n")
		}
		if line[0] != '-' {
			after.WriteString(line[1:] + "\n")
		}
	}
	if before.String() != string(lines(pre)) || after.String() != string(lines(post)) {
		t.Errorf("the diff of texts that have no line in common does not have all lines of both")
	}
}

// TestDiffLines compares the diffs of created and deleted records with diffs from and to
// nothing.
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
			want := strings.Split(strings.TrimSuffix(string(c.text), "\n"), "\n")[4:] // after the header
			if d := cmp.Diff(want, diffLines(c.pre, c.post)); d != "" {
				t.Errorf("diffLines(%v, %v) (-want +got):\n%s", c.pre, c.post, d)
			}
		}
	}
	if got := diffLines(nil, nil); len(got) > 0 {
		t.Errorf("diffLines of nothing = %q", got)
	}
}

// TestDeepLines checks that deeply nested texts are not indented.
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

func TestShortenLine(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"", ""},
		{"+\ta", `+\ta`},
		{strings.Repeat("ö", maxLine), strings.Repeat("ö", maxLine)},
		{strings.Repeat("ö", maxLine) + "x", strings.Repeat("ö", maxLine) + "…"},
		{"\xff\xfe" + strings.Repeat("x", maxLine), "\ufffd\ufffd" + strings.Repeat("x", maxLine-2) + "…"},
		{"\xff", `\xff`},
	} {
		if got := shortenLine(c.line); got != c.want {
			t.Errorf("oneDiffLine(%q) = %q, want %q", c.line, got, c.want)
		}
	}
}
