//go:build e2e

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
)

// An agentPool has instances of the real program of one version, one for each concurrent prompt.
type agentPool struct{ benches chan *opencode.StoreRunner }

func newAgentPool(t *testing.T, version, n int) agentPool {
	t.Helper()
	exe, err := opencode.Install(damage.Versions[version])
	if err != nil {
		t.Fatal(err)
	}
	w := agentPool{make(chan *opencode.StoreRunner, n)}
	for range n {
		api := endpoint.New(uniqueAnswer)
		t.Cleanup(api.Close)
		bench := opencode.New(t, exe, api, true).ServeStores(fixtures[version])
		bench.DropLate()
		w.benches <- bench
	}
	return w
}

// newAnswered returns a home of the real program with an endpoint that answers each prompt with [uniqueAnswer].
func newAnswered(t *testing.T, version string) *opencode.Home {
	t.Helper()
	exe, err := opencode.Install(version)
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.New(uniqueAnswer)
	t.Cleanup(api.Close)
	return opencode.New(t, exe, api, false)
}

// uniqueAnswer returns an answer that no fixture has, because an endpoint recognises its own answers (R8).
func uniqueAnswer(n int, r endpoint.Request) endpoint.Content {
	answer := endpoint.Plain(n, r)
	for i, b := range answer {
		if b.Type == "text" {
			answer[i].Text = "Fresh: " + b.Text
		}
	}
	return answer
}

// A trial repairs one damaged session and prompts the real program.
type trial struct {
	*testStore
	agents  agentPool
	damaged map[string]string // the content of the damaged store
	before  opencode.Result   // of a prompt to the damaged session
}

// start sends the first prompt to the damaged session.
func (w agentPool) start(ts *testStore) *trial {
	ts.Helper()
	c := &trial{testStore: ts, agents: w, damaged: ts.snapshot()}
	c.before = c.prompt()
	return c
}

// prompt sends a prompt to a copy of the session.
func (c *trial) prompt() opencode.Result {
	c.Helper()
	bench := <-c.agents.benches
	defer func() { c.agents.benches <- bench }()
	r, err := bench.Try(c.data)
	if err != nil {
		c.Fatal(err)
	}
	return r
}

// unknowable reports whether the verdict depends on a signature, which only the provider can check.
func unknowable(verdict string) bool { return verdict == "R7" || verdict == "R8" }

// checkPrediction compares the result of mend scan with what the real program did.
func (c *trial) checkPrediction() {
	c.Helper()
	real, said := c.before.Verdict, c.scan()
	if said.busy {
		c.Error("mend scan reports a session as busy although no process uses its store")
	}
	if unknowable(real) {
		return
	}
	if broken := said.severity == "broken"; broken != (real != opencode.Alive) {
		c.Errorf("mend scan says %s, the real program is %s:\n%s", said.severity, real, said.out)
	}
	if !strings.HasPrefix(real, "R") {
		return
	}
	if !said.hasBroken(real) {
		c.Errorf("mend scan does not name %s, which the real program broke: %s\n%s", real, c.before.Calls[0].Message, said.out)
	}
	if first := c.firstViolation(); first != real {
		c.Errorf("mend scan --request names %q first, the real program broke %s", first, real)
	}
}

// repair runs mend fix, and reports whether it changed anything.
func (c *trial) repair(args ...string) bool {
	c.Helper()
	before := c.snapshot()
	code, out := c.mend(append([]string{"repair", c.session, "--yes"}, args...)...)
	if code != frame.ExitDone {
		c.Errorf("mend fix %s: exit code %d:\n%s", strings.Join(args, " "), code, out)
	}
	return !cmp.Equal(before, c.snapshot())
}

// checkUntouched checks that a repair does not change a session that is not broken.
func (c *trial) checkUntouched() {
	c.Helper()
	c.repair()
	if diff := cmp.Diff(c.damaged, c.snapshot()); diff != "" {
		c.Fatalf("mend fix changed a session that works in the real program (-before +after):\n%s", diff)
	}
}

// repairUntilAlive repairs until the real program answers: once, and again for each signature that the provider
// refuses. It returns the verdict of the last prompt.
func (c *trial) repairUntilAlive(signatures int, args ...string) (verdict string) {
	c.Helper()
	last := c.before
	if c.repair(args...) {
		last = c.prompt()
	}
	for ; signatures > 0 && unknowable(last.Verdict); signatures-- {
		c.repair("--error", providerMessage(last))
		last = c.prompt()
	}
	if last.Verdict != opencode.Alive {
		c.Errorf("after the repair the real program is %s, before it was %s; its reply:\n%.800s", last.Verdict, c.before.Verdict, last.Output)
	}
	return last.Verdict
}

// providerMessage returns the provider's reply to the last request.
func providerMessage(r opencode.Result) string { return r.Calls[len(r.Calls)-1].Message }

// checkUndo undoes all repairs, and checks that the store is identical and, except in a short run, that the real
// program fails as before.
func (c *trial) checkUndo() {
	c.Helper()
	if cmp.Equal(c.damaged, c.snapshot()) {
		return
	}
	if code, out := c.mend("undo", "--yes", "--session", c.session); code != frame.ExitDone {
		c.Fatalf("mend undo: exit code %d:\n%s", code, out)
	}
	if diff := cmp.Diff(c.damaged, c.snapshot()); diff != "" {
		c.Fatalf("undo did not restore the store (-want +got):\n%s", diff)
	}
	if code, out := c.mend("verify"); code != frame.ExitDone {
		c.Errorf("mend verify: exit code %d:\n%s", code, out)
	}
	if testing.Short() { // the same bytes
		return
	}
	if r := c.prompt(); r.Verdict != c.before.Verdict {
		c.Errorf("after undo the real program is %s, before the repair it was %s; its reply:\n%.800s", r.Verdict, c.before.Verdict, r.Output)
	}
}

// checkSuspects repairs by the error of the provider, which must change or name the damaged records.
func (c *trial) checkSuspects(hurt []string) {
	c.Helper()
	var answer struct {
		Repairs []struct{ Ops, Suspects []struct{ Record string } }
	}
	_, out := c.runJSON(&answer, "repair", c.session, "--dry-run", "--error", providerMessage(c.before))
	var touched []string
	for _, r := range answer.Repairs {
		for _, op := range append(r.Ops, r.Suspects...) {
			touched = append(touched, op.Record[strings.LastIndex(op.Record, "/")+1:])
		}
	}
	for _, id := range hurt {
		if !slices.Contains(touched, id) {
			c.Errorf("mend fix --error touches %v, not %s, which is at fault:\n%s", touched, id, out)
		}
	}
}
