package mend

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"mend/testdata"
)

// TestRecoverSweepsWithoutJournal: if mend is killed while it builds its first change, the next recovery removes the
// build, without a journal.
func TestRecoverSweepsWithoutJournal(t *testing.T) {
	b := newScanFixture(t, testdata.OpenCode11833)
	built := filepath.Join(b.opt.Store, ".mend", "built", "ABC")
	b.must(os.MkdirAll(built, 0o700))
	b.must(os.WriteFile(filepath.Join(built, "rows.zst"), []byte("x"), 0o600))
	c, err := Open(b.opt)
	b.must(err)
	if done, err := c.Recover(t.Context(), true); err != nil || len(done) > 0 {
		t.Errorf("Recover = %v, %v", done, err)
	}
	for _, path := range []string{filepath.Join(b.opt.Store, ".mend"), b.opt.Journal.Dir} {
		if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s exists after the recovery (%v)", path, err)
		}
	}
}
