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

	"mend/internal/test/faulttest"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random choices; 0: another one in each run")

// seed returns the seed of this run. A failure prints it.
func seed() uint64 {
	if *seedFlag == 0 {
		*seedFlag = uint64(time.Now().UnixNano())
	}
	return *seedFlag
}

// A printer records how long the log was when mend printed an id.
type printer struct {
	log *blockLog
	buf bytes.Buffer
	at  int // 0: no id yet
}

func (p *printer) Write(b []byte) (int, error) {
	p.buf.Write(b)
	if p.at == 0 && len(ids(p.buf.String())) > 0 {
		p.at = p.log.len()
	}
	return len(b), nil
}

// record runs the verb to its end. It returns a crasher for power cuts during the run, the number of events before the verb,
// and the output.
func (sb *sandbox) record(l *blockLog) (c *crasher, begun int, out *printer) {
	sb.Helper()
	c = &crasher{rng: rand.New(rand.NewPCG(seed(), 0)), before: filepath.Join(fastDir(sb.T), "before")}
	sb.disk.sync()
	if err := copyDisk(l.file.Name(), c.before); err != nil {
		sb.Fatal(err)
	}
	first := l.len()
	sb.begin()
	begun = l.len() - first
	out = &printer{log: l}
	cmd := exec.CommandContext(sb.Context(), sb.mend.Path, sb.args(sb.verb)...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = sb.mend.Env, sb.mend.Dir, out, out
	if err := cmd.Run(); err != nil {
		sb.Fatalf("mend %v: %v\n%s", sb.verb, err, out.buf.String())
	}
	c.events = l.eventsAfter(first)
	out.at = cmp.Or(out.at, first+len(c.events)) - first
	if err := sb.disk.off(); err != nil {
		sb.Fatal(err)
	}
	return c, begun, out
}

// sweepLog runs the verb, and checks n disks in states after power cuts.
func (sb *sandbox) sweepLog(l *blockLog, n int) *sweepResult {
	sb.Helper()
	sum := &sweepResult{What: "block log on " + sb.disk.name, Store: sb.kind, Verb: sb.name}
	c, begun, out := sb.record(l)
	end := len(c.events)
	sb.disk.image = filepath.Join(filepath.Dir(c.before), "crashed")
	for _, k := range moments(c.rng, begun, end, n) {
		r := faulttest.Result{Code: -1}
		if k >= out.at {
			r.Out = out.buf.String()
		}
		if k == end {
			r.Code = 0
		}
		if err := c.cut(k, sb.disk.image); err != nil {
			sb.Fatal(err)
		}
		sb.checkCrash(sum, r, fmt.Sprintf("after %d of %d writes and flushes, -seed %d", k-begun, end-begun, seed()))
		if sb.exposed(sum) {
			break
		}
	}
	return sum
}

// checkCrash checks the disk after a power cut.
func (sb *sandbox) checkCrash(sum *sweepResult, r faulttest.Result, where string) {
	sb.Helper()
	sum.Cuts++
	c := &cutCase{sandbox: sb, sum: sum, run: r, where: fmt.Sprintf("%v: %s", sum, where)}
	if err := sb.disk.on(); err != nil {
		c.problem("%v", err)
		return
	}
	c.check()
	if err := sb.disk.off(); err != nil {
		sb.Fatal(err)
	}
}

// moments returns n numbers from a to b: first b, the end of the verb, and then all in random order, repeatedly.
func moments(rng *rand.Rand, a, b, n int) []int {
	list := []int{b}
	for len(list) < n {
		for _, i := range rng.Perm(b - a + 1) {
			list = append(list, a+i)
		}
	}
	return list[:n]
}

// cutsOfLog is the number of disks that a sweep checks.
func cutsOfLog() int {
	if level() == "torture" {
		return 1000
	}
	return 10
}

// TestBlockLog: after a power cut, when any of the writes since the last flush have reached the disk, whole or torn, reported
// changes are made, and the store is consistent.
func TestBlockLog(t *testing.T) {
	eachPowered(t, func(t *testing.T, fs filesystem, s scenario) {
		d, l := newLoggedDisk(t, fs)
		report(t, newSandbox(t, d, built, s).sweepLog(l, cutsOfLog()))
	})
}

// TestBlockLogControls: the block log detects the deliberate bugs that power cuts detect.
func TestBlockLogControls(t *testing.T) {
	needLevel(t)
	scenarios := map[string]scenario{
		"outcome before the barrier": repairWithFreeSpace(tree),
		"synchronous=NORMAL":         besideWal(sqlite),
		"rename without data sync":   repairSecond(tree),
	}
	for _, c := range controls {
		s, ok := scenarios[c.name]
		if !ok || !c.isTested() {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d, l := newLoggedDisk(t, ext4)
			sum := newSandbox(t, d, c.build(t), s).sweepLog(l, 1000)
			if len(sum.problems) == 0 {
				t.Fatalf("no problem was found in %d cuts, -seed %d", sum.Cuts, seed())
			}
			t.Logf("found in cut %d: %.600s", sum.Cuts, sum.problems[0])
		})
	}
}
