package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"
)

// A lab is the folder with stores, journals and programs.
type lab struct{ dir string }

func newLab(dir string) (*lab, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	l := &lab{dir}
	err := l.build("../..", "go", "build", "-trimpath", "-o", l.path("mend"), "./cmd/mend")
	for _, name := range []string{"empty", "stat", "load", "flush", "renameio"} {
		err = errors.Join(err, l.build(".", "go", "build", "-o", l.path(name), "./floor/"+name))
	}
	for _, name := range []string{"readall", "strip"} {
		err = errors.Join(err, l.build(".", "cc", "-O2", "-pthread", "-o", l.path(name), "floor/"+name+".c"))
	}
	return l, errors.Join(err, l.build(".", "go", "build", "-o", l.path("make"), "./make"))
}

// build runs a compiler in a folder.
func (l *lab) build(dir, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building: %w: %s", err, out)
	}
	return nil
}

// bunVersion is the version of bun that runs TypeScript.
const bunVersion = "1.3.0"

// bun returns a command that runs a TypeScript program. It installs bun; if it cannot, the
// command says so in missing.
func (l *lab) bun(args ...string) command {
	c := command{args: append([]string{l.path("bun", "node_modules", ".bin", "bun")}, args...)}
	err := l.makeOnce(l.path("bun"), "npm", "install", "--silent", "--no-fund", "--no-audit", "bun@"+bunVersion, "--prefix")
	if err != nil {
		fmt.Fprintln(os.Stderr, err) // it names folders, which are not for the page
		c.missing = "npm cannot install bun"
	}
	return c
}

// path returns the path of a file or a folder in the lab.
func (l *lab) path(name ...string) string { return filepath.Join(append([]string{l.dir}, name...)...) }

// A store is the data folder of an agent, with the session that was written last.
type store struct{ data, session string }

// storage returns the root of a tree.
func (s store) storage() string { return filepath.Join(s.data, "storage") }

// store returns a store of that kind, and makes it if it does not exist. In its last session
// that number of calls never ended.
func (l *lab) store(kind string, parts, running int) (store, error) {
	dir := l.path(fmt.Sprintf("%s-%d-%d", kind, parts, running))
	s := store{data: filepath.Join(dir, "opencode")}
	if err := l.makeOnce(dir, l.path("make"), kind, strconv.Itoa(parts), strconv.Itoa(running)); err != nil {
		return s, err
	}
	id, err := os.ReadFile(filepath.Join(dir, "session"))
	s.session = string(id)
	return s, err
}

// journal returns a state folder whose journal has that number of repairs.
func (l *lab) journal(repairs int) (string, error) {
	dir := l.path(fmt.Sprintf("journal-%d", repairs))
	return dir, l.makeOnce(dir, l.path("make"), "journal", strconv.Itoa(repairs))
}

// makeOnce runs a program that makes a folder, unless the folder exists. The path of the folder
// is the last argument. This process makes no stores itself: its memory would count as that of
// all programs that it starts.
func (l *lab) makeOnce(dir, program string, args ...string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	fmt.Fprintln(os.Stderr, "making", dir)
	making := dir + ".new"
	if err := os.RemoveAll(making); err != nil {
		return err
	}
	out, err := exec.Command(program, append(args, making)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("making %s: %w: %s", dir, err, out)
	}
	time.Sleep(3 * time.Second) // until its stamps are old enough to be trusted
	return os.Rename(making, dir)
}

// copyOf returns a copy of a store for commands that write, and a function that restores it.
func (l *lab) copyOf(s store, name string) (store, func() error) {
	dir := l.path(name)
	return store{filepath.Join(dir, "opencode"), s.session}, func() error {
		err := l.discard(dir)
		if err == nil {
			err = os.CopyFS(filepath.Join(dir, "opencode"), os.DirFS(s.data))
		}
		if err == nil {
			err = exec.Command("sync").Run() // so that nothing that is measured waits for it
		}
		return err
	}
}

// discard moves a folder to the trash, which clean removes. A folder is not removed at once,
// because ext4 creates files slowly for minutes after many were removed: it skips their inode
// numbers one by one.
func (l *lab) discard(dir string) error {
	if _, err := os.Lstat(dir); err != nil {
		return nil
	}
	if err := os.MkdirAll(l.path("trash"), 0o755); err != nil {
		return err
	}
	away, err := os.MkdirTemp(l.path("trash"), "")
	if err != nil {
		return err
	}
	return os.Rename(dir, filepath.Join(away, filepath.Base(dir)))
}

// clean empties the trash.
func (l *lab) clean() error { return os.RemoveAll(l.path("trash")) }
