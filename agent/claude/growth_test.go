package claude_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"time"

	"mend/agent"
	fixture "mend/internal/test/claude"
	"mend/repair"
)

// A shape is a kind of transcript that takes long to load: write returns one of n records.
type shape struct {
	name  string
	write func(n int) []byte
}

var shapes = []shape{
	{"breaks", func(n int) []byte { // every fourth record has a missing parent
		var b bytes.Buffer
		for i := range n {
			parent := i - 1
			if i%4 == 0 {
				parent = i + 1_000_000
			}
			writeRecord(&b, i, parent, fmt.Sprintf(`[{"type":"text","text":"%d"}]`, i), "")
		}
		return b.Bytes()
	}},
	{"reversed", func(n int) []byte { // each record is before its parent
		var b bytes.Buffer
		for i := range n {
			writeRecord(&b, n-1-i, n-2-i, fmt.Sprintf(`[{"type":"text","text":"%d"}]`, i), "")
		}
		return b.Bytes()
	}},
	{"parallel calls", func(n int) []byte { // one prompt, then answers with two calls each; one of the results is a parent
		var b bytes.Buffer
		writeRecord(&b, 0, -1, `"go"`, "")
		for i := 1; i < n; i += 4 {
			for k := range 2 {
				writeRecord(&b, i+k, i+k-1, fmt.Sprintf(`[{"type":"tool_use","id":"toolu_%d","name":"Bash","input":{}}]`, i+k), fmt.Sprintf("msg_%d", i))
			}
			for k := range 2 {
				writeRecord(&b, i+2+k, i+k, fmt.Sprintf(`[{"type":"tool_result","tool_use_id":"toolu_%d","content":"ok"}]`, i+k), "")
			}
		}
		return b.Bytes()
	}},
	{"invalid calls of one answer", func(n int) []byte {
		var b bytes.Buffer
		writeRecord(&b, 0, -1, `"go"`, "")
		for i := 1; i < n; i++ {
			writeRecord(&b, i, i-1, fmt.Sprintf(`[{"type":"tool_use","id":"toolu.%d","name":"Bash","input":{}}]`, i), "msg_1")
		}
		return b.Bytes()
	}},
	{"one call id", func(n int) []byte { // an answer with many calls, and results with a prompt as parent
		var b bytes.Buffer
		writeRecord(&b, 0, -1, `"go"`, "")
		for i := range n / 2 {
			writeRecord(&b, 1+i, 0, `[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]`, "")
		}
		writeRecord(&b, n/2+1, 0, `[{"type":"text","text":"I begin."}]`, "msg_1")
		for i := n/2 + 2; i < n; i++ {
			writeRecord(&b, i, i-1, `[{"type":"tool_use","id":"toolu_1","name":"Bash","input":{}}]`, "msg_1")
		}
		writeRecord(&b, n, n-1, `"go on"`, "")
		return b.Bytes()
	}},
}

// writeRecord writes a record of the answer with an id, or of the user if the id is "". Records are a minute apart, so
// that Claude Code does not choose a parent by its time.
func writeRecord(b *bytes.Buffer, i, parent int, content, answer string) {
	id := func(n int) string {
		if n < 0 {
			return "null"
		}
		return fmt.Sprintf(`"%08x-0000-4000-8000-000000000000"`, n)
	}
	kind, message := "user", ""
	if answer != "" {
		kind, message = "assistant", fmt.Sprintf(`"id":%q,"model":"claude-opus-4-5",`, answer)
	}
	fmt.Fprintf(b, `{"parentUuid":%s,"isSidechain":false,"type":%q,"message":{"role":%[2]q,%s"content":%s},"uuid":%s,"timestamp":%q,"sessionId":%q,"version":"2.1.330"}`+"\n",
		id(parent), kind, message, content, id(i), mtime.Add(time.Duration(i)*time.Minute).Format(time.RFC3339), fixture.Session)
}

// examine examines the only session.
func (s testStore) examine() agent.Examination {
	s.t.Helper()
	opened, head := s.open()
	x, err := opened.Examine(s.t.Context(), head, repair.Options{})
	must(s.t, err)
	return x
}

// allocated returns the number of bytes that a function allocates.
func allocated(f func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc - before.TotalAlloc)
}

// TestManyBreaks: all breaks of a transcript are found and repaired at once, however many there are.
func TestManyBreaks(t *testing.T) {
	s := newTestStore(t, "none")
	const n = 1600
	s.write(shapes[0].write(n))
	if got := len(s.examine().Diagnoses); got != n/4-1 {
		t.Errorf("%d findings, want %d", got, n/4-1)
	}
	c := s.client()
	head, err := c.Session(t.Context(), fixture.Session)
	must(t, err)
	r, err := c.ProposeRepair(t.Context(), head, repair.Request{})
	if err != nil || len(r.Fixed) != n/4-1 || len(r.Remaining) != 0 || len(r.Plan.Ops) != n/4-1 {
		t.Errorf("%d fixed, %d remain, %d records are written, %v; want all of %d", len(r.Fixed), len(r.Remaining), len(r.Plan.Ops), err, n/4-1)
	}
}

// TestManyLostLineEnds: records that follow another one on the same line are read, all in one repair. Then the
// conversation is complete: no record is skipped.
func TestManyLostLineEnds(t *testing.T) {
	s := newTestStore(t, "none")
	const n, lost = 2000, 33
	var b bytes.Buffer
	for i := range n / 2 {
		writeRecord(&b, 2*i, 2*i-1, fmt.Sprintf(`"%d"`, i), "")
		writeRecord(&b, 2*i+1, 2*i, `[{"type":"text","text":"ok"}]`, fmt.Sprintf("msg_%d", i))
	}
	lines := bytes.SplitAfter(b.Bytes(), []byte("\n"))
	for i := range lost {
		at := 100 + i*57
		lines[at] = bytes.TrimSuffix(lines[at], []byte("\n"))
	}
	s.write(bytes.Join(lines, nil))
	c := s.client()
	head, err := c.Session(t.Context(), fixture.Session)
	must(t, err)
	r, err := c.ProposeRepair(t.Context(), head, repair.Request{})
	if err != nil || len(r.Remaining) != 0 || len(r.Plan.Ops) != lost || r.SentAfter != n {
		t.Errorf("%d remain, %d records are written, %d blocks are sent, %v; want 0, %d, %d", len(r.Remaining), len(r.Plan.Ops), r.SentAfter, err, lost, n)
	}
}

// TestGrowth: a transcript of twice the records takes no more than 2.5 times the memory to load.
func TestGrowth(t *testing.T) {
	s := newTestStore(t, "none")
	for _, shape := range shapes {
		load := func(n int) float64 {
			s.write(shape.write(n))
			return allocated(func() { s.examine() })
		}
		if small, large := load(1000), load(2000); large > 2.5*small {
			t.Errorf("%s: %.0f MB for 1000 records, %.0f for 2000", shape.name, small/1e6, large/1e6)
		}
	}
}
