//go:build linux || darwin

package fsstore

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/internal/ownfile"
)

// Issue 13, item 2: nothing is staged or kept in a folder in which another user could
// change it.
func TestStagingFolderOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		folder  string
		prepare func(path string) error
		want    string // of the error; "" for none
	}{
		"private":         {mendDir, func(string) error { return nil }, ""},
		"readable":        {mendDir, func(path string) error { return os.Chmod(path, 0o755) }, ""},
		"of all":          {mendDir, func(path string) error { return os.Chmod(path, 0o777) }, "can be written by other users"},
		"of a group":      {mendDir + "/own", func(path string) error { return os.Chmod(path, 0o770) }, "can be written by other users"},
		"of another user": {mendDir, func(path string) error { return os.Chown(path, 4242, 4242) }, "belongs to another user"},
		"of the store's owner": {".", func(path string) error {
			return errors.Join(os.Chown(path, 4242, 4242), os.Chown(filepath.Join(path, mendDir), 4242, 4242))
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "owner") || strings.Contains(name, "user") {
				if os.Geteuid() != 0 {
					t.Skip("only root can give files away")
				}
			}
			root := smallTree(t)
			s := mustOpen(t, root, "", Options{Owner: "own"})
			ops := bigPlan(t, mustLoad(t, s))
			for _, at := range []string{mendDir + "/own/7", keptDir} { // else they are removed before
				if err := os.MkdirAll(filepath.Join(root, at), 0o700); err != nil {
					t.Fatal(err)
				}
				put(t, root, at+"/kept", "text")
			}
			path := filepath.Join(root, c.folder)
			if err := c.prepare(path); err != nil {
				t.Fatal(err)
			}
			before := snapshot(t, root, "")
			staged, err := s.Prepare(t.Context(), ops)
			var unsafe *ownfile.UnsafeError
			if errors.As(err, &unsafe) != (c.want != "") || c.want == "" && err != nil || err != nil && (!strings.Contains(err.Error(), c.want) || unsafe.Path != path) {
				t.Errorf("Prepare = %v, want %q for %s", err, c.want, path)
			}
			if err == nil {
				if err := s.Discard(t.Context(), staged); err != nil {
					t.Error(err)
				}
			}
			after := snapshot(t, root, "")
			if c.want != "" && len(after) != len(before) {
				t.Errorf("Prepare left\n%v, want\n%v", after, before)
			}
		})
	}
}
