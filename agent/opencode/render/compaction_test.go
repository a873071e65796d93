package render_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/provider/anthropic"
	"mend/internal/request"
	"mend/internal/test/storetest"
)

// outline returns the texts of each turn, and the types of its other blocks.
func outline(q render.Request) string {
	var turns []string
	for _, t := range q.Turns {
		var blocks []string
		for _, b := range t.Blocks {
			if b.Type != request.Text {
				b.Text = "<" + string(b.Type) + ">"
			}
			blocks = append(blocks, b.Text)
		}
		turns = append(turns, t.Role[:1]+": "+strings.Join(blocks, ", "))
	}
	return strings.Join(turns, "\n")
}

// compaction adds a finished compaction with a part for each of tails: the id of the first message that it kept, or "".
func (b *builder) compaction(tails ...string) {
	b.marker(tails...)
	b.answer(fields{"agent": "compaction", "mode": "compaction", "summary": true, "finish": "stop"}, stepStartPart(), textPart("a summary"))
}

// marker adds a prompt that starts a compaction.
func (b *builder) marker(tails ...string) {
	var parts []fields
	for _, tail := range tails {
		p := fields{"type": "compaction", "auto": true}
		if tail != "" {
			p["tail_start_id"] = tail
		}
		parts = append(parts, p)
	}
	b.prompt(parts...)
}

// newLoopBuilder returns a session with a tool loop, and the id of the message that ends the loop.
func newLoopBuilder() (b *builder, done string) {
	b = newBuilder()
	b.prompt(textPart("one"))
	b.assistant(stepStartPart(), thinkingPart("hm"), toolPart("toolu_1", "output"))
	b.assistant(stepStartPart(), textPart("done"))
	done = b.last()
	b.prompt(textPart("two"))
	b.assistant(stepStartPart(), textPart("hello"))
	return b, done
}

// The outlines of the session, of a compaction's prompt and of the next prompt.
const (
	loopOutline = "u: one\na: <thinking>, <tool_use>\nu: <tool_result>\na: done\nu: two\na: hello"
	asked       = "u: What did we do so far?\n"
	oneMore     = "\nu: (the next prompt)"
)

// TestCompaction: the request has the messages that a compaction keeps, also if they start inside a tool loop or a part
// of the compaction is damaged (docs/opencode.md F2). The provider accepts it. TestPrediction compares this with the
// real program (tailTrials).
func TestCompaction(t *testing.T) {
	for _, c := range []struct {
		name, profile string
		add           func(b *builder, done string)
		want          string
	}{
		{"tail starts in a loop", "1.18.26", func(b *builder, done string) { b.compaction(done) }, asked + "a: a summary, done\nu: two\na: hello" + oneMore},
		{"tail starts in a loop", "1.2.27", func(b *builder, done string) { b.compaction(done) }, asked + "a: a summary" + oneMore},
		{"tail starts at a missing message", "1.18.26", func(b *builder, _ string) { b.compaction("msg_x") }, loopOutline + "\n" + asked + "a: a summary" + oneMore},
		{"second compaction without tail", "1.18.26", func(b *builder, done string) {
			b.compaction(done)
			b.prompt(textPart("three"))
			b.assistant(stepStartPart(), textPart("bye"))
			b.compaction("")
		}, asked + "a: a summary" + oneMore},
		{"second compaction keeps the first", "1.18.26", func(b *builder, done string) {
			b.compaction("")
			b.prompt(textPart("three"))
			b.assistant(stepStartPart(), textPart("bye"))
			b.compaction(done)
		}, asked + "a: a summary, done\nu: two\na: hello\n" + asked + "a: a summary\nu: three\na: bye" + oneMore},
		{"second marker of a prompt without tail", "1.18.26", func(b *builder, done string) { b.compaction(done, "") }, "u: What did we do so far?, What did we do so far?\na: a summary, done\nu: two\na: hello" + oneMore},
		{"first marker of a prompt without tail", "1.18.26", func(b *builder, done string) { b.compaction("", done) }, "u: What did we do so far?, What did we do so far?\na: a summary" + oneMore},
		{"stale marker", "1.18.26", func(b *builder, _ string) {
			b.marker("")
			b.assistant(stepStartPart(), textPart("bye"))
		}, loopOutline + "\n" + asked + "a: bye" + oneMore},
		{"stale marker in a loop", "1.18.26", func(b *builder, _ string) {
			b.prompt(textPart("three"))
			b.assistant(stepStartPart(), toolPart("toolu_2", "output"))
			b.marker("")
			b.assistant(stepStartPart(), textPart("bye"))
		}, loopOutline + "\nu: three\na: <tool_use>\nu: <tool_result>, What did we do so far?\na: bye" + oneMore},
		{"stale marker with a tail", "1.18.26", func(b *builder, done string) {
			b.marker(done)
			b.assistant(stepStartPart(), textPart("bye"))
		}, loopOutline + "\n" + asked + "a: bye" + oneMore},
		{"compaction to be done", "1.18.26", func(b *builder, done string) { b.marker(done) }, "u: (the next prompt)"},
	} {
		t.Run(fmt.Sprintf("%s, %s", c.name, c.profile), func(t *testing.T) {
			b, done := newLoopBuilder()
			c.add(b, done)
			q := render.Render(&b.Session, render.Settings{Profile: render.ProfileFor(c.profile)})
			if got := outline(q); got != c.want {
				t.Errorf("Render:\n%s\nwant:\n%s", got, c.want)
			}
			if v := render.Check(anthropic.Provider{}, q, true); len(v) > 0 {
				t.Errorf("Check = %+v, want no violation", v)
			}
		})
	}
}

// TestThinkingOff: with thinking off a session may contain thinking, except in an assistant message that the model
// continues.
func TestThinkingOff(t *testing.T) {
	for _, c := range []struct {
		name string
		last fields // a part of the last answer
		want string
	}{
		{"loop closed", textPart("hello"), ""},
		{"loop open", toolPart("toolu_2", "output"), "R4"},
	} {
		b, _ := newLoopBuilder()
		b.assistant(stepStartPart(), thinkingPart("hm"), c.last)
		got := ""
		if v := render.Check(anthropic.Provider{}, render.Render(&b.Session, render.Settings{}), false); len(v) > 0 {
			got = v[0].Rule
		}
		if got != c.want {
			t.Errorf("%s: Check finds %q, want %q", c.name, got, c.want)
		}
	}
}

// TestLongSession: a session of 50,000 messages is rendered in seconds. Quadratic work would take minutes.
func TestLongSession(t *testing.T) {
	storetest.NeedAllCases(t)
	const n = 50_000
	one := func(role, parts string) func(i int) (string, string) {
		return func(int) (string, string) { return role, parts }
	}
	for name, message := range map[string]func(i int) (role, part string){
		"answers":     one("assistant", `{"type":"text","text":"x"}`),
		"compactions": one("user", `{"type":"compaction","auto":true,"tail_start_id":"msg_x"}`),
		"calls": func(i int) (string, string) {
			return "assistant", fmt.Sprintf(`{"type":"tool","callID":"toolu_%d","tool":"x","state":{"status":"error","error":"x","input":{}}}`, i)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &record.Session{Head: change.Head{ID: "ses_1"}}
			for i := range n {
				role, part := message(i)
				m := record.NewMessage(rawRecord("message", i, fmt.Sprintf(`{"role":%q,"time":{"created":%d},"finish":"stop","tokens":{"cache":{}}}`, role, start+i)))
				m.Parts = []record.Part{record.NewPart(rawRecord("part", i, part))}
				s.Messages = append(s.Messages, m)
			}
			start := time.Now()
			for _, p := range []string{"1.15.0", ""} {
				q := render.Render(s, render.Settings{Profile: render.ProfileFor(p)})
				render.Check(anthropic.Provider{}, q, true)
				render.Check(anthropic.Provider{}, q, false)
			}
			if took := time.Since(start); took > time.Minute {
				t.Errorf("rendering took %v", took)
			}
		})
	}
}

func rawRecord(kind string, i int, data string) change.Record {
	ref := change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: fmt.Sprintf("msg_%06d", i)}
	if kind == "part" {
		ref.Kind, ref.Part = change.KindPart, fmt.Sprintf("prt_%06d", i)
	}
	return change.Record{Ref: ref, Data: []byte(data), Cols: change.NewCols(change.IntCol("time_created", int64(start+i)))}
}
