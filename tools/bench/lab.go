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
	err = errors.Join(err, l.build(".", "go", "build", "-o", l.path("empty"), "./floor/empty"), l.build(".", "cc", "-O2", "-pthread", "-o", l.path("readall"), "floor/readall.c"))
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

// store returns the data folder of an agent with a store of that kind, and makes it if it does not
// exist.
func (l *lab) store(kind string, parts int) (string, error) {
	dir := l.path(fmt.Sprintf("%s-%d", kind, parts))
	return filepath.Join(dir, "opencode"), l.makeOnce(dir, l.path("make"), kind, strconv.Itoa(parts))
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
