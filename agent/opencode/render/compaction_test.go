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

// compaction adds a finished compaction with a part for each of tails: the id of the first
// message that it kept, or "".
func (t *builder) compaction(tails ...string) {
	t.marker(tails...)
	t.message(fields{
		"role": "assistant", "parentID": t.last(), "agent": "compaction", "mode": "compaction", "summary": true, "finish": "stop",
		"providerID": "anthropic", "modelID": "claude-fake", "path": fields{"cwd": "/", "root": "/"}, "cost": 0, "tokens": tokens(),
	}, stepStartPart(), textPart("a summary"))
}

func (t *builder) marker(tails ...string) {
	var parts []fields
	for _, tail := range tails {
		p := fields{"type": "compaction", "auto": true}
		if tail != "" {
			p["tail_start_id"] = tail
		}
		parts = append(parts, p)
	}
	t.prompt(parts...)
}

// openLoop returns a session with a tool loop, and the id of the last assistant message.
func openLoop() (t *builder, done string) {
	t = newBuilder()
	t.prompt(textPart("one"))
	t.assistant(stepStartPart(), thinkingPart("hm"), toolPart("toolu_1", "output"))
	t.assistant(stepStartPart(), textPart("done"))
	done = t.last()
	t.prompt(textPart("two"))
	t.assistant(stepStartPart(), textPart("hello"))
	return t, done
}

const (
	asked    = "u: What did we do so far?\n"
	loop     = "u: one\na: <thinking>, <tool_use>\nu: <tool_result>"
	oneMore  = "\nu: (the next prompt)"
	untilNow = loop + "\na: done\nu: two\na: hello"
)

// TestCompaction checks which messages a compaction keeps, including kept messages that start inside a tool loop and a
// damaged part of the compaction (docs/opencode.md F2). TestPrediction compares this with the real program
// (tailTrials).
func TestCompaction(t *testing.T) {
	for _, c := range []struct {
		name, profile string
		make          func(t *builder, done string)
		want          string
		rule          string // of the first violation
	}{
		{"end starts in a loop", "1.18.26", func(t *builder, done string) { t.compaction(done) }, asked + "a: a summary, done\nu: two\na: hello" + oneMore, ""},
		{"end starts in a loop", "1.2.27", func(t *builder, done string) { t.compaction(done) }, asked + "a: a summary" + oneMore, ""},
		{"end starts nowhere", "1.18.26", func(t *builder, _ string) { t.compaction("msg_x") }, untilNow + "\n" + asked + "a: a summary" + oneMore, ""},
		{"second compaction without end", "1.18.26", func(t *builder, done string) {
			t.compaction(done)
			t.prompt(textPart("three"))
			t.assistant(stepStartPart(), textPart("bye"))
			t.compaction("")
		}, asked + "a: a summary" + oneMore, ""},
		{"second compaction keeps the first", "1.18.26", func(t *builder, done string) {
			t.compaction("")
			t.prompt(textPart("three"))
			t.assistant(stepStartPart(), textPart("bye"))
			t.compaction(done)
		}, asked + "a: a summary, done\nu: two\na: hello\n" + asked + "a: a summary\nu: three\na: bye" + oneMore, ""},
		{"second marker of a prompt without end", "1.18.26", func(t *builder, done string) { t.compaction(done, "") }, "u: What did we do so far?, What did we do so far?\na: a summary, done\nu: two\na: hello" + oneMore, ""},
		{"first marker of a prompt without end", "1.18.26", func(t *builder, done string) { t.compaction("", done) }, "u: What did we do so far?, What did we do so far?\na: a summary" + oneMore, ""},
		{"stale marker", "1.18.26", func(t *builder, _ string) {
			t.marker("")
			t.assistant(stepStartPart(), textPart("bye"))
		}, untilNow + "\n" + asked + "a: bye" + oneMore, ""},
		{"stale marker in a loop", "1.18.26", func(t *builder, _ string) {
			t.prompt(textPart("three"))
			t.assistant(stepStartPart(), toolPart("toolu_2", "output"))
			t.marker("")
			t.assistant(stepStartPart(), textPart("bye"))
		}, untilNow + "\nu: three\na: <tool_use>\nu: <tool_result>, What did we do so far?\na: bye" + oneMore, ""},
		{"stale marker with an end", "1.18.26", func(t *builder, done string) {
			t.marker(done)
			t.assistant(stepStartPart(), textPart("bye"))
		}, untilNow + "\n" + asked + "a: bye" + oneMore, ""},
		{"compaction to be done", "1.18.26", func(t *builder, done string) { t.marker(done) }, "u: (the next prompt)", ""},
	} {
		t.Run(fmt.Sprintf("%s, %s", c.name, c.profile), func(t *testing.T) {
			talk, done := openLoop()
			c.make(talk, done)
			q := render.Render(&talk.Session, render.Settings{Profile: render.ProfileFor(c.profile)})
			if got := outline(q); got != c.want {
				t.Errorf("Render:\n%s\nwant:\n%s", got, c.want)
			}
			rule := ""
			if v := render.Check(anthropic.Provider{}, q, true); len(v) > 0 {
				rule = v[0].Rule
			}
			if rule != c.rule {
				t.Errorf("Check says %q, want %q", rule, c.rule)
			}
		})
	}
}

// With thinking off a session may contain thinking, except in an assistant message that the model continues.
func TestThinkingOff(t *testing.T) {
	open := func(t *builder) { t.assistant(stepStartPart(), thinkingPart("hm"), toolPart("toolu_2", "output")) }
	for _, c := range []struct {
		name string
		more func(t *builder)
		want string
	}{
		{"loop closed", func(t *builder) { t.assistant(stepStartPart(), thinkingPart("hm"), textPart("hello")) }, ""},
		{"loop open", open, "R4"},
	} {
		talk, _ := openLoop()
		c.more(talk)
		got := ""
		if v := render.Check(anthropic.Provider{}, render.Render(&talk.Session, render.Settings{}), false); len(v) > 0 {
			got = v[0].Rule
		}
		if got != c.want {
			t.Errorf("%s: Check says %q, want %q", c.name, got, c.want)
		}
	}
}

// A session of 50,000 messages is rendered in seconds; quadratic work would take minutes.
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
			began := time.Now()
			for _, p := range []string{"1.15.0", ""} {
				q := render.Render(s, render.Settings{Profile: render.ProfileFor(p)})
				render.Check(anthropic.Provider{}, q, true)
				render.Check(anthropic.Provider{}, q, false)
			}
			if took := time.Since(began); took > time.Minute {
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
