package change_test

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mend/change"
	"mend/internal/test/storetest"
)

func partRef(part string) change.Ref {
	return change.Ref{Kind: change.KindPart, Session: "ses_1", Message: "msg_1", Part: part}
}

func image(s string) *change.Image { return &change.Image{Data: []byte(s), Mode: 0o644} }

// drawImage draws an image of a file, or nil.
func drawImage(t *rapid.T, label string) *change.Image {
	if rapid.Bool().Draw(t, label+" absent") {
		return nil
	}
	return image(rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, label))
}

// A memStore is a store in memory: the image of each record that exists.
type memStore map[change.Ref]*change.Image

func (m memStore) apply(t *rapid.T, ops []change.Op) {
	for _, o := range ops {
		if !m[o.Ref].Equal(o.Pre) {
			t.Fatalf("applying %s: holds %v, want %v", o.Ref, m[o.Ref], o.Pre)
		}
		if o.Post == nil {
			delete(m, o.Ref)
		} else {
			m[o.Ref] = o.Post
		}
	}
}

// drawOps draws a list of ops that apply to m, and applies it.
func drawOps(t *rapid.T, m memStore) []change.Op {
	var ops []change.Op
	for _, id := range []string{"prt_1", "prt_2", "prt_3", "prt_4"} {
		post := drawImage(t, id)
		if r := partRef(id); !m[r].Equal(post) {
			ops = append(ops, change.Op{Ref: r, Pre: m[r], Post: post})
		}
	}
	change.Sort(ops)
	m.apply(t, ops)
	return ops
}

// TestComposeAndInverse: merged lists of ops lead to the same records as the lists one by one, and the inverse of the
// merged list restores the records from before.
func TestComposeAndInverse(t *testing.T) {
	storetest.SampleChecks(t, "100")
	rapid.Check(t, func(t *rapid.T) {
		before, now := memStore{}, memStore{}
		drawOps(t, now)
		maps.Copy(before, now)
		var lists [][]change.Op
		for range rapid.IntRange(1, 4).Draw(t, "lists") {
			lists = append(lists, drawOps(t, now))
		}
		merged, err := change.Compose(lists...)
		if err != nil {
			t.Fatalf("Compose: %v", err)
		}
		if len(merged) > 0 {
			if err := change.Validate(merged); err != nil {
				t.Fatalf("Compose returns an invalid list: %v", err)
			}
		}
		again := memStore{}
		maps.Copy(again, before)
		again.apply(t, merged)
		if diff := cmp.Diff(now, again); diff != "" {
			t.Fatalf("after the merged ops (-want +got):\n%s", diff)
		}
		now.apply(t, change.Inverse(merged))
		if diff := cmp.Diff(before, now); diff != "" {
			t.Fatalf("after the inverse (-want +got):\n%s", diff)
		}
	})
}

// TestComposeGap: a list whose Pre differs from the Post of the list before it is a conflict.
func TestComposeGap(t *testing.T) {
	_, err := change.Compose(
		[]change.Op{{Ref: partRef("prt_1"), Pre: image("a"), Post: image("b")}},
		[]change.Op{{Ref: partRef("prt_1"), Pre: image("c"), Post: image("d")}},
	)
	var conflict *change.ConflictError
	if !errors.As(err, &conflict) || len(conflict.Conflicts) != 1 {
		t.Fatalf("Compose over a gap: %v, want one conflict", err)
	}
	if c := conflict.Conflicts[0]; !c.Post.Equal(image("b")) || !c.Now.Equal(image("c")) {
		t.Errorf("conflict = %+v, want Post b and Now c", c)
	}
}

// TestComposeDerived: two deletions of a history merge, whatever it contained, because the agent derives it again.
func TestComposeDerived(t *testing.T) {
	ref := change.Ref{Kind: change.KindHistory, Session: "ses_1"}
	ops, err := change.Compose([]change.Op{{Ref: ref, Pre: image("a")}}, []change.Op{{Ref: ref, Pre: image("b")}})
	if err != nil || len(ops) != 1 || !ops[0].Pre.Equal(image("a")) || ops[0].Post != nil {
		t.Errorf("Compose = %v, %v", ops, err)
	}
}

// TestSort: folders, messages and parts are created in this order, and deleted in the reverse order.
func TestSort(t *testing.T) {
	msg := change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: "msg_1"}
	folder := change.Ref{Kind: change.KindFolder, Session: "ses_1", Message: "msg_1"}
	ops := []change.Op{
		{Ref: folder, Pre: image("")},
		{Ref: msg, Pre: image("")},
		{Ref: partRef("prt_1"), Pre: image("")},
		{Ref: partRef("prt_2"), Post: image("")},
		{Ref: msg, Post: image("x")},
		{Ref: folder, Post: image("")},
	}
	change.Sort(ops)
	var got []string
	for _, o := range ops {
		got = append(got, o.Verb()+" "+o.Ref.Kind.String())
	}
	want := []string{"create folder", "create message", "create part", "delete part", "delete message", "delete folder"}
	if !slices.Equal(got, want) {
		t.Errorf("Sort = %v, want %v", got, want)
	}
}

func TestValidate(t *testing.T) {
	ok := change.Op{Ref: partRef("prt_1"), Post: image("a")}
	for name, ops := range map[string][]change.Op{
		"no ops":         nil,
		"no kind":        {{Post: image("a")}},
		"path as id":     {{Ref: partRef("../x"), Post: image("a")}},
		"same ref twice": {ok, ok},
		"no change":      {{Ref: partRef("prt_1"), Pre: image("a"), Post: image("a")}},
		"absent twice":   {{Ref: partRef("prt_1")}},
	} {
		if err := change.Validate(ops); !errors.Is(err, change.ErrInvalid) {
			t.Errorf("%s: Validate = %v, want ErrInvalid", name, err)
		}
	}
	if err := change.Validate([]change.Op{ok}); err != nil {
		t.Errorf("Validate(%v) = %v", ok, err)
	}
}

// TestImageEqual: an empty file exists, a nil image does not.
func TestImageEqual(t *testing.T) {
	empty := &change.Image{Data: []byte{}, Mode: 0o644}
	for _, c := range []struct {
		a, b *change.Image
		want bool
	}{
		{nil, nil, true},
		{nil, empty, false},
		{empty, &change.Image{Mode: 0o644}, true}, // nil Data of an image that exists
		{empty, &change.Image{Mode: 0o600}, false},
		{image("a"), image("a"), true},
		{image("a"), image("b"), false},
	} {
		if got := c.a.Equal(c.b); got != c.want {
			t.Errorf("%v.Equal(%v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// TestRowRoundTrip: an encoded row is decoded to the same row, with columns of every class.
func TestRowRoundTrip(t *testing.T) {
	storetest.SampleChecks(t, "100")
	rapid.Check(t, func(t *rapid.T) {
		r := change.Record{Ref: partRef("prt_1"), Data: rapid.SliceOf(rapid.Byte()).Draw(t, "data")}
		var cols []change.Col
		for range rapid.IntRange(0, 5).Draw(t, "cols") {
			cols = append(cols, change.Col{
				Name:  rapid.String().Draw(t, "name"),
				Class: change.Class(rapid.IntRange(1, 5).Draw(t, "class")),
				Bytes: rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"),
			})
		}
		r.Cols = change.NewCols(cols...)
		got, err := change.RowOf(r.Ref, change.ImageOf(&r))
		if err != nil {
			t.Fatalf("RowOf: %v", err)
		}
		if diff := cmp.Diff(r, got); diff != "" {
			t.Fatalf("row differs (-want +got):\n%s", diff)
		}
	})
}

func FuzzRowOf(f *testing.F) {
	f.Add([]byte{1, 0, 0})
	f.Add(change.ImageOf(&change.Record{Data: []byte("{}"), Cols: change.NewCols(change.TextCol("id", "prt_1"), change.IntCol("t", 7))}).Data)
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := change.RowOf(partRef("prt_1"), &change.Image{Data: data})
		if err != nil {
			return
		}
		again, err := change.RowOf(r.Ref, change.ImageOf(&r))
		if err != nil || !cmp.Equal(r, again) {
			t.Fatalf("a decoded row differs after its image is decoded: %v, %v, %v", r, again, err)
		}
	})
}

// records returns a sequence of records, as Diff takes it.
func records(all ...change.Record) iter.Seq[*change.Record] {
	return func(yield func(*change.Record) bool) {
		for i := range all {
			if !yield(&all[i]) {
				return
			}
		}
	}
}

// TestDiff: equal records give no op; a record that is changed, added or missing gives one.
func TestDiff(t *testing.T) {
	part := func(id, text string) change.Record {
		return change.Record{Ref: partRef(id), Mode: 0o644, Data: []byte(`{"id":"` + id + `","type":"text","text":"` + text + `"}`)}
	}
	message := change.Record{Ref: change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: "msg_1"}, Data: []byte(`{}`)}
	before := records(message, part("prt_1", "a"), part("prt_2", "b"), part("prt_3", "c"))
	if ops := change.Diff(before, records(message, part("prt_1", "a"), part("prt_2", "b"), part("prt_3", "c"))); len(ops) != 0 {
		t.Errorf("Diff of equal records = %v, want none", ops)
	}
	var got []string
	for _, o := range change.Diff(before, records(message, part("prt_2", "B"), part("prt_3", "c"), part("prt_4", "d"))) {
		got = append(got, o.Verb()+" "+o.Ref.String())
	}
	want := []string{"change msg_1/prt_2", "create msg_1/prt_4", "delete msg_1/prt_1"}
	if !slices.Equal(got, want) {
		t.Errorf("Diff = %v, want %v", got, want)
	}
}

// TestDiffTouchesRows: a changed row gets a later time_updated, unless the edit has set it.
func TestDiffTouchesRows(t *testing.T) {
	row := func(text string, updated int64) iter.Seq[*change.Record] {
		return records(change.Record{
			Ref: partRef("prt_1"), Data: []byte(text), Cols: change.NewCols(change.TextCol("id", "prt_1"), change.IntCol("time_updated", updated)),
		})
	}
	for _, c := range []struct{ before, after, want int64 }{{5, 5, 6}, {5, 9, 9}, {6, 5, 5}} {
		ops := change.Diff(row(`{"a":1}`, c.before), row(`{"a":2}`, c.after))
		r, err := change.RowOf(partRef("prt_1"), ops[0].Post)
		if err != nil {
			t.Fatal(err)
		}
		col, _ := r.Col("time_updated")
		if got, _ := col.Int(); got != c.want {
			t.Errorf("time_updated %d, edited to %d, became %d, want %d", c.before, c.after, got, c.want)
		}
	}
}
