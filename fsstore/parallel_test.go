package fsstore

import (
	"errors"
	"sync/atomic"
	"testing"

	"mend/internal/safedir"
)

func TestForEach(t *testing.T) {
	bad := errors.New("bad")
	for _, n := range []int{0, 1, minShare, 2*minShare - 1, 10 * minShare} {
		calls := make([]atomic.Int32, n)
		err := forEach(n, func(_ *safedir.Buffer, i int) error {
			calls[i].Add(1)
			return nil
		})
		for i := range calls {
			if calls[i].Load() != 1 || err != nil {
				t.Fatalf("forEach(%d) called for %d %d times, %v", n, i, calls[i].Load(), err)
			}
		}
		var after atomic.Int32
		err = forEach(n, func(_ *safedir.Buffer, i int) error {
			after.Add(1)
			return bad
		})
		if most := int32(max(1, n/minShare)); n > 0 && !errors.Is(err, bad) || after.Load() > most {
			t.Errorf("forEach(%d) = %v after %d failures, want at most %d", n, err, after.Load(), most)
		}
	}
}
