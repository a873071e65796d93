package fsstore

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"mend/internal/safedir"
)

// worthwhile is how many items it takes that one more goroutine does them sooner.
const minShare = 64

// forEach calls do for each number below n: in order, or where there are many several
// at a time. Each call has the buffer to itself until it returns. No call is begun
// after one has failed.
func forEach(n int, do func(b *safedir.Buffer, i int) error) error {
	errs := make([]error, max(1, min(runtime.GOMAXPROCS(0), n/minShare)))
	var next atomic.Int64
	var failed atomic.Bool
	work := func(worker int) {
		b := new(safedir.Buffer)
		for i := int(next.Add(1)) - 1; i < n && !failed.Load(); i = int(next.Add(1)) - 1 {
			if errs[worker] = do(b, i); errs[worker] != nil {
				failed.Store(true)
				return
			}
		}
	}
	var others sync.WaitGroup
	for w := range errs[1:] {
		others.Go(func() { work(w + 1) })
	}
	work(0)
	others.Wait()
	return errors.Join(errs...)
}
