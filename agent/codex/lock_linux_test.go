package codex

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mend/agent"
)

// TestBusyWithoutProcess: the reason for a lock that the system attributes to no process, as a lock of another
// container, does not name process 0.
func TestBusyWithoutProcess(t *testing.T) {
	root := t.TempDir()
	file := filepath.Join(root, locks, "x.lock")
	for _, dir := range []string{filepath.Join(root, "sessions"), filepath.Dir(file)} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	st, err := Agent{}.Open(agent.Located{Path: root}, nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil { // a lock of the open file
		t.Fatal(err)
	}
	if why := st.(*store).whyBusy("x"); why == "" || strings.Contains(why, "process 0") {
		t.Errorf("whyBusy = %q", why)
	}
}
