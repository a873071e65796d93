package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"mend/change"
)

// BenchmarkOpen opens a journal for writing, as each repair does: one that is as mend
// left it, which takes the same however long it is, and one that is not and is
// verified, which is linear in its length.
func BenchmarkOpen(b *testing.B) {
	for _, entries := range []int{500, 1000, 2000, 4000} {
		dir := fastDir(b)
		j := mustOpen(b, dir, Options{})
		for i := range entries {
			mustCommit(b, j, scan(), change.Op{Ref: part(i), Pre: &change.Image{Data: noise(uint64(i), 1000)}, Post: file("x")})
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
