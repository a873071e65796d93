package repair_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// outputs is a session with results of tools. Each turn is a prompt and an answer that calls one.
func outputs() []message {
	out := func(n int) string { return strings.Repeat("x", 4*n) }
	turn := func(id, tool, input string, size int) []message {
		return []message{prompt(text("do")), answers(step(done(id, tool, input, out(size))), step(text("ok")))}
	}
	var all []message
	for _, t := range [][]message{
		turn("c1", "read", `{"f":1}`, 300), turn("c2", "bash", "{}", 900), turn("c3", "read", `{"f":1}`, 300),
		turn("c4", "skill", "{}", 2000), turn("c5", "ls", "{}", 10), turn("c6", "bash", `{"a":1}`, 400),
	} {
		all = append(all, t...)
	}
	return all
}

// TestTrimOutputs checks which outputs a trim clears, and their order.
func TestTrimOutputs(t *testing.T) {
	for _, x := range []struct {
		name string
		r    repair.TrimRequest
		want string // the calls of the outputs; * is a copy
	}{
		{"as small as can be", repair.TrimRequest{}, "c1* c4 c2 c6 c3"},
		{"a protected tool", repair.TrimRequest{Protected: []string{"Skill"}}, "c1* c2 c6 c3"},
		{"the newest turns stay", repair.TrimRequest{KeepTurns: 1}, "c1* c4 c2 c3"},
		{"all turns stay", repair.TrimRequest{KeepTurns: 9}, ""},
		{"only as many as are needed: the copy", repair.TrimRequest{Goal: 3800}, "c1*"},
		{"the copy and the largest", repair.TrimRequest{Goal: 3500}, "c1* c4"},
		{"nothing to do", repair.TrimRequest{Goal: 9000}, ""},
		{"of the window", repair.TrimRequest{Window: 10000, Percent: 36}, "c1* c4"},
		{"as the provider measured it", repair.TrimRequest{Window: 10000, Percent: 50, Actual: 5100}, "c1*"},
		{"the provider says that it is too long", repair.TrimRequest{Window: 100000, Percent: 50, TooLong: true}, "c1* c4"},
	} {
		s := newToy(claude, outputs()...)
		got, err := repair.Trim("ses_1", newCase(s), x.r)
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		var calls []string
		for _, o := range got.Outputs {
			id := ""
			for _, b := range s.Stored(o.Ref).Blocks() {
				if b.Ref() == o.Ref {
					id = b.ToolID
				}
			}
			if o.Copy {
				id += "*"
			}
			calls = append(calls, id)
		}
		if joined := strings.Join(calls, " "); joined != x.want {
			t.Errorf("%s: cleared %q, want %q (%d tokens before, %d after, goal %d)", x.name, joined, x.want, got.Before, got.After, got.Goal)
		}
		if (len(got.Plan.Ops) > 0) != (x.want != "") || got.After > got.Before {
			t.Errorf("%s: %d ops, %d tokens before, %d after", x.name, len(got.Plan.Ops), got.Before, got.After)
		}
	}
}

// A hard trim also removes files and the middle of long texts, the largest first.
func TestTrimHard(t *testing.T) {
	long := strings.Repeat("a", 400) + strings.Repeat("b", 8000) + strings.Repeat("c", 400)
	s := newToy(claude, prompt(text(long), image("image/png", png)), answer(text("ok")), prompt(text(long)), answer(text("ok")))
	got, err := repair.Trim("ses_1", newCase(s), repair.TrimRequest{Hard: true, KeepTurns: 1, Goal: 2700})
	if err != nil || len(got.Removed) != 2 || got.Removed[0].File || !got.Removed[1].File {
		t.Fatalf("removed %+v, %v", got.Removed, err)
	}
	if len(got.Plan.Ops) != 3 { // the message, the text and the picture
		t.Errorf("%d ops", len(got.Plan.Ops))
	}
	soft, err := repair.Trim("ses_1", newCase(s), repair.TrimRequest{KeepTurns: 1})
	if err != nil || len(soft.Plan.Ops) != 0 {
		t.Errorf("without Hard: %d ops, %v", len(soft.Plan.Ops), err)
	}
	files, err := repair.Trim("ses_1", newCase(newToy(claude, prompt(image("image/png", []byte(strings.Repeat("A", 4000)))), answer(text("ok")))), repair.TrimRequest{Files: true})
	if err != nil || len(files.Removed) != 1 || !files.Removed[0].File {
		t.Errorf("files: %+v, %v", files.Removed, err)
	}
}

// A trim that would break the session is refused.
func TestTrimBreaksSession(t *testing.T) {
	cleared := repair.Rule{Code: "cleared", Class: repair.IncompleteRecord, Severity: repair.Broken, Find: func(s *repair.Case) (fs []repair.Finding) {
		for _, ref := range s.Messages() {
			for _, b := range s.Stored(ref).Blocks() {
				if b.OutputText() == request.Cleared {
					fs = append(fs, repair.Finding{Ref: b.Ref(), Text: "a result is missing"})
				}
			}
		}
		return fs
	}}
	if _, err := repair.Trim("ses_1", newCase(newToy(claude, outputs()...), cleared), repair.TrimRequest{}); err == nil || !strings.Contains(err.Error(), "a result is missing") {
		t.Errorf("got %v", err)
	}
}

// A compaction is removed if the session has one and the request then fits into the window.
func TestUncompact(t *testing.T) {
	before := []message{prompt(text("one")), answers(step(done("a:1", "ls", "{}", strings.Repeat("x", 4000))), step(text("ok")))}
	summary := prompt(text("what was said"))
	summary.summary = true
	all := append(before, summary, prompt(text("two")), answer(text("ok")))
	s := newToy(claude, all...)
	s.hideBefore = true
	s.window = 10000
	got, err := repair.Uncompact("ses_1", newCase(s), repair.UncompactRequest{})
	if err != nil || got.Messages != 2 || len(got.Fixed) != 1 || got.Fixed[0].Rule != "R13" || len(got.Plan.Ops) == 0 || got.After <= got.Before {
		t.Errorf("%d messages, fixed %+v, %d ops, %d tokens after, %v", got.Messages, got.Fixed, len(got.Plan.Ops), got.After, err)
	}
	s.window = 1000
	var large *repair.TooLargeError
	if _, err := repair.Uncompact("ses_1", newCase(s), repair.UncompactRequest{}); !errors.As(err, &large) || large.Limit != 800 {
		t.Errorf("got %v, want that it is too large", err)
	}
	none := newToy(claude, prompt(text("one")), answer(text("ok")))
	if _, err := repair.Uncompact("ses_1", newCase(none), repair.UncompactRequest{}); !errors.Is(err, repair.ErrNotCompacted) {
		t.Errorf("got %v, want ErrNotCompacted", err)
	}
}

// If outputs, files and texts are not enough, a hard trim sets whole turns aside, the oldest first.
func TestTrimTurns(t *testing.T) {
	talk := func() (all []message) {
		for i := range 6 {
			all = append(all, prompt(text(fmt.Sprintf("prompt %d %s", i, strings.Repeat("p", 400)))), answers(step(done(fmt.Sprintf("c%d", i), "read", "{}", "short")), step(text(strings.Repeat("a", 400)))))
		}
		return all
	}
	q, _ := newToy(claude, talk()...).send()
	size := q.Tokens()
	for _, x := range []struct {
		goal, turns int
		gone        string // the messages that are set aside
	}{
		{size, 0, ""},
		{size - 10, 1, "m1"},
		{size - 150, 2, "m1 m2 m3"},
		{1, 4, "m1 m2 m3 m4 m5 m6 m7"}, // all but the first prompt and the newest two turns
	} {
		got, err := repair.Trim("ses_1", newCase(newToy(claude, talk()...)), repair.TrimRequest{Hard: true, KeepTurns: 2, Goal: x.goal})
		if err != nil || len(got.Turns) != x.turns {
			t.Errorf("goal %d: %d turns, %v, want %d", x.goal, len(got.Turns), err, x.turns)
			continue
		}
		var gone []string
		hasNote := false
		for _, o := range got.Plan.Ops {
			if o.Post == nil && o.Ref.Kind == change.KindMessage {
				gone = append(gone, o.Ref.Message)
			}
			hasNote = hasNote || o.Post != nil && strings.Contains(string(o.Post.Data), fmt.Sprintf("[%d turns that followed", x.turns))
		}
		slices.Sort(gone)
		if joined := strings.Join(gone, " "); joined != x.gone || hasNote != (x.turns > 0) {
			t.Errorf("goal %d: %q are gone, want %q; the note is there: %t", x.goal, joined, x.gone, hasNote)
		}
		if x.goal > 1 && got.After > x.goal {
			t.Errorf("goal %d: %d tokens", x.goal, got.After)
		}
	}
}
