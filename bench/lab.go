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
	err := l.build("..", "go", "build", "-trimpath", "-o", l.path("mend"), "./cmd/mend")
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

// bunVersion is that of the bun that TypeScript is run by.
const bunVersion = "1.3.0"

// bun is a command that runs a program in TypeScript. It installs bun, and lacks it if
// it cannot.
func (l *lab) bun(args ...string) command {
	c := command{args: append([]string{l.path("bun", "node_modules", ".bin", "bun")}, args...)}
	err := l.once(l.path("bun"), "npm", "install", "--silent", "--no-fund", "--no-audit", "bun@"+bunVersion, "--prefix")
	if err != nil {
		fmt.Fprintln(os.Stderr, err) // it names folders, which are not for the page
		c.lacks = "npm cannot install bun"
	}
	return c
}

// path is where the thing of that name is in the lab.
func (l *lab) path(name ...string) string { return filepath.Join(append([]string{l.dir}, name...)...) }

// A store is the data folder of an agent, with the session that was written last.
type store struct{ data, session string }

// storage is the root of a tree.
func (s store) storage() string { return filepath.Join(s.data, "storage") }

// store is a store of that kind, made where it is not there. So many calls of its
// last session never ended.
func (l *lab) store(kind string, parts, running int) (store, error) {
	dir := l.path(fmt.Sprintf("%s-%d-%d", kind, parts, running))
	s := store{data: filepath.Join(dir, "opencode")}
	if err := l.once(dir, l.path("make"), kind, strconv.Itoa(parts), strconv.Itoa(running)); err != nil {
		return s, err
	}
	id, err := os.ReadFile(filepath.Join(dir, "session"))
	s.session = string(id)
	return s, err
}

// journal is a state folder with the journal of so many repairs.
func (l *lab) journal(repairs int) (string, error) {
	dir := l.path(fmt.Sprintf("journal-%d", repairs))
	return dir, l.once(dir, l.path("make"), "journal", strconv.Itoa(repairs))
}

// once makes a folder by a program, whose last argument it becomes. Stores are made by
// one, too, since the memory of this process would count as that of all that it starts.
func (l *lab) once(dir, program string, args ...string) error {
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

// copyOf is a separate store for commands that write, and a function that restores it.
func (l *lab) copyOf(s store, name string) (store, func() error) {
	dir := l.path(name)
	return store{filepath.Join(dir, "opencode"), s.session}, func() error {
		err := l.throwAway(dir)
		if err == nil {
			err = os.CopyFS(filepath.Join(dir, "opencode"), os.DirFS(s.data))
		}
		if err == nil {
			err = exec.Command("sync").Run() // what is measured shall not wait for it
		}
		return err
	}
}

// throwAway moves a folder away, until the lab is cleaned. It is not removed at
// once, since ext4 makes files slowly for minutes after many were removed: it
// passes over the numbers that they had, one by one.
func (l *lab) throwAway(dir string) error {
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

// clean removes what was thrown away.
func (l *lab) clean() error { return os.RemoveAll(l.path("trash")) }
