package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"mend/internal/bigstore"
)

// A lab is the folder with stores and programs.
type lab struct{ dir string }

func newLab(dir string) (*lab, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	l := &lab{dir}
	return l, errors.Join(
		l.build("..", "go", "build", "-trimpath", "-o", l.program("mend"), "./cmd/mend"),
		l.build(".", "go", "build", "-o", l.program("empty"), "./floor/empty"),
		l.build(".", "go", "build", "-o", l.program("stat"), "./floor/stat"),
		l.build(".", "cc", "-O2", "-pthread", "-o", l.program("readall"), "floor/readall.c"),
	)
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

func (l *lab) program(name string) string { return filepath.Join(l.dir, name) }

// store is the data folder of a store of that kind, made where it is not there.
func (l *lab) store(kind string, parts int) (string, error) {
	dir := filepath.Join(l.dir, fmt.Sprintf("%s-%d", kind, parts))
	if _, err := os.Stat(dir); err == nil {
		return filepath.Join(dir, "opencode"), nil
	}
	write := bigstore.Tree
	if kind == "db" {
		write = bigstore.Database
	}
	fmt.Fprintln(os.Stderr, "making", dir)
	making := dir + ".new"
	if err := errors.Join(os.RemoveAll(making), write(making, parts, 1), os.Rename(making, dir)); err != nil {
		return "", err
	}
	time.Sleep(3 * time.Second) // until its stamps are old enough to be trusted
	return filepath.Join(dir, "opencode"), nil
}

// A command is a program to measure.
type command struct {
	args   []string
	cache  string // the folder of mend's cache; "" for a new one each time
	before func() error
}

// A cost is what a run took.
type cost struct {
	wall, cpu time.Duration
	peak      int64 // of the memory, in bytes
}

// run runs the command once. That it finds problems is no failure.
func (l *lab) run(c command) (cost, error) {
	if c.before != nil {
		if err := c.before(); err != nil {
			return cost{}, err
		}
	}
	cache := c.cache
	if cache == "" {
		var err error
		if cache, err = os.MkdirTemp(l.dir, "cache-"); err != nil {
			return cost{}, err
		}
		defer os.RemoveAll(cache)
	}
	cmd := exec.Command(c.args[0], c.args[1:]...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache, "XDG_STATE_HOME="+filepath.Join(l.dir, "state"))
	began := time.Now()
	out, err := cmd.CombinedOutput()
	took := time.Since(began)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return cost{}, fmt.Errorf("running %v: %w: %s", c.args, err, out)
	}
	s := cmd.ProcessState
	return cost{took, s.UserTime() + s.SystemTime(), s.SysUsage().(*syscall.Rusage).Maxrss << 10}, nil
}

// measure runs the commands one after the other, so many rounds, and returns the
// median costs of each.
func (l *lab) measure(rounds int, all []command) ([]cost, error) {
	runs := make([][]cost, len(all))
	for range rounds {
		for i, c := range all {
			took, err := l.run(c)
			if err != nil {
				return nil, err
			}
			runs[i] = append(runs[i], took)
		}
	}
	medians := make([]cost, len(all))
	for i, r := range runs {
		medians[i] = cost{
			median(r, func(c cost) time.Duration { return c.wall }), median(r, func(c cost) time.Duration { return c.cpu }),
			median(r, func(c cost) int64 { return c.peak }),
		}
	}
	return medians, nil
}

func median[T time.Duration | int64](runs []cost, of func(cost) T) T {
	var all []T
	for _, r := range runs {
		all = append(all, of(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
