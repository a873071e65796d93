package faulttest_test

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// A state is the content of a folder, by path.
type state map[string]entry

type entry struct {
	mode fs.FileMode
	data string
}

func readState(dir string) (state, error) {
	s := state{}
	return s, filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil || e.IsDir() {
			s[rel] = entry{mode: info.Mode()}
			return err
		}
		data, err := os.ReadFile(p)
		s[rel] = entry{info.Mode(), string(data)}
		return err
	})
}

// put gives a folder in the state now the state s. It does not write equal files, and changed files keep their inodes: the
// journal identifies a store by its inode.
func (s state) put(dir string, now state) error {
	for _, p := range slices.Backward(slices.Sorted(maps.Keys(now))) {
		if want, known := s[p]; known && want.mode.Type() == now[p].mode.Type() {
			continue
		}
		if err := os.Remove(filepath.Join(dir, p)); err != nil {
			return err
		}
		delete(now, p)
	}
	for _, p := range slices.Sorted(maps.Keys(s)) {
		before, exists := now[p]
		if s[p] == before {
			continue
		}
		if err := s[p].put(filepath.Join(dir, p), exists); err != nil {
			return err
		}
	}
	return nil
}

func (e entry) put(path string, exists bool) error {
	var err error
	switch {
	case e.mode.IsDir() && !exists:
		err = os.Mkdir(path, 0o700)
	case !e.mode.IsDir() && exists:
		err = os.Chmod(path, 0o600)
	}
	if err == nil && !e.mode.IsDir() {
		err = os.WriteFile(path, []byte(e.data), 0o600)
	}
	return errors.Join(err, os.Chmod(path, e.mode))
}

// A digest identifies a state.
type digest [sha256.Size]byte

// digest returns equal digests for states that differ only in the process that last locked the journal.
func (s state) digest() digest {
	h := sha256.New()
	number := func(n uint64) { _, _ = h.Write(binary.BigEndian.AppendUint64(nil, n)) }
	text := func(s string) {
		number(uint64(len(s)))
		_, _ = h.Write([]byte(s))
	}
	for _, p := range slices.Sorted(maps.Keys(s)) {
		text(p)
		number(uint64(s[p].mode))
		if filepath.Base(p) != "journal.lock" {
			text(s[p].data)
		}
	}
	return digest(h.Sum(nil))
}

func (sb *sandbox) state() state {
	sb.Helper()
	s, err := readState(sb.live)
	if err != nil {
		sb.Fatal(err)
	}
	return s
}

// writtenAt is the mtime of all files of a sandbox, because the journal records some.
var writtenAt = time.Now().Add(-time.Hour)

func (sb *sandbox) restore(s state) {
	sb.Helper()
	err := s.put(sb.live, sb.state())
	for p, e := range s {
		path := filepath.Join(sb.live, p)
		if err == nil && e.mode.IsRegular() {
			var now fs.FileInfo
			if now, err = os.Stat(path); err == nil && !now.ModTime().Equal(writtenAt) {
				err = os.Chtimes(path, writtenAt, writtenAt)
			}
		}
	}
	if err != nil {
		sb.Fatalf("restoring the sandbox: %v", err)
	}
}

// differing returns the paths with different content.
func (s state) differing(other state) []string {
	all := maps.Clone(s)
	maps.Copy(all, other)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(p string) bool { return s[p] == other[p] })
}
