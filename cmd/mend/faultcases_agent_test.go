package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/journal"
)

// An agentWriter continuously writes parts of the session, as OpenCode does, each time with a new token.
type agentWriter struct {
	write func(part damage.Record, data string) error
	drop  func(part damage.Record) error // removes a part, unless it is nil
	parts []damage.Record

	wrote map[string]string // the last token by part
	count int
	err   error
	pause atomic.Int64 // length of an occasional pause in ns, so that mend can finish
}

// run writes until stop is closed. Every fourth text is blank, which is damage.
func (a *agentWriter) run(stop <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	r := rand.New(rand.NewPCG(1, 2))
	for ; a.err == nil; a.count++ {
		pause := time.Duration(r.IntN(4)) * time.Millisecond
		if r.IntN(16) == 0 {
			pause = time.Duration(a.pause.Load())
		}
		select {
		case <-stop:
			return
		case <-time.After(pause):
		}
		p := a.parts[r.IntN(len(a.parts))]
		if a.drop != nil && r.IntN(8) == 0 {
			delete(a.wrote, p.ID)
			a.err = a.drop(p)
			continue
		}
		token := fmt.Sprintf("written-by-the-agent-%d.", a.count)
		text := []string{" \n", "a", "b", "c"}[r.IntN(4)]
		a.wrote[p.ID] = token
		a.err = a.write(p, p.Edit(func(v map[string]any) { v["text"], v["agent"] = text, token }).Data)
	}
}

// filesAgent returns an agent that truncates and writes files, as OpenCode does. It creates no folder.
func filesAgent(sb sandbox) *agentWriter {
	path := func(p damage.Record) string { return filepath.Join(sb.store, "part", p.Owner, p.ID+".json") }
	return &agentWriter{
		write: func(p damage.Record, data string) error { return os.WriteFile(path(p), []byte(data), 0o644) },
		drop: func(p damage.Record) error {
			if err := os.Remove(path(p)); !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			return nil
		},
	}
}

// rowsAgent returns an agent that updates rows, and inserts rows that mend deleted.
func rowsAgent(sb sandbox) *agentWriter {
	return &agentWriter{write: func(p damage.Record, data string) (err error) {
		var failed failure
		done := make(chan struct{})
		go func() { // Fatal ends this goroutine
			defer close(done)
			sql := damage.SQL(&failed, sb.store)
			sql("INSERT INTO part (id, message_id, session_id, time_created, time_updated, data) VALUES (?, ?, ?, '1', '1', ?)"+
				" ON CONFLICT (id) DO UPDATE SET data = excluded.data", p.ID, p.Owner, sb.session, data)
		}()
		<-done
		return failed.err
	}}
}

// A failure keeps the error of a Fatal.
type failure struct{ err error }

func (f *failure) Fatal(args ...any) {
	f.err = errors.New(fmt.Sprint(args...))
	runtime.Goexit()
}

// TestCase23to26AgentWritesFiles: repairs and undos lose nothing that an agent writes to files at the same time.
func TestCase23to26AgentWritesFiles(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t, damage.Versions[0], "")
	sb.testBesideAgent(filesAgent(sb))
}

// TestCase27to29AgentWritesRows: repairs and undos lose nothing that an agent writes to rows at the same time.
func TestCase27to29AgentWritesRows(t *testing.T) {
	t.Parallel()
	sb := newSandbox(t, damage.Versions[2], "")
	sb.testBesideAgent(rowsAgent(sb))
}

// testBesideAgent repairs and undoes while the agent writes. At the end the last token of each part is in the store,
// among the kept files, or in the journal, and each conflict was printed.
func (sb sandbox) testBesideAgent(a *agentWriter) {
	sb.Helper()
	sb.addBlankTexts(30)
	a.parts, a.wrote = damage.Parts(sb.open(), damage.Hello, "text"), map[string]string{}
	stop, done := make(chan struct{}), make(chan struct{})
	go a.run(stop, done)
	end := sync.OnceFunc(func() { close(stop); <-done })
	defer end()
	count := map[int]int{}
	start, enough := time.Now(), time.Duration(tortureCount(1, 60))*time.Second
	for round := 0; round < 1000 && (time.Since(start) < enough || count[frame.ExitDone] < 2 || count[frame.ExitConflict] < 2); round++ {
		began := time.Now()
		args := []string{"repair", "--yes", sb.session, "--force"}
		if round%2 == 1 {
			args = []string{"undo", "--yes", "--session", sb.session}
		}
		r := sb.mend(args...)
		count[r.code]++
		a.pause.Store(int64(2 * time.Since(began)))
		switch r.code {
		case frame.ExitDone, frame.ExitProblems, frame.ExitRefused:
		case frame.ExitConflict:
			sb.wantOutput(r, "what the repair did:")
			sb.wantOutput(r, "later changes:")
		default:
			sb.Fatalf("mend %s: exit code %d\n%s", args[0], r.code, r.err)
		}
	}
	end()
	if a.err != nil {
		sb.Fatal(a.err)
	}
	sb.mustExit(frame.ExitDone, "recover")
	sb.mustExit(frame.ExitDone, "verify")
	sb.Logf("%d writes of the agent; exit codes of mend and how often: %v", a.count, count)
	all := sb.allText()
	for id, token := range a.wrote {
		if !strings.Contains(all, token) {
			sb.Errorf("the last write of the agent to %s is lost", id)
		}
	}
	if count[frame.ExitDone] == 0 || count[frame.ExitConflict] == 0 {
		sb.Errorf("the exit codes are %v, want some %d and some %d", count, frame.ExitDone, frame.ExitConflict)
	}
}

// allText returns all bytes in the store and the journal.
func (sb sandbox) allText() string {
	sb.Helper()
	var b strings.Builder
	for _, content := range sb.snapshot() {
		b.WriteString(content)
	}
	o := mend.Options{Agents: agents.All, Journal: mend.OpenJournal(filepath.Join(sb.dir, "state", "mend"))}
	es, err := o.Journal.Log(journal.Query{})
	if err != nil {
		sb.Fatal(err)
	}
	for _, e := range es {
		_, ops, err := o.Journal.Show(e.ID)
		if err != nil {
			sb.Fatal(err)
		}
		for _, op := range ops {
			for _, i := range []*change.Image{op.Pre, op.Post} {
				if i != nil {
					b.Write(i.Data)
				}
			}
		}
	}
	return b.String()
}
