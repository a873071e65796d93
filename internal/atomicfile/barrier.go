package atomicfile

import (
	"errors"
	"os"
	"sync"
)

// A Barrier makes files and folders durable: they are passed to [Barrier.Add], and when
// [Barrier.Wait] has returned nil, they are on the disk.
//
// A few files are synced one by one, in parallel. For many, one call syncs the whole file
// system, if the system has such a call that can be trusted there.
type Barrier struct {
	syncAll    func() error // syncs the whole file system; nil if each file must be synced
	logged     bool         // see LogsRenames
	maxFew     int          // up to so many files are synced one by one
	files      []*os.File   // added and not yet closed
	useSyncAll bool         // more than maxFew were added: Wait calls syncAll
	err        error        // the first one
}

// few is how many files are synced one by one. Up to this number that is as fast as syncing
// the file system, and does not wait for the data of other programs.
const few = 16

// NewBarrier returns a Barrier for files on the file system of the open folder dir. Open dir
// before the first write that the barrier shall cover, because the system reports a failed
// write only to descriptors that were open then. Close it after Wait has returned.
func NewBarrier(dir *os.File) *Barrier {
	b := &Barrier{maxFew: few}
	b.syncAll, b.logged = fileSystemSync(dir)
	if b.syncAll != nil && !b.logged { // without a log each file takes several syncs, of all its folders
		b.maxFew = 1
	}
	return b
}

// LogsRenames reports whether the file system logs renames in order and as a whole. Then a
// rename from one folder to another is durable when either of them was synced.
func (b *Barrier) LogsRenames() bool { return b.logged }

// Add adds a file or folder to the barrier and closes it. Its error is returned by Wait.
func (b *Barrier) Add(f *os.File) {
	if b.useSyncAll { // syncAll covers it
		b.setErr(f.Close())
		return
	}
	b.files = append(b.files, f)
	if len(b.files) > b.maxFew {
		b.useSyncAll = b.syncAll != nil
		b.closeFiles()
	}
}

// AddMany adds n folders that are not open, and reports whether that was possible. If not,
// open each and add it.
func (b *Barrier) AddMany(n int) bool {
	b.useSyncAll = b.syncAll != nil && (b.useSyncAll || len(b.files)+n > b.maxFew)
	return b.useSyncAll
}

// Wait returns when everything that was added is durable. After an error nothing is known of
// any of it. Do not sync again: the second sync would succeed although data is lost. Check
// the files and write them again.
func (b *Barrier) Wait() error {
	b.closeFiles()
	if b.useSyncAll && b.err == nil {
		b.err = b.syncAll()
	}
	return b.err
}

// closeFiles closes the files, and syncs them first unless syncAll will do that. It keeps the
// first error.
func (b *Barrier) closeFiles() {
	errs := make([]error, len(b.files))
	var done sync.WaitGroup
	for i, f := range b.files {
		done.Go(func() {
			if !b.useSyncAll {
				errs[i] = f.Sync()
			}
			errs[i] = errors.Join(errs[i], f.Close())
		})
	}
	done.Wait()
	b.files = b.files[:0]
	for _, err := range errs {
		b.setErr(err)
	}
}

// setErr keeps the first error.
func (b *Barrier) setErr(err error) {
	if b.err == nil {
		b.err = err
	}
}
