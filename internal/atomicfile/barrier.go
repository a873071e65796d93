package atomicfile

import (
	"cmp"
	"errors"
	"os"
	"sync"
)

// A Barrier makes files and folders durable: pass them to [Barrier.Add]; when [Barrier.Wait] has
// returned nil, they are on the disk. They are synced in parallel. The zero Barrier is ready to
// use.
//
// Add a file through the descriptor that wrote it: the system reports a failed write only to
// descriptors that were open then.
type Barrier struct {
	files []*os.File // added and not yet synced
	err   error      // the first one
}

// maxOpen is the number of files that a barrier keeps open.
const maxOpen = 16

// Add adds a file or folder to the barrier, which closes it in Wait or earlier.
func (b *Barrier) Add(f *os.File) {
	b.files = append(b.files, f)
	if len(b.files) == maxOpen {
		b.sync()
	}
}

// Wait returns when all added files are durable. After an error, assume that none of them is. Do not sync again: the
// second sync succeeds although data is lost. Check the files and write them again.
func (b *Barrier) Wait() error {
	b.sync()
	return b.err
}

// sync syncs and closes the files. It keeps the first error.
func (b *Barrier) sync() {
	errs := make([]error, len(b.files))
	var done sync.WaitGroup
	for i, f := range b.files {
		done.Go(func() { errs[i] = errors.Join(f.Sync(), f.Close()) })
	}
	done.Wait()
	b.files = b.files[:0]
	b.err = cmp.Or(b.err, errors.Join(errs...))
}
