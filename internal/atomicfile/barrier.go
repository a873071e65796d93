package atomicfile

import (
	"errors"
	"os"
	"sync"
)

// A Barrier makes what was written durable: files and folders are handed to
// [Barrier.Add], and when [Barrier.Wait] has returned nil the disk has them.
// Make one with [NewBarrier], before the first write that it shall cover.
//
// It syncs each file by the descriptor that wrote it, several at once, since a
// descriptor that was opened later may not hear of a failed write-back. One call
// of syncfs(2) for all of them would replace the workers here, and nothing
// outside this file.
type Barrier struct {
	queue chan *os.File
	done  sync.WaitGroup

	mu  sync.Mutex
	err error
}

// syncWorkers bounds the descriptors that a barrier holds. Flushes of several
// files share their wait for the disk; beyond some sixteen that gains little.
const syncWorkers = 16

// NewBarrier returns a barrier that covers nothing yet. Wait must be called.
func NewBarrier() *Barrier {
	b := &Barrier{queue: make(chan *os.File)}
	for range syncWorkers {
		b.done.Go(b.work)
	}
	return b
}

// Add puts the file, or the folder, behind the barrier and closes it.
func (b *Barrier) Add(f *os.File) {
	b.queue <- f
}

// Wait returns when everything that was added is durable. An error means that
// nothing is known about any of it: no sync may be tried again, since the second
// one would report success for data that is lost. Look, and write anew.
func (b *Barrier) Wait() error {
	close(b.queue)
	b.done.Wait()
	return b.err
}

func (b *Barrier) work() {
	for f := range b.queue {
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			b.fail(err)
		}
	}
}

// fail keeps the first error: one is enough to distrust all.
func (b *Barrier) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
	}
}
