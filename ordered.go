package mend

import (
	"context"
	"iter"
	"runtime"
	"sync"
)

// lookAhead is how many results may wait for an earlier one, for each that is
// being made.
const lookAhead = 8

// ordered calls f for each of all, as many at a time as there are processors, and
// yields the results in the order of all. Whoever is first calls besides before,
// unless it is nil. The sequence ends early when ctx does. When it has ended no call
// of f or besides is left.
func ordered[T, R any](ctx context.Context, all []T, f func(context.Context, T) R, besides func(context.Context)) iter.Seq[R] {
	return func(yield func(R) bool) {
		ctx, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		for result := range started(ctx, &wg, all, f, besides) {
			select {
			case r := <-result:
				if ctx.Err() != nil || !yield(r) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

// started begins the calls, and sends for each the channel on which its result
// will come. Once ctx ends it begins no more.
func started[T, R any](ctx context.Context, wg *sync.WaitGroup, all []T, f func(context.Context, T) R, besides func(context.Context)) <-chan chan R {
	type call struct {
		of     T
		result chan R
	}
	workers := min(runtime.GOMAXPROCS(0), len(all))
	calls := make(chan call)
	results := make(chan chan R, workers*lookAhead)
	for i := range workers {
		wg.Go(func() {
			if i == 0 && besides != nil {
				besides(ctx)
			}
			for c := range calls {
				c.result <- f(ctx, c.of)
				runtime.Gosched() // who waits for the result comes before the next call
			}
		})
	}
	wg.Go(func() {
		defer close(calls)
		defer close(results)
		for _, of := range all {
			c := call{of, make(chan R, 1)}
			select {
			case results <- c.result:
			case <-ctx.Done():
				return
			}
			select {
			case calls <- c:
			case <-ctx.Done():
				return
			}
		}
	})
	return results
}
