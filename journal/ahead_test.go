package journal

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"mend/change"
)

// TestAhead begins an entry after Ahead was told of it, of another one, or of this
// one before the journal changed: it is the same that Begin alone makes.
func TestAhead(t *testing.T) {
	large := []change.Op{{Ref: part(1), Pre: &change.Image{Data: noise(7, 5_000_000)}}, {Ref: part(2), Post: file("x")}}
	for _, c := range []struct {
		name      string
		told, ops []change.Op
		limit     int
		between   func(t *testing.T, j *Journal)
	}{
		{name: "the same", told: sampleOps(), ops: sampleOps()},
		{name: "with a folder more", told: sampleOps()[1:], ops: sampleOps()},
		{name: "another one", told: append(sampleOps(), change.Op{Ref: part(9), Post: file("not begun")}), ops: sampleOps()},
		{name: "another one, in small transactions", told: append(sampleOps(), change.Op{Ref: part(9), Post: file("not begun")}), ops: sampleOps(), limit: 2000},
		{name: "more than a transaction", told: large, ops: large, limit: 1 << 20},
		{name: "small transactions", told: sampleOps(), ops: sampleOps(), limit: 2000},
		{name: "another entry between", told: sampleOps(), ops: sampleOps(), between: func(t *testing.T, j *Journal) {
			mustCommit(t, j, scan(), change.Op{Ref: part(20), Post: file("between")})
		}},
		{name: "what is there goes between", told: sampleOps(), ops: sampleOps(), between: func(t *testing.T, j *Journal) {
			all, err := j.List(Query{})
			if err == nil {
				_, err = j.Forget(ctx, all)
			}
			if err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			j := mustOpen(t, fastDir(t), Options{batchSize: c.limit})
			mustCommit(t, j, scan(), sampleOps()[:3]...)
			told, _ := planOf(scan(), c.told...)
			j.Ahead(told)
			if c.between != nil {
				c.between(t, j)
			}
			e := mustCommit(t, j, scan(), c.ops...)
			got, err := j.Ops(e)
			if err != nil || len(got) != len(c.ops) {
				t.Fatalf("Ops = %d, %v, want %d", len(got), err, len(c.ops))
			}
			for i, o := range got {
				if w := c.ops[i]; o.Ref != w.Ref || !o.Pre.Equal(w.Pre) || !o.Post.Equal(w.Post) {
					t.Errorf("op %d = %v, want %v", i, o, w)
				}
			}
			mustVerify(t, j)
		})
	}
}

// TestAheadWritesNothing looks at the file after Ahead, and at another Open.
func TestAheadWritesNothing(t *testing.T) {
	dir := fastDir(t)
	j := mustOpen(t, dir, Options{})
	fill(t, j)
	before, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := planOf(scan(), change.Op{Ref: part(1), Post: &change.Image{Data: noise(3, 100_000)}})
	j.Ahead(p)
	mustClose(t, j)
	after, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the journal has %d bytes, %v, want the %d of before", len(after), err, len(before))
	}
	mustVerify(t, mustOpen(t, dir, Options{}))
}
