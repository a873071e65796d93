package fsstore

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A shelf knows the ids that were owned, in whatever order that was.
func TestShelfOwn(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 200 {
		k := &shelf{owned: make([]bool, n)}
		for i := range n {
			k.ids = append(k.ids, fmt.Sprintf("msg_%03d", 2*i)) // the odd ones are missing
		}
		want := make([]bool, n)
		for range 1 + r.IntN(5) { // sessions
			for at := r.IntN(2*n + 3); at < 2*n+3; at += 1 + r.IntN(1+r.IntN(40)) {
				k.own(fmt.Sprintf("msg_%03d", at))
				if at%2 == 0 && at/2 < n {
					want[at/2] = true
				}
			}
		}
		if !slices.Equal(k.owned, want) {
			t.Fatalf("of %d ids owned are %v, want %v", n, k.owned, want)
		}
	}
}
