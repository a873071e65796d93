package mend

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
)

// TestMapOrdered: the results have the order of the values.
func TestMapOrdered(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100} {
		var want []int
		for i := range n {
			want = append(want, i)
		}
		got := slices.Collect(mapOrdered(t.Context(), want, func(_ context.Context, i int) int {
			for range (n - i) % 7 { // later values tend to be finished first
				runtime.Gosched()
			}
			return i
		}))
		if !slices.Equal(got, want) {
			t.Errorf("mapOrdered(%d values) = %v", n, got)
		}
	}
}

// TestMapOrderedStops: when the caller stops reading or the context ends, no more calls start, and none is left
// running.
func TestMapOrderedStops(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	rows := []struct {
		name  string
		ctx   context.Context
		take  int
		limit int32
	}{
		{"the caller stops", t.Context(), 3, int32(3 + runtime.GOMAXPROCS(0)*(resultsAhead+2))},
		{"the context ended before", ended, 1000, int32(runtime.GOMAXPROCS(0) * (resultsAhead + 2))},
	}
	for _, r := range rows {
		var began, running atomic.Int32
		taken := 0
		for range mapOrdered(r.ctx, make([]int, 1000), func(context.Context, int) int {
			began.Add(1)
			running.Add(1)
			defer running.Add(-1)
			runtime.Gosched()
			return 0
		}) {
			if taken++; taken == r.take {
				break
			}
		}
		if n := began.Load(); n > r.limit || running.Load() != 0 {
			t.Errorf("%s: %d of 1000 calls were begun, want at most %d; %d still run, want 0", r.name, n, r.limit, running.Load())
		}
	}
}
