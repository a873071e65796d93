//go:build linux || darwin

package fsstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent/opencode/tree"
	"mend/change"
	"mend/fsstore"
	"mend/internal/ownfile"
	"mend/internal/test/storetest"
)

// TestStagingFolderOfOthers: nothing is staged or kept in a folder where another user could change it.
func TestStagingFolderOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		folder  string
		prepare func(path string) error
		want    string // of the error; "" for none
	}{
		"private":         {fsstore.MendDir, func(string) error { return nil }, ""},
		"readable":        {fsstore.MendDir, func(path string) error { return os.Chmod(path, 0o755) }, ""},
		"of all":          {fsstore.MendDir, func(path string) error { return os.Chmod(path, 0o777) }, "can be written by other users"},
		"of a group":      {fsstore.MendDir + "/own", func(path string) error { return os.Chmod(path, 0o770) }, "can be written by other users"},
		"of another user": {fsstore.MendDir, func(path string) error { return os.Chown(path, 4242, 4242) }, "belongs to another user"},
		"of the store's owner": {".", func(path string) error {
			return errors.Join(os.Chown(path, 4242, 4242), os.Chown(filepath.Join(path, fsstore.MendDir), 4242, 4242))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "owner") || strings.Contains(name, "user") {
				if os.Geteuid() != 0 {
					t.Skip("only root can give files away")
				}
			}
			root := storetest.SmallTree(t)
			s := mustOpen(t, root, tree.Options{Owner: "own"})
			ops := storetest.MixedOps(t, mustLoad(t, s).AllRecords)
			for _, at := range []string{fsstore.MendDir + "/own/7", fsstore.KeptDir} { // Prepare removes empty folders
				if err := os.MkdirAll(filepath.Join(root, at), 0o700); err != nil {
					t.Fatal(err)
				}
				storetest.Put(t, root, at+"/kept", "text")
			}
			path := filepath.Join(root, c.folder)
			if err := c.prepare(path); err != nil {
				t.Fatal(err)
			}
			before := storetest.Snapshot(t, root, "")
			staged, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
			var unsafe *ownfile.UnsafeError
			if errors.As(err, &unsafe) != (c.want != "") || c.want == "" && err != nil || err != nil && (!strings.Contains(err.Error(), c.want) || unsafe.Path != path) {
				t.Errorf("Prepare = %v, want %q for %s", err, c.want, path)
			}
			if err == nil {
				if err := s.Discard(t.Context(), staged); err != nil {
					t.Error(err)
				}
			}
			after := storetest.Snapshot(t, root, "")
			if c.want != "" && len(after) != len(before) {
				t.Errorf("Prepare left\n%v, want\n%v", after, before)
			}
		})
	}
}
