//go:build e2e

package database

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/test/damage"
	"mend/internal/test/dbtest"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
)

// real returns a temporary home of the real program with a fixture, a running server, and the store as mend opens it.
func real(t *testing.T, version string) (h *opencode.Home, server *opencode.Server, s *Store, id string) {
	t.Helper()
	exe, err := opencode.Install(version)
	dbtest.Must(t, err)
	api := endpoint.New(nil)
	t.Cleanup(api.Close)
	h = opencode.New(t, exe, api, true)
	id = h.Unpack(dbtest.Fixtures[version])
	server = h.Serve()
	return h, server, open(t, h.DataDir(), Options{}), id
}

// setText returns the plan that writes a text into the answer Hello and, if beside is not empty, adds a part after it.
func setText(t *testing.T, s *Store, id, text, beside string) []change.Op {
	t.Helper()
	before := load(t, s, id)
	after := before.Clone()
	m := &after.Messages[damage.Hello]
	dbtest.Must(t, m.Parts[2].Set(jsonedit.Quote(text), "text"))
	if beside != "" {
		m.Insert(after.NewTextPart(m, m.Parts[2].ID+"0", beside))
	}
	return change.Diff(before.AllRecords, after.AllRecords)
}

// sent reports whether the last request of the result has the text.
func sent(r opencode.Result, text string) bool {
	return len(r.Calls) > 0 && strings.Contains(string(r.Calls[len(r.Calls)-1].Raw), text)
}

// TestBesideRealServer breaks and repairs a session, and undoes the repair, while a server runs. The server uses each
// change with its next prompt.
func TestBesideRealServer(t *testing.T) {
	for version := range dbtest.Fixtures {
		t.Run(version, func(t *testing.T) {
			before := time.Now()
			h, server, s, id := real(t, version)
			want := func(verdict string) opencode.Result {
				t.Helper()
				r := server.Prompt(id, "one more")
				if r.Verdict != verdict {
					t.Fatalf("the prompt is %s, want %s: %.500s", r.Verdict, verdict, r.Output)
				}
				return r
			}
			want(opencode.Alive)
			if held, err := s.Held(t.Context()); held.Before(before) || held.After(time.Now()) || err != nil {
				t.Errorf("Held = %v, %v, want a time after %v", held, err, before)
			}
			dbtest.Run(t, s, setText(t, s, id, " \n", ""))
			want("R11")

			events := tableRows(t, s, "event")
			fix := setText(t, s, id, "mended", "injected by mend")
			if out := dbtest.Run(t, s, fix); out.State != change.Committed {
				t.Fatalf("Commit = %+v", out)
			}
			if tableRows(t, s, "event") != events {
				t.Error("the repair touched the events")
			}
			if r := want(opencode.Alive); !sent(r, "mended") || !sent(r, "injected by mend") {
				t.Error("the repaired text is not in the request")
			}
			if out := dbtest.Run(t, s, change.Inverse(fix)); out.State != change.Committed {
				t.Fatalf("undo = %+v", out)
			}
			want("R11")

			// The agent also reads a change that does not change time_updated.
			dbtest.Run(t, s, withoutTimes(t, setText(t, s, id, "quietly", "")))
			if r := want(opencode.Alive); !sent(r, "quietly") {
				t.Error("a change with the old time_updated is not in the request")
			}

			server.Close()
			if r := h.Continue(id, "and one more"); r.Verdict != opencode.Alive || !sent(r, "quietly") {
				t.Errorf("after a restart the prompt is %s: %.500s", r.Verdict, r.Output)
			}
			dbtest.Dump(t, s.ID().Root)
		})
	}
}

// withoutTimes returns the plan without the changes of time_updated.
func withoutTimes(t *testing.T, ops []change.Op) []change.Op {
	t.Helper()
	for i, o := range ops {
		previous, err := change.RowOf(o.Ref, o.Pre)
		dbtest.Must(t, err)
		r, err := change.RowOf(o.Ref, o.Post)
		dbtest.Must(t, err)
		r.Cols = previous.Cols
		ops[i].Post = change.ImageOf(&r)
	}
	return ops
}

// tableRows returns the rows of a table, "" if there is no such table.
func tableRows(t *testing.T, s *Store, table string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(dbtest.DumpRows(t, s.ID().Root)) {
		if strings.HasPrefix(line, table+" ") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestManyChangesBesideRealServer sends prompts in one session while another session is changed and the change undone,
// 50 times. Neither side has an error, and no message is lost.
func TestManyChangesBesideRealServer(t *testing.T) {
	for version := range dbtest.Fixtures {
		t.Run(version, func(t *testing.T) {
			h, server, s, id := real(t, version)
			other := h.Run("hello").Session
			// The server opens the database with its first prompt, and then does not wait for a lock: its "PRAGMA
			// journal_mode = WAL" comes before its busy_timeout.
			if r := server.Prompt(other, "hello"); other == "" || r.Verdict != opencode.Alive {
				t.Fatalf("no second session: %.500s", r.Output)
			}
			count, previous := len(load(t, s, other).Messages), load(t, s, id)
			var prompts atomic.Int32
			stop := make(chan struct{})
			var wait sync.WaitGroup
			wait.Go(func() { prompt(t, server, other, stop, &prompts) })
			repairs, longest := mendAndUndo(t, s, id, func(n int) bool { return n < 50 || prompts.Load() < 10 && !t.Failed() })
			close(stop)
			wait.Wait()
			if len(change.Diff(previous.AllRecords, load(t, s, id).AllRecords)) != 0 {
				t.Error("the session differs from before the changes")
			}
			// A prompt with a tool call makes three messages: the prompt, the call and the answer.
			if got := len(load(t, s, other).Messages) - count; got != 3*int(prompts.Load()) {
				t.Errorf("%d messages of %d prompts, want three each", got, prompts.Load())
			}
			dbtest.Dump(t, s.ID().Root)
			t.Logf("%d prompts beside %d repairs and undos, the longest of %v", prompts.Load(), repairs, longest)
		})
	}
}

// prompt sends prompts until stop is closed.
func prompt(t *testing.T, server *opencode.Server, id string, stop <-chan struct{}, n *atomic.Int32) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		r := server.Prompt(id, "please TOOL")
		if r.Verdict != opencode.Alive || r.Code != 200 {
			t.Errorf("prompt %d is %s, status %d: %.500s", n.Load(), r.Verdict, r.Code, r.Output)
			return
		}
		n.Add(1)
	}
}

// mendAndUndo changes a session and undoes the change while more returns true. It returns the number of changes and the
// duration of the longest Commit.
func mendAndUndo(t *testing.T, s *Store, id string, more func(n int) bool) (n int, longest time.Duration) {
	t.Helper()
	for ; more(n); n++ {
		fix := setText(t, s, id, "mended", "injected")
		for _, ops := range [][]change.Op{fix, change.Inverse(fix)} {
			st, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
			dbtest.Must(t, err)
			begin := time.Now()
			if out, err := s.Commit(t.Context(), st); err != nil || out.State != change.Committed {
				t.Fatalf("Commit = %+v, %v", out, err)
			}
			longest = max(longest, time.Since(begin))
		}
	}
	return n, longest
}
