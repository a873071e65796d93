package codex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"mend/change"
	"mend/internal/ownfile"
	"mend/internal/processes"
)

// locks is the folder with a file for each session. Codex locks the file while it has the session open.
const locks = "thread-writer-locks"

// coordination is the lock that Codex holds while it takes or removes a session's lock.
const coordination = ".coordination.lock"

// whyBusy returns why a session must not be changed now: a process holds its lock. If the system can list locks,
// whyBusy takes no lock, which could block a Codex that is starting.
func (s *store) whyBusy(id string) string {
	file := filepath.Join(s.ID().Root, locks, id+".lock")
	e, err := s.OpenAt(file)
	if err != nil {
		return ""
	}
	e.Dir.Close()
	if !e.IsFile() {
		return ""
	}
	held, err := processes.Locking(e.Ino, 0)
	if err != nil {
		l, err := ownfile.Acquire(file, os.O_RDWR, true, 0)
		if err == nil {
			_ = l.Close() // nothing was written
		}
		if errors.Is(err, ownfile.ErrLocked) {
			held = append(held, 0)
		}
	}
	if len(held) == 0 {
		return ""
	}
	holder := "in a process of another machine, container or user"
	if held[0] != 0 {
		holder = fmt.Sprintf("as process %d", held[0])
	}
	return fmt.Sprintf("Codex has it open %s; end that first", holder)
}

// lock takes the lock of a session as Codex does, and returns a function that releases it. The error wraps
// [change.ErrInUse] if another process holds it.
func (s *store) lock(id string) (unlock func(), err error) {
	folder := filepath.Join(s.ID().Root, locks)
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	coordinate := func() (*ownfile.Lock, error) {
		return ownfile.Acquire(filepath.Join(folder, coordination), os.O_RDWR|os.O_CREATE, false, 5*time.Second)
	}
	outer, err := coordinate()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", change.ErrInUse, err)
	}
	defer func() { _ = outer.Close() }() // nothing is written to a lock
	file := filepath.Join(folder, id+".lock")
	l, err := ownfile.Acquire(file, os.O_RDWR|os.O_CREATE, false, 0)
	if errors.Is(err, ownfile.ErrLocked) {
		return nil, fmt.Errorf("%w: Codex has session %s open", change.ErrInUse, id)
	}
	return func() {
		outer, err := coordinate()
		_ = l.Close()
		if err == nil { // otherwise the file stays, as it does after a process was killed
			_ = os.Remove(file) // no process can hold it: taking it requires the coordination lock
			_ = outer.Close()
		}
	}, err
}
