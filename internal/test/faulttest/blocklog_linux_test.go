package faulttest_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"

	gofs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// A blockLog is a disk that records all writes and flushes: a file in a FUSE file system, with a loop device. Every write and
// flush of the file system on the disk is a call of FUSE.
type blockLog struct {
	gofs.Inode
	file *os.File

	mu     sync.Mutex
	events []blockEvent
}

// A blockEvent is a write, or a flush, which has no data.
type blockEvent struct {
	at   int64
	data []byte
}

var (
	_ gofs.NodeOpener    = (*blockLog)(nil)
	_ gofs.NodeGetattrer = (*blockLog)(nil)
	_ gofs.NodeReader    = (*blockLog)(nil)
	_ gofs.NodeWriter    = (*blockLog)(nil)
	_ gofs.NodeFsyncer   = (*blockLog)(nil)
)

// Open disables the page cache of the file.
func (l *blockLog) Open(context.Context, uint32) (gofs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

// Getattr returns the size.
func (l *blockLog) Getattr(_ context.Context, _ gofs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	info, err := l.file.Stat()
	if err == nil {
		out.Mode, out.Size = syscall.S_IFREG|0o600, uint64(info.Size())
	}
	return gofs.ToErrno(err)
}

func (l *blockLog) Read(_ context.Context, _ gofs.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n, _ := l.file.ReadAt(dest, off) // short at the end of the disk
	return fuse.ReadResultData(dest[:n]), 0
}

func (l *blockLog) Write(_ context.Context, _ gofs.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, blockEvent{off, append([]byte{}, data...)})
	n, err := l.file.WriteAt(data, off)
	return uint32(n), gofs.ToErrno(err)
}

// Fsync is the flush of the disk.
func (l *blockLog) Fsync(context.Context, gofs.FileHandle, uint32) syscall.Errno {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, blockEvent{})
	return 0
}

// len returns the number of events so far.
func (l *blockLog) len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.events)
}

// eventsAfter returns the events after the first n.
func (l *blockLog) eventsAfter(n int) []blockEvent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.events[n:])
}

// newLoggedDisk creates a disk with a log and mounts it. It skips the test if that is impossible.
func newLoggedDisk(t *testing.T, fs filesystem) (*disk, *blockLog) {
	t.Helper()
	d := newDisk(t, fs)
	if err := d.off(); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(d.image, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	l, dir := &blockLog{file: file}, t.TempDir()
	root := &gofs.Inode{}
	server, err := gofs.Mount(dir, root, &gofs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, MaxWrite: 1 << 20},
		OnAdd: func(ctx context.Context) {
			root.AddChild("disk", root.NewPersistentInode(ctx, l, gofs.StableAttr{Mode: syscall.S_IFREG}), true)
		},
	})
	if err != nil {
		t.Skipf("mounting by FUSE: %v", err)
	}
	t.Cleanup(func() { _ = server.Unmount() })
	d.image = filepath.Join(dir, "disk")
	if err := d.on(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.off() }) // before the server ends
	return d, l
}

// A crasher creates disks as a power cut leaves them: with the content at the last flush and a random part of the later
// writes.
type crasher struct {
	rng    *rand.Rand
	before string // a disk without the events
	events []blockEvent
}

// cut creates the image of a disk after a power cut between the events k and k+1.
func (c *crasher) cut(k int, image string) error {
	flush := k
	for flush > 0 && c.events[flush-1].data != nil {
		flush--
	}
	if err := copyDisk(c.before, image); err != nil {
		return err
	}
	f, err := os.OpenFile(image, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	for _, e := range slices.Concat(c.events[:flush], c.survivors(c.events[flush:k])) {
		if _, err := f.WriteAt(e.data, e.at); err != nil {
			return errors.Join(err, f.Close())
		}
	}
	return f.Close()
}

// survivors returns the writes that reached the disk: a random subset. The last of them may have only some of its sectors.
func (c *crasher) survivors(writes []blockEvent) []blockEvent {
	chance := []float64{0, 1, c.rng.Float64(), c.rng.Float64()}[c.rng.IntN(4)]
	var kept []blockEvent
	for _, w := range writes {
		if c.rng.Float64() < chance {
			kept = append(kept, w)
		}
	}
	const sector = 512
	if n := len(kept); n > 0 && c.rng.IntN(2) == 0 {
		last := &kept[n-1]
		last.data = last.data[:sector*c.rng.IntN(len(last.data)/sector)]
	}
	return kept
}

// copyDisk copies an image, keeping its holes.
func copyDisk(from, to string) error {
	if out, err := exec.Command("cp", "--sparse=always", from, to).CombinedOutput(); err != nil {
		return fmt.Errorf("copying a disk: %w\n%s", err, out)
	}
	return nil
}
