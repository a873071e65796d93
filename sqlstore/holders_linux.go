package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"mend/internal/fail"
	"mend/internal/processes"
)

// patience is how long a change of the whole file waits for other processes of mend, such as "mend watch": they do not
// use the database for long.
const patience = 10 * time.Second

// mayBeOwn reports whether all processes are mend's, by their names.
func mayBeOwn(who []string) bool {
	own, err := processes.Process(os.Getpid()).Name()
	return err == nil && !slices.ContainsFunc(who, func(name string) bool { return !strings.HasPrefix(name, own+" (") })
}

// currentHolders names the other processes that have a file of the database at path open, or a lock on it.
func currentHolders(ctx context.Context, path string) ([]string, error) {
	if who, err := openHolders(ctx, path); err != nil || len(who) > 0 {
		return who, err
	}
	return lockHolders(ctx, path) // the system hides the open files of another user's process, but not its locks
}

// openHolders names the other processes that have a file of the database at path open.
func openHolders(ctx context.Context, path string) (who []string, err error) {
	type id struct{ dev, ino uint64 }
	files := map[id]bool{}
	for _, suffix := range suffixes {
		if info, err := os.Lstat(path + suffix); err == nil {
			dev, ino := inodeOf(info)
			files[id{dev, ino}] = true
		}
	}
	others, err := processes.Others(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range others {
		folder := filepath.Join("/proc", strconv.Itoa(int(p)), "fd")
		fds, err := os.ReadDir(folder)
		if err != nil {
			continue // it has ended, or belongs to another user
		}
		for _, fd := range fds {
			info, err := os.Stat(filepath.Join(folder, fd.Name()))
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			if dev, ino := inodeOf(info); files[id{dev, ino}] {
				who = append(who, processName(p))
				break
			}
		}
	}
	return who, nil
}

// lockHolders names the other processes that have a lock on the database at path.
func lockHolders(_ context.Context, path string) (who []string, err error) {
	if held, err := isLocked(path + "-shm"); err != nil || !held {
		return nil, err
	}
	locking, err := lockingProcesses(path + "-shm")
	for _, p := range locking {
		if name := processName(p); !slices.Contains(who, name) {
			who = append(who, name)
		}
	}
	if err != nil || len(who) == 0 {
		who = []string{"another process"}
	}
	return who, nil
}

// lockingProcesses returns the processes that hold a connection's lock on the -shm at path.
func lockingProcesses(path string) ([]processes.Process, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	_, ino := inodeOf(info)
	return processes.Locking(ino, shmDMS)
}

// processName returns the name and the number of a process, for a message.
func processName(p processes.Process) string {
	if p == 0 {
		return "a process of another machine or container"
	}
	name, err := p.Name()
	if err != nil || name == "" {
		return fmt.Sprintf("process %d", p)
	}
	return fmt.Sprintf("%s (process %d)", name, p)
}

// The bytes of a database file that SQLite locks.
const lockStart, lockSize = 0x40000000, 512

// lockDatabase locks a database file against other programs, with SQLite's locks but without a connection. It does not
// change the file.
func lockDatabase(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NOFOLLOW, 0)
	if errors.Is(err, fs.ErrPermission) {
		return func() {}, nil // no program of this user can write to it
	}
	if err != nil {
		return nil, err
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK, Start: lockStart, Len: lockSize}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock)
	for began := time.Now(); err != nil && time.Since(began) < time.Second; err = unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &lock) {
		time.Sleep(tick) // perhaps a process of mend reads it
	}
	if err != nil {
		_ = f.Close()
		return nil, fail.New(fail.Refused, endProgram, "another program has locked the database")
	}
	return func() { _ = f.Close() }, nil
}

// FindsHolders reports whether [Store.Held] finds every process that has the database open. It does not see the locks of
// other machines, as on a network file system.
func (s *Store) FindsHolders() bool {
	var st unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(s.id.Root), &st); err != nil {
		return false
	}
	switch uint32(st.Type) { //nolint:gosec // a number of 32 bits, of a type that differs between processors
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.V9FS_MAGIC, unix.FUSE_SUPER_MAGIC, unix.CEPH_SUPER_MAGIC, unix.AFS_SUPER_MAGIC:
		return false
	}
	return true
}

// oldestHolder returns the start time of the oldest process that holds a connection's lock on the -shm at path; the
// beginning of 1970 if one of them is unknown.
func oldestHolder(path string) time.Time {
	unknown := time.Unix(0, 0)
	locking, err := lockingProcesses(path)
	if err != nil {
		return unknown
	}
	var since time.Time
	for _, p := range locking {
		started, err := p.StartTime()
		switch {
		case errors.Is(err, fs.ErrNotExist) && p != 0: // it has ended since
		case err != nil:
			return unknown
		case since.IsZero() || started.Before(since):
			since = started
		}
	}
	if since.IsZero() {
		return unknown
	}
	return since
}
