package npm

import (
	"archive/tar"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
)

// pax writes an archive and returns its name; a header's Linkname is the
// content of a regular file.
func pax(t *testing.T, members ...tar.Header) string {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "x.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	zipped := gzip.NewWriter(f)
	w := tar.NewWriter(zipped)
	for _, h := range members {
		content := ""
		if h.Typeflag == tar.TypeReg {
			content, h.Linkname = h.Linkname, ""
		}
		h.Size, h.Mode = int64(len(content)), 0o644
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(content)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []interface{ Close() error }{w, zipped, f} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return f.Name()
}

func file(name, content string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Linkname: content}
}
