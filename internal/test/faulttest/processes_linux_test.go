package faulttest_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var crowdFor = flag.Duration("crowd", 0, "how long a crowd works on one store; 0: five seconds, in torture ten minutes")

func crowdTime() time.Duration {
	switch {
	case *crowdFor > 0:
		return *crowdFor
	case level() == "torture":
		return 10 * time.Minute
	}
	return 5 * time.Second
}

// A crowd is an agent and three processes of mend that work on the same store. The processes of mend are killed at random
// times.
type crowd struct {
	*sandbox
	agent *agentWriter

	mu       sync.Mutex
	problems []string
	ends     map[string]int // the number of runs of mend, by how they ended
	printed  []string       // ids of repairs
}

func (c *crowd) problem(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// TestManyProcesses: after several programs have worked on a store at once, a recovery leaves it consistent, and no write is
// lost.
func TestManyProcesses(t *testing.T) {
	needLevel(t)
	for _, k := range []kind{tree, sqlite} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			for i, p := range newCrowd(t, built, k).run(crowdTime()) {
				if i == 5 {
					t.Fatal("there are more problems")
				}
				t.Errorf("%s\nagain: go test ./internal/test/faulttest -run TestManyProcesses -crowd %v -seed %d", p, crowdTime(), seed())
			}
		})
	}
}

// TestManyProcessesControl: a crowd detects that mend does not compare exchanged files, because writes of the agent are lost.
func TestManyProcessesControl(t *testing.T) {
	needLevel(t)
	t.Parallel()
	i := slices.IndexFunc(controls, func(c control) bool { return c.name == "no comparison after the exchange" })
	c := newCrowd(t, controls[i].build(t), tree)
	for range 20 {
		if problems := c.run(5 * time.Second); len(problems) > 0 {
			t.Logf("found: %.600s", problems[0])
			return
		}
	}
	t.Errorf("no problem was found, -seed %d", seed())
}

func newCrowd(t *testing.T, bin binaries, k kind) *crowd {
	return &crowd{sandbox: newSandbox(t, nil, bin, repairFirst(k)), ends: map[string]int{}}
}

// run runs the crowd on a new store, and returns the problems found.
func (c *crowd) run(d time.Duration) (problems []string) {
	c.Helper()
	c.begin()
	c.agent, c.printed, c.problems = newAgentWriter(c.sandbox, c.rng(0)), nil, nil
	c.work(d)
	c.settle()
	c.check()
	c.Logf("the agent wrote %d times; mend ended with %v and printed %d ids", c.agent.writes, c.ends, len(c.printed))
	return c.problems
}

func (c *crowd) rng(who uint64) *rand.Rand { return rand.New(rand.NewPCG(seed(), who)) }

// work runs all programs until the time is over.
func (c *crowd) work(d time.Duration) {
	ctx, cancel := context.WithTimeout(c.Context(), d)
	defer cancel()
	var all sync.WaitGroup
	for who := range uint64(3) {
		all.Go(func() {
			for rng := c.rng(1 + who); ctx.Err() == nil; {
				c.runVerb(rng)
			}
		})
	}
	if err := c.agent.work(ctx); err != nil {
		c.problem("%v", err)
	}
	all.Wait()
	if err := c.agent.writer.close(); err != nil {
		c.problem("the agent: %v", err)
	}
}

// verb returns a random verb that writes, or a scan; undos and redos are mostly of new changes.
func (c *crowd) verb(rng *rand.Rand) []string {
	id := "bababa"
	c.mu.Lock()
	if n := len(c.printed); n > 0 {
		id = c.printed[n-1-rng.IntN(min(n, 4))]
	}
	c.mu.Unlock()
	if rng.IntN(32) == 0 { // rarely, because an entry without its bytes cannot be undone
		return []string{"gc", "--older-than", "2s", "--yes"}
	}
	return [][]string{
		{"repair", "--yes", c.session, "--force"},
		{"repair", "--yes", c.session, "--force"},
		{"repair", "--yes"},
		{"scan"},
		{"undo", "--yes", id},
		{"redo", "--yes", id},
		{"undo", "--yes", "--session", c.session},
		{"recover"},
	}[rng.IntN(8)]
}

// runVerb runs a random verb, and kills every second one at a random time.
func (c *crowd) runVerb(rng *rand.Rand) {
	verb := c.verb(rng)
	cmd := exec.Command(c.mend.Path, append(verb, "--store", c.store)...)
	var out, errOut bytes.Buffer
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = c.mend.Env, c.mend.Dir, &out, &errOut
	if err := cmd.Start(); err != nil {
		c.problem("%v", err)
		return
	}
	life := verbTimeout
	if rng.IntN(2) == 0 {
		life = time.Duration(rng.IntN(150)) * time.Millisecond
	}
	killer := time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
	_ = cmd.Wait() // the exit code is checked
	killed := !killer.Stop()
	code := cmd.ProcessState.ExitCode()
	switch {
	case killed && life == verbTimeout:
		c.problem("mend %s does not end", strings.Join(verb, " "))
	case code == 4 || code > 6 || code < 0 && !killed || strings.Contains(errOut.String(), "goroutine "):
		c.problem("mend %s: exit code %d\n%s%s", strings.Join(verb, " "), code, &out, &errOut)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends[fmt.Sprintf("%s %d", verb[0], code)]++
	c.printed = append(c.printed, ids(out.String())...)
}
