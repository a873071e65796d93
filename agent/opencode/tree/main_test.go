package tree

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/test/storetest"
)

func mustOpen(t *testing.T, path string, o Options) *Store {
	t.Helper()
	s, err := Open(path, false, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustLoad(t *testing.T, s *Store) *record.Session {
	t.Helper()
	loaded, _, err := s.Load(t.Context(), change.Head{ID: "ses_1"})
	if err != nil {
		t.Fatal(err)
	}
	return loaded
}

// unpack writes a fixture and returns the path of its OpenCode data folder.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	f, err := os.Open(archive)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	root := storetest.FastDir(t)
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return filepath.Join(root, strings.TrimSuffix(filepath.Base(archive), ".tar.gz"), "opencode")
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		storetest.Put(t, root, h.Name, string(data))
	}
}

func isConflict(err error) bool {
	var c *change.ConflictError
	return errors.As(err, &c)
}
