package atomicfile

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestReportsErrors(t *testing.T) {
	for release, want := range map[string]bool{
		"4.18.0-553.el8": false, "5.7.19": false, "5.8.0": true, "5.15.0-91-generic": true, "6.18.44-fc": true, "10.0": true, "": false, "strange": false,
	} {
		if got := reportsErrors(release); got != want {
			t.Errorf("reportsErrors(%q) = %t, want %t", release, got, want)
		}
	}
}

// TestTrusted checks file systems that any Linux has: one on which syncfs is trusted, and
// one on which it is not.
func TestTrusted(t *testing.T) {
	for dir, magic := range map[string]int64{"/dev/shm": unix.TMPFS_MAGIC, "/proc": unix.PROC_SUPER_MAGIC} {
		var st unix.Statfs_t
		if err := unix.Statfs(dir, &st); err != nil || int64(st.Type) != magic {
			t.Logf("%s is of the type %#x, %v", dir, st.Type, err)
			continue
		}
		f, err := os.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		syncAll, _ := fileSystemSync(f)
		if got, want := syncAll != nil, magic == unix.TMPFS_MAGIC; got != want {
			t.Errorf("%s: synced as a whole: %t, want %t", dir, got, want)
		}
		if syncAll == nil {
			continue
		}
		if err := syncAll(); err != nil {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
