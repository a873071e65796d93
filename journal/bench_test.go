package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mend/change"
	"mend/internal/test/storetest"
)

// BenchmarkOpen opens a journal for writing, as each repair does. One that is as mend left
// it takes the same time whatever its length; one that is not is verified, in linear time.
func BenchmarkOpen(b *testing.B) {
	for _, entries := range []int{500, 1000, 2000, 4000} {
		dir := storetest.FastDir(b)
		j := mustOpen(b, dir, Options{})
		for i := range entries {
			mustCommit(b, j, scanCause(), change.Op{Ref: partRef(i), Pre: &change.Image{Data: randomBytes(uint64(i), 1000)}, Post: image("x")})
		}
		mustClose(b, j)
		for _, verified := range []bool{false, true} {
			name := map[bool]string{false: "unchanged", true: "verified"}[verified]
			b.Run(fmt.Sprintf("%s/%d", name, entries), func(b *testing.B) {
				for b.Loop() {
					if verified {
						if err := os.Truncate(filepath.Join(dir, lockName), 0); err != nil {
							b.Fatal(err)
						}
					}
					j, err := Open(dir, Options{})
					if err != nil {
						b.Fatal(err)
					}
					mustClose(b, j)
				}
			})
		}
	}
}

func BenchmarkList(b *testing.B) {
	for _, n := range []int{10, 100, 10_000} {
		b.Run(fmt.Sprintf("of-%d", n), func(b *testing.B) {
			dir := storetest.FastDir(b)
			j := mustOpen(b, dir, Options{})
			for i := range n {
				mustCommit(b, j, scanCause(), change.Op{Ref: partRef(i), Post: image(fmt.Sprint(i))})
			}
			mustClose(b, j)
			b.ResetTimer()
			for b.Loop() {
				j, err := Open(dir, Options{ReadOnly: true})
				if err != nil {
					b.Fatal(err)
				}
				all, err := j.List(Query{Limit: 20})
				if err != nil || len(all) != min(n, 20) {
					b.Fatal(len(all), err)
				}
				if err := j.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCommit(b *testing.B) {
	for _, n := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("ops-%d", n), func(b *testing.B) {
			j := mustOpen(b, b.TempDir(), Options{})
			k := 0
			for b.Loop() {
				b.StopTimer()
				ops := manyOps(n)
				for i := range ops {
					k++
					ops[i].Pre.Data = toolOutput(k)
				}
				b.StartTimer()
				mustCommit(b, j, scanCause(), ops...)
			}
		})
	}
}
