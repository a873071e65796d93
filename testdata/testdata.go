// Package testdata holds small healthy stores that the real OpenCode wrote, for `mend demo` and for tests. Each archive
// is a data directory with one session of four prompts: NAME/SESSION, NAME/opencode/….
//
// It imports nothing of mend. Read [Unpack] first.
package testdata

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "embed" // the archives
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// The archives, named for the version of OpenCode that wrote them.
var (
	//go:embed opencode-1.1.53.tar.gz
	OpenCode1153 []byte // a tree of JSON files
	//go:embed opencode-1.2.27.tar.gz
	OpenCode1227 []byte // SQLite, the first generation
	//go:embed opencode-1.18.33.tar.gz
	OpenCode11833 []byte // SQLite, with event tables
)

// Claude is a healthy transcript that Claude Code 2.1.330 wrote: three prompts ten minutes
// apart. Long texts and records outside the conversation are left out.
//
//go:embed claude-2.1.330.jsonl
var Claude []byte

// ClaudeSession is the id of the session in Claude.
const ClaudeSession = "3cffaf78-5168-420a-bb87-c18ba6c93019"

// Codex is a healthy rollout that Codex 0.169.0 wrote: four prompts. Long texts of the program are cut.
//
//go:embed codex-0.169.0.jsonl
var Codex []byte

// CodexSession is the id of the session in Codex.
const CodexSession = "01a203f4-30b5-7323-b4e5-490f536edf6c"

// Unpack unpacks an archive below dst, so that dst is its $XDG_DATA_HOME, and
// returns the id of its session. Nothing is written outside of dst.
func Unpack(archive []byte, dst string) (session string, err error) {
	root, err := os.OpenRoot(dst)
	if err != nil {
		return "", fmt.Errorf("unpacking a store: %w", err)
	}
	defer root.Close()
	zr, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		return "", fmt.Errorf("unpacking a store: %w", err)
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return session, nil
		}
		if err != nil {
			return "", fmt.Errorf("unpacking a store: %w", err)
		}
		_, name, _ := strings.Cut(h.Name, "/")
		switch {
		case name == "SESSION":
			var id []byte
			id, err = io.ReadAll(tr)
			session = strings.TrimSpace(string(id))
		case h.Typeflag == tar.TypeReg:
			err = place(root, name, tr)
		}
		if err != nil {
			return "", fmt.Errorf("unpacking %s: %w", h.Name, err)
		}
	}
}

// place writes a new file below root, and the folders it needs.
func place(root *os.Root, name string, r io.Reader) error {
	if err := root.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
