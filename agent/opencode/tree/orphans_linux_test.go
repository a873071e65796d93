package tree

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"mend/change"
	"mend/internal/test/storetest"
)

// What cannot be read may be what they belong to.
func TestOrphansUnreadable(t *testing.T) {
	if !storetest.RunInChild(t, storetest.NobodyUID) || os.Geteuid() == 0 {
		return
	}
	root := storetest.SmallTree(t)
	s := mustOpen(t, root, Options{})
	want(t, s)
	for _, p := range []string{"message/ses_1", "message", "session", "session/global"} {
		p = filepath.Join(root, p)
		for _, mode := range []os.FileMode{0, 0o300, 0o600} {
			storetest.Chmod(t, p, mode)
			if found, err := s.Orphans(t.Context()); !errors.Is(err, change.ErrHidden) && (mode != 0o600 || len(found) > 0 || err != nil) {
				t.Errorf("with %s of mode %o: Orphans = %v, %v, want ErrHidden", p, mode, found, err)
			}
		}
		storetest.Chmod(t, p, 0o755)
	}
	storetest.Chmod(t, filepath.Join(root, "part/msg_1"), 0) // hides no record's parent
	want(t, s)
}
