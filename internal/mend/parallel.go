package mend

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// resultsAhead is how many results per worker may wait for an earlier one.
const resultsAhead = 8

// mapOrdered calls f for each item, in as many goroutines as there are processors, and yields the results in
// the order of items. The sequence ends early when ctx does. When it has ended, no call of f is running.
func mapOrdered[T, R any](ctx context.Context, items []T, f func(context.Context, T) R) iter.Seq[R] {
	return func(yield func(R) bool) {
		ctx, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		var workers errgroup.Group
		workers.SetLimit(runtime.GOMAXPROCS(0))
		results := make(chan chan R, runtime.GOMAXPROCS(0)*resultsAhead) // for each item, the channel of its result
		wg.Go(func() {
			defer func() { _ = workers.Wait() }()
			defer close(results)
			for _, item := range items {
				result := make(chan R, 1)
				select {
				case results <- result:
				case <-ctx.Done():
					return
				}
				workers.Go(func() error {
					result <- f(ctx, item)
					return nil
				})
			}
		})
		for result := range results {
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
