package mutation

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// stranger is the owner of files that another user took; neither the agent nor mend runs as it.
const stranger = 65533

// BreakFile changes one of the files or folders at random as a whole: its content, its kind, its
// place, its mode, its owner or its time. other is the content of another store's file. It returns what it did.
func BreakFile(r *rand.Rand, other []byte, paths ...string) (did string, err error) {
	path := paths[r.IntN(len(paths))]
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	aside := path + ".aside"
	exchange := func(make func() error) error {
		if err := os.Rename(path, aside); err != nil {
			return err
		}
		return make()
	}
	write := func(data []byte) func() error {
		return func() error { return os.WriteFile(path, data, info.Mode().Perm()) }
	}
	type change struct {
		name  string
		apply func() error
	}
	changes := []change{
		{"removed", func() error { return os.RemoveAll(path) }},
		{"renamed", func() error { return exchange(func() error { return nil }) }},
		{"a folder in its place", func() error { return exchange(func() error { return os.Mkdir(path, 0o755) }) }},
		{"a file in its place", func() error { return exchange(write(nil)) }},
		{"a pipe in its place", func() error { return exchange(func() error { return mkfifo(path, 0o644) }) }},
		{"a link to it in its place", func() error { return exchange(func() error { return os.Symlink(aside, path) }) }},
		{"a link to nothing in its place", func() error { return exchange(func() error { return os.Symlink("/nowhere", path) }) }},
		{"a hard link beside it", func() error {
			if info.IsDir() {
				return os.Chmod(path, 0o755)
			}
			return os.Link(path, aside)
		}},
		{"of another user", func() error { return os.Lchown(path, stranger, stranger) }},
		{"of another user, for all", func() error {
			if err := os.Lchown(path, stranger, stranger); err != nil {
				return err
			}
			return os.Chmod(path, 0o777)
		}},
		{"of a time ahead", func() error { return os.Chtimes(path, time.Time{}, time.Now().AddDate(3, 0, 0)) }},
		{"of 1970", func() error { return os.Chtimes(path, time.Time{}, time.Unix(1, 0)) }},
	}
	for _, mode := range []os.FileMode{0, 0o200, 0o300, 0o400, 0o500, 0o777} {
		changes = append(changes, change{fmt.Sprintf("mode %04o", mode), func() error { return os.Chmod(path, mode) }})
	}
	if !info.IsDir() {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		at := r.IntN(len(data) + 1)
		edit := func(data []byte) func() error { return func() error { return os.WriteFile(path, data, 0o600) } }
		nul := append([]byte(nil), data...)
		clear(nul[at:min(len(nul), at+4096)])
		head := append([]byte(nil), data...)
		clear(head[:min(len(head), 512)])
		changes = append(changes,
			change{"empty", edit(nil)}, change{fmt.Sprintf("cut at %d", at), edit(data[:at])}, change{"of NUL bytes", edit(make([]byte, len(data)))},
			change{fmt.Sprintf("NUL bytes at %d", at), edit(nul)}, change{"NUL bytes at its beginning", edit(head)}, change{"with bytes behind it", edit(append(data, "x\x00\x00"...))},
			change{"of another store", edit(other)}, change{"twice", edit(append(data, data...))})
	}
	c := changes[r.IntN(len(changes))]
	return filepath.Base(path) + " " + c.name, c.apply()
}
