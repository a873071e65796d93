package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// A command is a program to measure.
type command struct {
	args   []string
	cache  string // the folder of mend's cache; "" for a new one each time
	state  string // the folder of mend's journal's folder; "" for the lab's
	before func() error

	until   string // what must be in the output
	repeat  int    // how often in a round; 0 for once
	missing string // why it cannot be run here
}

// A cost is what a run took.
type cost struct {
	wall, cpu time.Duration
	peak      int64  // of the memory, in bytes
	missing   string // why it is not known
}

// run runs the command once. That it finds problems is no failure.
func (l *lab) run(c command) (cost, error) {
	if c.missing != "" {
		return cost{missing: c.missing}, nil
	}
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
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache, "XDG_STATE_HOME="+cmp.Or(c.state, l.path("state")))
	out := &output{until: []byte(c.until)}
	cmd.Stdout, cmd.Stderr = out, out
	began := time.Now()
	err := cmd.Run()
	took := time.Since(began)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return cost{}, fmt.Errorf("running %v: %w: %s", c.args, err, out.end)
	}
	if c.until != "" && !out.found {
		return cost{}, fmt.Errorf("running %v: no %q in what it says: %s", c.args, c.until, out.end)
	}
	s := cmd.ProcessState
	return cost{wall: took, cpu: s.UserTime() + s.SystemTime(), peak: s.SysUsage().(*syscall.Rusage).Maxrss << 10}, nil
}

// An output records whether a text appears in it, and keeps its end. It does not keep more, so that
// this process stays small: the system reports at least its size for each program that it starts.
type output struct {
	end   []byte
	until []byte
	found bool
}

const endSize = 4 << 10

func (o *output) Write(b []byte) (int, error) {
	o.end = append(o.end, b...)
	o.found = o.found || bytes.Contains(o.end, o.until)
	if over := len(o.end) - endSize; over > 0 {
		o.end = append(o.end[:0], o.end[over:]...)
	}
	return len(b), nil
}

// measure runs the commands one after the other, in that number of rounds, and returns the
// median costs of each.
func (l *lab) measure(rounds int, all []command) ([]cost, error) {
	runs := make([][]cost, len(all))
	for range rounds {
		for i, c := range all {
			for range max(1, c.repeat) {
				took, err := l.run(c)
				if err != nil {
					return nil, err
				}
				runs[i] = append(runs[i], took)
			}
		}
	}
	medians := make([]cost, len(all))
	for i := range all {
		medians[i] = medianOf(runs[i])
	}
	return medians, nil
}

func medianOf(runs []cost) cost {
	return cost{
		wall:    median(runs, func(c cost) time.Duration { return c.wall }),
		cpu:     median(runs, func(c cost) time.Duration { return c.cpu }),
		peak:    median(runs, func(c cost) int64 { return c.peak }),
		missing: runs[0].missing,
	}
}

func median[T time.Duration | int64](runs []cost, value func(cost) T) T {
	var all []T
	for _, r := range runs {
		all = append(all, value(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}
