package fsstore

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"

	"mend/internal/safedir"
)

// minShare is the number of items above which one more goroutine makes forEach faster.
const minShare = 64

// forEach calls do for each i below n: in order, or on several goroutines if n is large. A
// call may use the buffer until it returns. After a call has failed, no call is started.
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
