package faulttest_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"mend/internal/faulttest"
)

var seedFlag = flag.Uint64("seed", 0, "of what chance decides; 0: another one each time")

// seed is that of this run. A failure prints it.
func seed() uint64 {
	if *seedFlag == 0 {
		*seedFlag = uint64(time.Now().UnixNano())
	}
	return *seedFlag
}

// A printer notes how long the log was when mend told an id.
type printer struct {
	log *blockLog
	buf bytes.Buffer
	at  int // 0: not yet
}

func (p *printer) Write(b []byte) (int, error) {
	p.buf.Write(b)
	if p.at == 0 && len(ids(p.buf.String())) > 0 {
		p.at = p.log.len()
	}
	return len(b), nil
}

// record lets the verb run to its end. It returns what may come of it by power
// cuts from its begin on, and what it printed.
func (w *world) record(l *blockLog) (c *crasher, begun int, out *printer) {
	w.Helper()
	c = &crasher{rng: rand.New(rand.NewPCG(seed(), 0)), before: filepath.Join(fastDir(w.T), "before")}
	w.disk.sync()
	if err := copyDisk(l.file.Name(), c.before); err != nil {
		w.Fatal(err)
	}
	first := l.len()
	w.begin()
	begun = l.len() - first
	out = &printer{log: l}
	cmd := exec.CommandContext(w.Context(), w.mend.Path, w.args(w.verb)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = w.mend.Env, w.mend.Dir, out, out
	if err := cmd.Run(); err != nil {
		w.Fatalf("mend %v: %v\n%s", w.verb, err, out.buf.String())
	}
	c.events = l.since(first)
	out.at = cmp.Or(out.at, first+len(c.events)) - first
	if err := w.disk.off(); err != nil {
		w.Fatal(err)
	}
	return c, begun, out
}

// sweepLog lets the verb run, and looks at n disks as power cuts would have left
// them.
func (w *world) sweepLog(l *blockLog, n int) *tally {
	w.Helper()
	sum := &tally{What: "block log on " + w.disk.name, Store: w.kind, Verb: w.name}
	c, begun, out := w.record(l)
	end := len(c.events)
	w.disk.image = filepath.Join(filepath.Dir(c.before), "crashed")
	for _, k := range moments(c.rng, begun, end, n) {
		r := faulttest.Result{Code: -1}
		if k >= out.at {
			r.Out = out.buf.String()
		}
		if k == end {
			r.Code = 0
		}
		if err := c.cut(k, w.disk.image); err != nil {
			w.Fatal(err)
		}
		w.crashed(sum, r, fmt.Sprintf("after %d of %d writes and flushes, -seed %d", k-begun, end-begun, seed()))
		if w.exposed(sum) {
			break
		}
	}
	return sum
}

// crashed checks the disk that a power cut left.
func (w *world) crashed(sum *tally, r faulttest.Result, where string) {
	w.Helper()
	sum.Cuts++
	c := &cutCase{world: w, sum: sum, run: r, where: fmt.Sprintf("%v: %s", sum, where)}
	if err := w.disk.on(); err != nil {
		c.problem("%v", err)
		return
	}
	c.check()
	if err := w.disk.off(); err != nil {
		w.Fatal(err)
	}
}

// moments are n numbers from a to b: first b, when the verb has ended, and then
// each as often as the others, in any order.
func moments(rng *rand.Rand, a, b, n int) []int {
	list := []int{b}
	for len(list) < n {
		for _, i := range rng.Perm(b - a + 1) {
			list = append(list, a+i)
		}
	}
	return list[:n]
}

// cutsOfLog is how many disks a sweep looks at.
func cutsOfLog() int {
	if level() == "torture" {
		return 1000
	}
	return 10
}

// Whatever of the writes since the last flush has reached the disk, in whatever
// order, and torn: what was said to be done is done, and else the store is whole.
func TestBlockLog(t *testing.T) {
	eachPowered(t, func(t *testing.T, fs filesystem, s scenario) {
		d, l := newLoggedDisk(t, fs)
		report(t, newWorld(t, d, built, s).sweepLog(l, cutsOfLog()))
	})
}

// The block log finds what is wrong on purpose, wherever power cuts do.
func TestBlockLogControls(t *testing.T) {
	if level() == "" {
		t.Skip("FAULTTEST is not set")
	}
	scenarios := map[string]scenario{
		"outcome before the barrier": seasoned(tree),
		"no sync at open":            recovery(tree, "begun", begun),
		"synchronous=NORMAL":         besideWal(sqlite),
		"rename without data sync":   repairSecond(tree),
	}
	for _, c := range controls {
		s, ok := scenarios[c.name]
		if !ok {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, l := newLoggedDisk(t, ext4)
			sum := newWorld(t, d, c.build(t), s).sweepLog(l, 1000)
			if len(sum.problems) == 0 {
				t.Fatalf("nothing is wrong in %d cuts, -seed %d", sum.Cuts, seed())
			}
			t.Logf("found in cut %d, first: %.600s", sum.Cuts, sum.problems[0])
		})
	}
}
