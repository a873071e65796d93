package show

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/change"
)

// TestDiff: a diff names each member that differs, and shortens long values.
func TestDiff(t *testing.T) {
	const much = 1 << 20
	long := strings.Repeat("x", much)
	object := func(members string) *change.Image {
		return &change.Image{Data: []byte(`{"pad":"` + long + `",` + members + `}`)}
	}
	row := func(members string, at int64) *change.Image {
		return change.ImageOf(&change.Record{Data: object(members).Data, Cols: change.NewCols(change.IntCol("time_updated", at))})
	}
	cut := strings.Repeat("x", maxValue)
	const same = " no value shown here differs: the white space, the nesting, a type or binary data does"
	for _, c := range []struct {
		name      string
		pre, post *change.Image
		want      []string
	}{
		{"a member", object(`"a":{"b":1,"c":2}`), object(`"a":{"b":1,"c":"3"}`), []string{"-a.c: 2", `+a.c: "3"`}},
		{"members added and removed", object(`"a":[]`), object(`"b":{"c":[true,{}]}`), []string{"-a: []", "+b.c[]: true", "+b.c[]: {}"}},
		{"another type", object(`"a":[7]`), object(`"a":null`), []string{"-a[]: 7", "+a: null"}},
		{"elements removed", object(`"a":[1,2,3,2]`), object(`"a":[1,3]`), []string{"-a[]: 2", "-a[]: 2"}},
		{"elements changed and added", object(`"a":[{"t":1},5,6]`), object(`"a":[{"t":2},5,7,6,8]`), []string{"-a[].t: 1", "+a[].t: 2", "+a[]: 7", "+a[]: 8"}},
		{"another order", object(`"a":[1,2]`), object(`"a":[2,1]`), []string{"+a[]: 2", "-a[]: 2"}},
		{"white space", object(`"a":1,"b":2`), object(`"a":1, "b":2`), []string{same}},
		{"nesting", object(`"a":[{"b":1},{"c":2}]`), object(`"a":[{"b":1,"c":2}]`), []string{same}},
		{"binary data of one size", &change.Image{Data: []byte("\x00a")}, &change.Image{Data: []byte("\x00b")}, []string{same}},
		{"members in another order", object(`"a":1,"b":2`), object(`"b":2,"a":1`), []string{"+b: 2", "-b: 2"}},
		{"equal", object(`"a":1`), object(`"a":1`), nil},
		{"mode", object(`"a":1`), &change.Image{Data: object(`"a":1`).Data, Mode: 0o600}, []string{"-mode: ----------", "+mode: -rw-------"}},
		{"the end of a long text", object(`"a":"` + long + `1"`), object(`"a":"` + long + `2"`), []string{
			"-a: …" + strings.Repeat("x", maxValue/4) + `1"`, "+a: …" + strings.Repeat("x", maxValue/4) + `2"`,
		}},
		{"created", nil, object(`"a":[1,{"b":"c"}]`), []string{`+pad: "` + cut[1:] + "…", "+a[]: 1", `+a[].b: "c"`}},
		{"deleted", object(`"a":1`), nil, []string{`-pad: "` + cut[1:] + "…", "-a: 1"}},
		{"a column", row(`"a":1`, 5), row(`"a":2`, 6), []string{"-a: 1", "+a: 2", "-time_updated: 5", "+time_updated: 6"}},
		{"no JSON", &change.Image{Data: []byte(long + "\n1")}, &change.Image{Data: []byte(long + "\n2")}, []string{
			"-…" + strings.Repeat("x", maxValue/4-1) + " 1", "+…" + strings.Repeat("x", maxValue/4-1) + " 2",
		}},
		{"no text", &change.Image{Data: []byte(long + "\x00")}, &change.Image{Data: []byte(long + long + "\x00")}, []string{"-(1.0 MiB of binary data)", "+(2.0 MiB of binary data)"}},
	} {
		if d := cmp.Diff(c.want, diffLines(c.pre, c.post)); d != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, d)
		}
	}
}

// TestDiffOtherList: the diff of long lists without a common element has one line for each element.
func TestDiffOtherList(t *testing.T) {
	list := func(n, from int) *change.Image {
		text := []byte("[-1")
		for i := range n {
			text = fmt.Appendf(text, ",%d", from+i)
		}
		return &change.Image{Data: append(text, ']')}
	}
	const n = 1 << 17
	for _, c := range []struct{ pre, post, want int }{{n, n, 2 * n}, {n, n + 100, 2*n + 100}, {n + 100, n, 2*n + 100}, {n, 1, n + 1}} {
		if got := len(diffLines(list(c.pre, 1_000_000), list(c.post, 2_000_000))); got != c.want {
			t.Errorf("%d elements, then %d others: %d lines, want %d", c.pre, c.post, got, c.want)
		}
	}
}

// TestDiffHostile: the lines of a diff are short even for deep nesting, whose paths are many times longer than the
// text.
func TestDiffHostile(t *testing.T) {
	const depth = 9_000
	nested := strings.Repeat("[", depth) + strings.Repeat("[],", 300_000) + "1" + strings.Repeat("]", depth)
	for _, data := range []string{nested, strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000) + " "} {
		got := diffLines(&change.Image{Data: []byte(data)}, &change.Image{Data: []byte(data + " ")})
		if len(got) > 2 {
			t.Errorf("%.20s: %d lines, first %.80q", data, len(got), got[0])
		}
	}
	for _, line := range diffLines(nil, &change.Image{Data: []byte(nested)}) {
		if len(line) > 5*maxValue {
			t.Fatalf("a line of %d bytes: %.80q", len(line), line)
		}
	}
}

// TestLeafText: a value is cut after maxValue characters, and invalid UTF-8 is replaced.
func TestLeafText(t *testing.T) {
	for _, c := range []struct{ value, want string }{
		{"", ""},
		{strings.Repeat("ö", maxValue), strings.Repeat("ö", maxValue)},
		{strings.Repeat("😀", maxValue), strings.Repeat("😀", maxValue)},
		{strings.Repeat("ö", maxValue) + "x", strings.Repeat("ö", maxValue) + "…"},
		{strings.Repeat("😀", maxValue) + "x", strings.Repeat("😀", maxValue) + "…"},
		{"\xff\xfe" + strings.Repeat("x", maxValue), "\ufffd\ufffd" + strings.Repeat("x", maxValue-2) + "…"},
	} {
		if got := (leaf{value: []byte(c.value)}).text(); got != c.want {
			t.Errorf("the text of %q is %q, want %q", c.value, got, c.want)
		}
	}
}
