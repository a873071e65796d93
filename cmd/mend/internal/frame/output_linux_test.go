package frame

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mend/internal/mend"
)

// TestCreateFileAppearsComplete: CreateFile gives a file its name only when it is complete, so that a process that is
// killed earlier leaves no file that a second attempt refuses to replace.
func TestCreateFileAppearsComplete(t *testing.T) {
	dir := t.TempDir()
	watch, err := unix.InotifyInit1(unix.IN_NONBLOCK)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(watch) }()
	if _, err := unix.InotifyAddWatch(watch, dir, unix.IN_CREATE|unix.IN_MOVED_TO); err != nil {
		t.Fatal(err)
	}
	write := func(w io.Writer) error { _, err := io.WriteString(w, "complete"); return err }
	env := &Env{Opt: mend.Options{Journal: mend.OpenJournal(t.TempDir())}}
	if err := env.CreateFile(filepath.Join(dir, "new"), write); err != nil {
		t.Fatal(err)
	}
	events := make([]byte, 4096)
	n, err := unix.Read(watch, events)
	if err != nil {
		t.Fatal(err)
	}
	for events = events[:n]; len(events) > 0; {
		mask, size := binary.NativeEndian.Uint32(events[4:]), binary.NativeEndian.Uint32(events[12:])
		name := strings.TrimRight(string(events[unix.SizeofInotifyEvent:unix.SizeofInotifyEvent+size]), "\x00")
		if events = events[unix.SizeofInotifyEvent+size:]; name == "new" && mask&unix.IN_CREATE != 0 {
			t.Error("the file had its name before it was complete")
		}
	}
	if err := env.CreateFile(filepath.Join(dir, "new"), write); err == nil {
		t.Error("CreateFile replaced a file")
	}
	if text, err := os.ReadFile(filepath.Join(dir, "new")); err != nil || string(text) != "complete" {
		t.Errorf("the file has %q, %v", text, err)
	}
}
