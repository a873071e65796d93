package faulttest_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mend/internal/test/faulttest"
)

// A filesystem is a type of file system for a disk.
type filesystem struct {
	name, mkfs string
	options    string // of mount
	size       int64
	flags      []string
}

var (
	// With auto_da_alloc ext4 would sync a renamed file.
	ext4 = filesystem{"ext4", "mkfs.ext4", "noauto_da_alloc", 64 << 20, []string{"-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"}}
	// xfs has a minimum size.
	xfs          = filesystem{"xfs", "mkfs.xfs", "", 320 << 20, []string{"-q", "-f"}}
	ext4Defaults = filesystem{"ext4, default options", "mkfs.ext4", "", 64 << 20, ext4.flags}
)

// A disk is a separate file system with simulated power cuts.
type disk struct {
	*testing.T
	filesystem
	image, mount string
}

// newDisk creates a disk and mounts it. It skips the test if that is impossible.
func newDisk(t *testing.T, fs filesystem) *disk {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("power cuts need root, to mount file systems")
	}
	mkfs, err := exec.LookPath(fs.mkfs)
	if err != nil {
		t.Skip(err)
	}
	dir := fastDir(t)
	d := &disk{T: t, filesystem: fs, image: filepath.Join(dir, "image"), mount: filepath.Join(dir, "mount")}
	if err := os.Mkdir(d.mount, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.image, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(d.image, fs.size); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(mkfs, append(fs.flags, d.image)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", fs.mkfs, err, out)
	}
	if err := d.on(); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = d.off() })
	return d
}

// on mounts the disk on a new loop device, which has no cached data. The device ends with the mount.
func (d *disk) on() error {
	loop, err := attach(d.image)
	if err == nil {
		kind := strings.TrimPrefix(d.mkfs, "mkfs.")
		err = errors.Join(unix.Mount(loop.Name(), d.mount, kind, 0, d.options), loop.Close())
	}
	if err != nil {
		return fmt.Errorf("mounting %s: %w", d.name, err)
	}
	return nil
}

// attach creates a loop device for the file. The device ends when it is neither open nor mounted.
func attach(image string) (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	file, err := os.OpenFile(image, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	config := unix.LoopConfig{Fd: uint32(file.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}}
	for {
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, err
		}
		loop, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &config)
		if err == nil {
			return loop, nil
		}
		loop.Close()
		if !errors.Is(err, unix.EBUSY) { // another process has taken the device
			return nil, err
		}
	}
}

// off unmounts the disk. It waits for the kernel to end processes with open files on the disk.
func (d *disk) off() error {
	var err error
	for range 100 {
		if err = unix.Unmount(d.mount, 0); !errors.Is(err, unix.EBUSY) {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return err
}

// sync makes the content of the disk durable.
func (d *disk) sync() {
	d.Helper()
	f, err := os.Open(d.mount)
	if err == nil {
		err = unix.Syncfs(int(f.Fd()))
		f.Close()
	}
	if err != nil {
		d.Fatalf("syncing %s: %v", d.name, err)
	}
}

// A loss is the extent of a power cut.
type loss uint32

// The values are from the kernel's FS_IOC_SHUTDOWN.
const (
	lostData loss = 1 // names and sizes are on the disk, file contents may not be
	lostAll  loss = 2 // everything that was not synced
)

const ioctlShutdown = 0x8004587D

// cut cuts the power: the disk can be neither read nor written until restart.
func (d *disk) cut(l loss) {
	f, err := os.Open(d.mount)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(f.Fd()), ioctlShutdown, int(l))
		f.Close()
	}
	if err != nil {
		d.Errorf("cutting the power of %s: %v", d.name, err)
	}
}

// restart restores the disk's power.
func (d *disk) restart() {
	d.Helper()
	err := d.off()
	if err == nil {
		err = d.on()
	}
	if err != nil {
		d.Fatalf("%s after a power cut: %v", d.name, err)
	}
}

// powerCut returns a fault that cuts the power while a call waits.
func powerCut(l loss) sweepFault {
	name := map[loss]string{lostData: "power cut, data lost", lostAll: "power cut, all lost"}[l]
	return sweepFault{name, func(sb *sandbox, _ int) faulttest.Fault {
		return faulttest.Fault{Action: faulttest.Kill, Frozen: func(faulttest.Call) { sb.disk.cut(l) }}
	}}
}

// powerCuts alternates between both kinds.
var powerCuts = sweepFault{"power cut", func(sb *sandbox, k int) faulttest.Fault {
	return powerCut([]loss{lostAll, lostData}[k%2]).fault(sb, k)
}}

func filesystems() []filesystem {
	if level() == "torture" {
		return []filesystem{ext4, ext4Defaults, xfs}
	}
	return []filesystem{ext4, xfs}
}

func losses() []sweepFault {
	if level() == "torture" {
		return []sweepFault{powerCut(lostData), powerCut(lostAll)}
	}
	return []sweepFault{powerCuts}
}

// powerCutVerbs returns the verbs that are tested with power cuts.
func powerCutVerbs(k kind) []scenario {
	list := append(recoveries(k), repairFirst(k), undo(k))
	if k == tree {
		return append(list, repairMany())
	}
	return append(list, besideWal(k))
}

// eachPowered runs a test of power cuts on every file system with every verb.
func eachPowered(t *testing.T, test func(*testing.T, filesystem, scenario)) {
	t.Helper()
	needLevel(t)
	for _, fs := range filesystems() {
		for _, s := range append(powerCutVerbs(tree), powerCutVerbs(sqlite)...) {
			t.Run(fmt.Sprintf("%s/%s/%s", fs.name, s.kind, s.name), func(t *testing.T) {
				t.Parallel()
				test(t, fs, s)
			})
		}
	}
}

// TestPowerCutAtEveryCall: after a power cut at any call, even of a recovery, reported changes are made, and the store is
// consistent.
func TestPowerCutAtEveryCall(t *testing.T) {
	eachPowered(t, func(t *testing.T, fs filesystem, s scenario) {
		sb := newSandbox(t, newDisk(t, fs), built, s)
		for _, p := range losses() {
			t.Run(p.name, func(t *testing.T) { report(t, sb.subtest(t).sweep(p)) })
		}
	})
}
