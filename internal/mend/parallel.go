package mend

import (
	"context"
	"iter"
	"runtime"
	"sync"
)

// resultsAhead is how many results for each worker may wait for an earlier one.
const resultsAhead = 8

// mapOrdered calls f for each item, on as many workers as there are processors, and
// yields the results in the order of items. The first worker calls side before its
// first item. The sequence ends early when ctx does. When it has ended, no call of
// f or side is left.
func mapOrdered[T, R any](ctx context.Context, items []T, f func(context.Context, T) R, side func(context.Context)) iter.Seq[R] {
	return func(yield func(R) bool) {
		ctx, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		for result := range startWorkers(ctx, &wg, items, f, side) {
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

// startWorkers starts the calls, and sends for each item the channel on which its
// result will be sent. When ctx ends it starts no more.
func startWorkers[T, R any](ctx context.Context, wg *sync.WaitGroup, items []T, f func(context.Context, T) R, side func(context.Context)) <-chan chan R {
	type call struct {
		item   T
		result chan R
	}
	workers := min(runtime.GOMAXPROCS(0), len(items))
	calls := make(chan call)
	results := make(chan chan R, workers*resultsAhead)
	for i := range workers {
		wg.Go(func() {
			if i == 0 {
				side(ctx)
			}
			for c := range calls {
				c.result <- f(ctx, c.item)
				runtime.Gosched() // let the reader run before the next call
			}
		})
	}
	wg.Go(func() {
		defer close(calls)
		defer close(results)
		for _, item := range items {
			c := call{item, make(chan R, 1)}
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
