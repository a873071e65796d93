package atomicfile

import (
	"errors"
	"os"
	"sync"
)

// A Barrier makes what was written durable: files and folders are handed to
// [Barrier.Add], and when [Barrier.Wait] has returned nil the disk has them.
//
// A few files are synced each for itself, by the descriptor that wrote it, all
// at once. For many the whole file system is synced by one call, where the
// system has such a call and it can be trusted there: see syncerOf.
type Barrier struct {
	syncAll func() error // nil where each file must be synced for itself
	logs    bool
	few     int // how many files are synced each for itself, if there is a choice
	held    []*os.File
	all     bool // more than a few were added: syncAll is due
	err     error
}

// few is how many files are synced each for itself: for up to so many that is
// as fast as syncing the file system, and waits for nobody else's data.
const few = 16

// NewBarrier returns a barrier that covers nothing yet, for files on the file
// system of the open folder on. That must be open since before the first write
// that the barrier shall cover, since a failed write-back is told only to
// descriptors that were open then, and stay open until Wait has returned.
func NewBarrier(on *os.File) *Barrier {
	b := &Barrier{few: few}
	b.syncAll, b.logs = syncerOf(on)
	if b.syncAll != nil && !b.logs { // each file takes several syncs: of every folder on the way
		b.few = 1
	}
	return b
}

// LogsRenames reports whether the file system has a log of what happens to names, each
// change as a whole: then a rename from one folder to another is durable as soon
// as either of them is synced.
func (b *Barrier) LogsRenames() bool { return b.logs }

// Add puts the file, or the folder, behind the barrier and closes it.
func (b *Barrier) Add(f *os.File) {
	if b.all { // the file itself needs no sync
		b.note(f.Close())
		return
	}
	b.held = append(b.held, f)
	if len(b.held) > b.few {
		b.all = b.syncAll != nil
		b.release()
	}
}

// AddMany puts n folders behind the barrier that are not open, and reports whether
// that could be done: else each must be opened and added.
func (b *Barrier) AddMany(n int) bool {
	b.all = b.syncAll != nil && (b.all || len(b.held)+n > b.few)
	return b.all
}

// Wait returns when everything that was added is durable. An error means that
// nothing is known about any of it: no sync may be tried again, since the second
// one would report success for data that is lost. Look, and write anew.
func (b *Barrier) Wait() error {
	b.release()
	if b.all && b.err == nil {
		b.err = b.syncAll()
	}
	return b.err
}

// release closes what is held, synced unless syncAll will do that. One error is
// enough to distrust all.
func (b *Barrier) release() {
	errs := make([]error, len(b.held))
	var done sync.WaitGroup
	for i, f := range b.held {
		done.Go(func() {
			if !b.all {
				errs[i] = f.Sync()
			}
			errs[i] = errors.Join(errs[i], f.Close())
		})
	}
	done.Wait()
	b.held = b.held[:0]
	for _, err := range errs {
		b.note(err)
	}
}

// note keeps the first error.
func (b *Barrier) note(err error) {
	if b.err == nil {
		b.err = err
	}
}
