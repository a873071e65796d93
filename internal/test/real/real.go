// Package real has the structure of 139 conversations that people's agents wrote, 122 of Claude Code and 17 of Codex,
// found in public repositories.
//
// It imports nothing of mend. Read [Sessions] and [Unpack] first.
//
// Every text is the letter x, at most 40 of it; ids, times, types, versions and the names of known tools are
// the originals. testdata/truth.tsv lists what is wrong with each session, as the real Claude Code 2.1.332
// and Codex 0.171.0 showed it on 28 November 2026.
package real

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	_ "embed" // the conversations
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

//go:embed testdata/structure.tar.gz
var structure []byte

//go:embed testdata/truth.tsv
var truth string

// Folder is the project folder that the conversations name.
const Folder = "/home/user/project"

// A Session is one conversation with the truth about it.
type Session struct {
	ID      string
	Agent   string // "claude" or "codex"
	Version string // of the agent that wrote the conversation

	// Truth lists its damage: severity and start of the record's id. It is empty for a healthy session.
	Truth []string
}

// Sessions returns all conversations, in the order of truth.tsv.
func Sessions() []Session {
	var all []Session
	for line := range strings.Lines(truth) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		s := Session{ID: f[0], Agent: f[1], Version: f[2]}
		for one := range strings.SplitSeq(f[3], "; ") {
			if one != "not broken" {
				s.Truth = append(s.Truth, one)
			}
		}
		all = append(all, s)
	}
	return all
}

// Unpack writes all conversations below home, a user's home folder, into .claude/projects and
// .codex/sessions. A conversation keeps its agent's path.
func Unpack(t testing.TB, home string) {
	t.Helper()
	zr, err := gzip.NewReader(bytes.NewReader(structure))
	if err != nil {
		t.Fatal(err)
	}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(home, filepath.FromSlash(h.Name))
		if strings.HasPrefix(h.Name, ".claude/") { // no other model has a name of that length
			data = bytes.ReplaceAll(data, []byte(`"model":"xxxxxxxxxxx"`), []byte(`"model":"<synthetic>"`))
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, h.ModTime, h.ModTime); err != nil {
			t.Fatal(err)
		}
	}
}
