//go:build e2e

package main

import (
	"bytes"
	"testing"

	"mend/internal/test/damage"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// TestTrimReal checks with the real program that outputs that are trimmed are no longer
// sent, that what came before a compaction is sent again after it is removed, and that
// the prompt is answered in both cases.
func TestTrimReal(t *testing.T) {
	storetest.Long(t)
	t.Parallel()
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			pool := newAgentPool(t, i, 1)
			long := bytes.Repeat([]byte("y"), 8000)
			ts := newTestStore(t, i)
			damage.Edit(ts, ts.path, ts.session, damage.ByName(t, damage.LongOutputs))
			c := pool.start(ts)
			body := func(r opencode.Result) []byte {
				t.Helper()
				if r.Verdict != opencode.Alive || len(r.Calls) == 0 {
					t.Fatalf("the prompt = %s; reply:\n%.500s", r.Verdict, r.Output)
				}
				return r.Calls[0].Raw
			}
			if n := bytes.Count(body(c.before), long); n != 3 {
				t.Fatalf("%d long outputs before, want 3", n)
			}
			if code, out := ts.mend("trim", "--yes", ts.session, "--to", "3000", "--keep-turns", "0"); code != exitDone {
				t.Fatalf("mend trim: exit code %d:\n%s", code, out)
			}
			sent := body(c.prompt())
			if n, cleared := bytes.Count(sent, long), bytes.Count(sent, []byte("[Old tool result content cleared]")); n != 1 || cleared != 2 {
				t.Errorf("after the trim %d long outputs and %d cleared ones are sent, want 1 and 2", n, cleared)
			}
			c.checkUndo()

			damage.Edit(ts, ts.path, ts.session, damage.ByName(t, damage.LongTexts))
			c = pool.start(ts)
			text, file := bytes.Repeat([]byte("t"), 4000), bytes.Repeat([]byte("A"), 4000)
			if sent := body(c.before); !bytes.Contains(sent, text) || !bytes.Contains(sent, file) {
				t.Fatal("the long text or the file is not sent before")
			}
			if code, out := ts.mend("trim", ts.session, "--to", "1000", "--keep-turns", "0", "--hard", "--yes"); code != exitDone {
				t.Fatalf("mend trim --hard: exit code %d:\n%s", code, out)
			}
			if sent := body(c.prompt()); bytes.Contains(sent, text) || bytes.Contains(sent, file) || bytes.Count(sent, []byte("taken out of this conversation")) != 2 {
				t.Errorf("after trim --hard the request is %.5000s", sent)
			}
			c.checkUndo()

			damage.Edit(ts, ts.path, ts.session, damage.ByName(t, "compacted"))
			c = pool.start(ts)
			if n := bytes.Count(body(c.before), long); n != 0 {
				t.Fatalf("%d long outputs behind a compaction, want 0", n)
			}
			if code, out := ts.mend("uncompact", "--yes", ts.session); code != exitDone {
				t.Fatalf("mend restore --compaction: exit code %d:\n%s", code, out)
			}
			if n := bytes.Count(body(c.prompt()), long); n != 3 {
				t.Errorf("%d long outputs after the compaction is taken back, want 3", n)
			}
			c.checkUndo()
		})
	}
}
