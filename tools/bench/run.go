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

	until   string // what must be in the output, and when it is there is noted
	count   bool   // the flushes are counted, by strace
	repeat  int    // how often in a round; 0 for once
	most    int    // in how many rounds at most; 0 for all
	last    bool   // it is run when all others were: it leaves them slower
	missing string // why it cannot be run here
}

// A cost is what a run took.
type cost struct {
	wall, cpu time.Duration
	first     time.Duration // until the output that the command waits for
	peak      int64         // of the memory, in bytes
	flushes   int64
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
	args, missing := c.traced(l.path("flushes"))
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+cache, "XDG_STATE_HOME="+cmp.Or(c.state, l.path("state")))
	out := &output{until: []byte(c.until), began: time.Now()}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	took := time.Since(out.began)
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		return cost{}, fmt.Errorf("running %v: %w: %s", args, err, out.end)
	}
	if c.until != "" && out.first == 0 {
		return cost{}, fmt.Errorf("running %v: no %q in what it says: %s", args, c.until, out.end)
	}
	s := cmd.ProcessState
	is := cost{wall: took, cpu: s.UserTime() + s.SystemTime(), first: out.first, peak: s.SysUsage().(*syscall.Rusage).Maxrss << 10, missing: missing}
	if c.count && missing == "" {
		is.flushes, err = countFlushes(l.path("flushes"))
		return is, err
	}
	return is, nil
}

// runAll runs commands without measuring them.
func (l *lab) runAll(all []command) error {
	for _, c := range all {
		if _, err := l.run(c); err != nil {
			return err
		}
	}
	return nil
}

// traced returns the command line, with strace before it if flushes are counted, and why they
// cannot be counted.
func (c command) traced(trace string) (args []string, missing string) {
	if !c.count {
		return c.args, ""
	}
	if _, err := exec.LookPath("strace"); err != nil {
		return c.args, "strace is not installed"
	}
	return append([]string{"strace", "-f", "-qq", "-e", "signal=none", "-e", "trace=fsync,fdatasync,syncfs", "-o", trace}, c.args...), ""
}

// An output records when a text appears in it, and keeps its end. It does not keep more, so that
// this process stays small: the system reports at least its size for each program that it starts.
type output struct {
	end   []byte
	until []byte
	began time.Time
	first time.Duration
}

const endSize = 4 << 10

func (o *output) Write(b []byte) (int, error) {
	o.end = append(o.end, b...)
	if o.first == 0 && bytes.Contains(o.end, o.until) {
		o.first = time.Since(o.began)
	}
	if over := len(o.end) - endSize; over > 0 {
		o.end = append(o.end[:0], o.end[over:]...)
	}
	return len(b), nil
}

// countFlushes returns how many calls strace recorded. A call that another thread interrupted has
// a second line.
func countFlushes(trace string) (int64, error) {
	lines, err := os.ReadFile(trace)
	return int64(bytes.Count(lines, []byte("\n")) - bytes.Count(lines, []byte(" resumed>"))), err
}

// measure runs the commands one after the other, in that number of rounds, and returns the
// median costs of each, but the least number of flushes: a file that has to grow
// takes more.
func (l *lab) measure(rounds int, all []command) ([]cost, error) {
	runs := make([][]cost, len(all))
	for round := range 2 * rounds { // the others, then the last
		for i, c := range all {
			if c.last != (round >= rounds) || c.most != 0 && round%rounds >= c.most {
				continue
			}
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
		first:   median(runs, func(c cost) time.Duration { return c.first }),
		peak:    median(runs, func(c cost) int64 { return c.peak }),
		flushes: slices.MinFunc(runs, func(a, b cost) int { return cmp.Compare(a.flushes, b.flushes) }).flushes,
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
