package repair_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// outputs returns a session of six turns: a prompt, and an answer with one call.
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

// clearedCalls returns the calls of the cleared outputs; * is a copy.
func clearedCalls(s *toy, t repair.Trimmed) string {
	var calls []string
	for _, o := range t.Outputs {
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
	return strings.Join(calls, " ")
}

// output returns an output of n tokens, with its two quotation marks.
func output(n int) string { return strings.Repeat("x", 4*n-2) }

func tokensOf(s *toy) int {
	q, _ := s.send()
	return q.Tokens()
}

// TestTrimOutputs: a trim clears copies first, then the largest outputs, until the goal is reached.
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
		{"the copy is enough", repair.TrimRequest{Goal: 3800}, "c1*"},
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
		if joined := clearedCalls(s, got); joined != x.want {
			t.Errorf("%s: cleared %q, want %q (%d tokens before, %d after, goal %d)", x.name, joined, x.want, got.Before, got.After, got.Goal)
		}
		if (len(got.Plan.Ops) > 0) != (x.want != "") || got.After > got.Before {
			t.Errorf("%s: %d ops, %d tokens before, %d after", x.name, len(got.Plan.Ops), got.Before, got.After)
		}
	}
}

// TestTrimHard: a hard trim also removes files and the middle of long texts.
func TestTrimHard(t *testing.T) {
	long := strings.Repeat("a", 400) + strings.Repeat("b", 8000) + strings.Repeat("c", 400)
	s := newToy(claude, prompt(text(long), image("image/png", png)), answer(text("ok")), prompt(text(long)), answer(text("ok")))
	got, err := repair.Trim("ses_1", newCase(s), repair.TrimRequest{Hard: true, KeepTurns: 1, Goal: 2700})
	if err != nil || len(got.Removed) != 2 || got.Removed[0].File || !got.Removed[1].File {
		t.Fatalf("removed %+v, %v", got.Removed, err)
	}
	if len(got.Plan.Ops) != 3 { // the message, the text and the image
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

// TestTrimBreaksSession: a trim that would break the session is refused.
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

// TestUncompact: a compaction is removed if the request then fits into the window.
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
		t.Errorf("got %v, want a TooLargeError with the limit 800", err)
	}
	none := newToy(claude, prompt(text("one")), answer(text("ok")))
	if _, err := repair.Uncompact("ses_1", newCase(none), repair.UncompactRequest{}); !errors.Is(err, repair.ErrNotCompacted) {
		t.Errorf("got %v, want ErrNotCompacted", err)
	}
}

// TestTrimTurns: if outputs, files and texts are not enough, a hard trim sets whole turns aside, the oldest first.
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
			t.Errorf("goal %d: %q are set aside, want %q; with the note %t", x.goal, joined, x.gone, hasNote)
		}
		if x.goal > 1 && got.After > x.goal {
			t.Errorf("goal %d: %d tokens", x.goal, got.After)
		}
	}
}

// TestTrimBounds: a trim stops at exactly the goal, and clears the smallest result that is worth it.
func TestTrimBounds(t *testing.T) {
	turn := func(id, tool string, size int) []message {
		return []message{prompt(text("do")), answers(step(done(id, tool, "{}", output(size))), step(text("ok")))}
	}
	large := func() *toy { return newToy(claude, append(turn("c1", "ls", 300), turn("c2", "rm", 200)...)...) }
	size, cleared := tokensOf(large()), len(request.Cleared)/4
	copied := newToy(claude, append(append(turn("c1", "rm", 400), turn("c2", "ls", 100)...), turn("c3", "ls", 100)...)...)
	early := newToy(claude, append(turn("c1", "ls", 300)[1:], turn("c2", "rm", 200)...)...)
	small := newToy(claude, append(turn("c1", "ls", 49), turn("c2", "rm", 50)...)...)
	agent := newToy(claude, append(turn("c1", "Agent", 300), turn("c2", "rm", 200)...)...)
	for _, x := range []struct {
		name string
		s    *toy
		r    repair.TrimRequest
		want string
	}{
		{"the goal is the size", large(), repair.TrimRequest{Goal: size}, ""},
		{"one result is enough", large(), repair.TrimRequest{Goal: size - 300 + cleared}, "c1"},
		{"one result is not enough", large(), repair.TrimRequest{Goal: size - 300 + cleared - 1}, "c1 c2"},
		{"a copy is cleared before a larger result", copied, repair.TrimRequest{}, "c2* c1 c3"},
		{"the newest prompt and its turn stay", early, repair.TrimRequest{KeepTurns: 1}, "c1"},
		{"the smallest result", small, repair.TrimRequest{}, "c2"},
		{"the results of agents", agent, repair.TrimRequest{Protected: []string{"task"}}, "c2"},
		{"the results of no agent", agent, repair.TrimRequest{Protected: []string{"skill"}}, "c1 c2"},
	} {
		got, err := repair.Trim("ses_1", newCase(x.s), x.r)
		if cleared := clearedCalls(x.s, got); err != nil || cleared != x.want {
			t.Errorf("%s: cleared %q, %v, want %q", x.name, cleared, err, x.want)
		}
	}
}

// TestTrimContents: a hard trim removes files, and the middle of a result that cannot be cleared, if that saves enough.
func TestTrimContents(t *testing.T) {
	document := func(n int) *request.Block {
		file := request.File{Mime: "application/pdf", Name: "a.pdf", Data: make([]byte, n)}
		return &request.Block{Type: request.Document, File: file}
	}
	read := func(output string) []message {
		return []message{prompt(text("do")), answers(step(done("c1", "read", "{}", output)), step(text("ok")))}
	}
	const control = "\x01" // a byte of text, and six in the output's JSON
	for _, x := range []struct {
		name   string
		all    []message
		shown  string // the beginning of the content that is removed; "" for none
		tokens int
		text   string // a part of what replaces it
	}{
		{"a result", read(output(700)), "xxx", 500, "[1998 bytes of this text were taken out"},
		{"a result that saves too little", read(output(699)), "", 0, ""},
		{"a result with fewer characters than stay", read(strings.Repeat(control, 800)), "", 0, ""},
		{"a long text", []message{prompt(text(strings.Repeat("x", 2800)))}, "xxx", 500, "[2000 bytes of this text"},
		{"a document", []message{prompt(document(2000))}, "a.pdf", 500, "[application/pdf: it was taken out"},
		{"a small document", []message{prompt(document(1996))}, "", 0, ""},
	} {
		s := newToy(claude, append(x.all, prompt(text("so")))...)
		s.keeps = true
		got, err := repair.Trim("ses_1", newCase(s), repair.TrimRequest{Hard: true, KeepTurns: 1})
		if n := len(got.Removed); err != nil || n != min(1, x.tokens) || (len(got.Plan.Ops) > 0) != (n > 0) {
			t.Errorf("%s: %d removed, %d ops, %v", x.name, n, len(got.Plan.Ops), err)
			continue
		}
		for _, r := range got.Removed {
			if !strings.HasPrefix(r.Name, x.shown) || r.Tokens != x.tokens || !strings.Contains(written(got.Plan), x.text) {
				t.Errorf("%s: %+v, want %d tokens and %q", x.name, r, x.tokens, x.text)
			}
		}
	}
}

// TestTrimHardGoal: a hard trim removes nothing if the session has the size of the goal.
func TestTrimHardGoal(t *testing.T) {
	s := newToy(claude, prompt(text(strings.Repeat("x", 4000))), answer(text("ok")), prompt(text("so")))
	got, err := repair.Trim("ses_1", newCase(s), repair.TrimRequest{Hard: true, Goal: tokensOf(s)})
	if err != nil || len(got.Removed) != 0 {
		t.Errorf("removed %+v, %v", got.Removed, err)
	}
}

// written returns the data that a plan writes.
func written(p change.Plan) string {
	var all []byte
	for _, o := range p.Ops {
		if o.Post != nil {
			all = append(all, o.Post.Data...)
		}
	}
	return string(all)
}

// TestTrimFiles: large files are removed from prompts and results, whatever the size of the request.
func TestTrimFiles(t *testing.T) {
	long := text(strings.Repeat("x", 2400))
	picture := image("image/png", make([]byte, 2000))
	with := func(in ...*request.Block) *request.Block {
		return &request.Block{Type: request.ToolResult, ToolID: "c1", Content: in}
	}
	document := func(mime string) *request.Block {
		return &request.Block{Type: request.Document, File: request.File{Mime: mime, Data: make([]byte, 2000)}}
	}
	for _, x := range []struct {
		name  string
		block *request.Block
		want  int
	}{
		{"a picture", picture, 1},
		{"a small picture", image("image/png", png), 0},
		{"a document", document("application/pdf"), 1},
		{"a text file", document("text/plain"), 0},
		{"a folder", document("application/x-directory"), 0},
		{"a text", long, 0},
		{"a result with a picture", with(picture), 1},
		{"a result with a document", with(long, document("application/pdf")), 1},
		{"a result with texts", with(long, long), 0},
		{"a result that is one text", result("c1", long.Text), 1},
		{"a record of as many bytes as are worth it", sized(2000), 1},
		{"a record that is smaller", sized(1999), 0},
	} {
		s := newToy(claude, prompt(text("do")), answer(call("c1", "read", "{}")), prompt(x.block), answer(text("ok")))
		got, err := repair.Trim("ses_1", newCase(s), repair.TrimRequest{Files: true})
		if err != nil || len(got.Removed) != x.want || (len(got.Plan.Ops) > 0) != (x.want > 0) {
			t.Errorf("%s: %d removed, %d ops, %v, want %d", x.name, len(got.Removed), len(got.Plan.Ops), err, x.want)
		}
	}
}

// sized returns a picture whose record has this number of bytes as the first block of message m2.
func sized(bytes int) *request.Block {
	b := image("image/png", png)
	b.Source = partOf("m2", 0)
	data, _ := json.Marshal(b)
	b.Name = strings.Repeat("x", bytes-len(data))
	return b
}

// TestTrimTurnsBounds: turns are set aside until the goal is reached, but never the first prompt. A prompt that is not sent
// begins no turn.
func TestTrimTurnsBounds(t *testing.T) {
	size := func(s *toy, id string) (n int) {
		q, _ := s.send()
		for _, turn := range q.Turns {
			for _, b := range turn.Blocks {
				if b.Ref().Message == id {
					n += b.Tokens()
				}
			}
		}
		return n
	}
	long := strings.Repeat("a", 400)
	file := &request.Block{Type: request.Document, File: request.File{Mime: "text/plain", Data: []byte("a")}}
	talk := newToy(claude,
		prompt(file, text("one"), text("uno")), answer(text(long)), prompt(), answer(text(long)),
		prompt(text("two")), answer(text(long)), prompt(text("three")), answer(text("ok")))
	alone := newToy(claude, prompt(text(long)), prompt(text("so")), answer(text("ok")))
	whole := tokensOf(talk)
	for _, x := range []struct {
		name string
		s    *toy
		goal int
		want string // the prompts of the turns that are set aside
	}{
		{"the goal is the size", talk, whole, ""},
		{"one turn is enough", talk, whole - size(talk, "m1") - size(talk, "m3"), "one"},
		{"one turn is not enough", talk, whole - size(talk, "m1") - size(talk, "m3") - 1, "one, two"},
		{"only the first prompt", alone, 1, ""},
	} {
		got, err := repair.Trim("ses_1", newCase(x.s), repair.TrimRequest{Hard: true, KeepTurns: 1, Goal: x.goal})
		var prompts []string
		for _, turn := range got.Turns {
			prompts = append(prompts, turn.Prompt)
		}
		joined, ops := strings.Join(prompts, ", "), len(got.Plan.Ops)
		if err != nil || joined != x.want || (ops > 0) != (x.want != "") {
			t.Errorf("%s: %q with %d ops, %v, want %q", x.name, joined, ops, err, x.want)
		}
	}
}

// TestUncompactLimit: a request of exactly the limit fits. With Trim, a session that is too large without its compaction is
// trimmed.
func TestUncompactLimit(t *testing.T) {
	session := func() *toy {
		var all []message
		for i := range 4 {
			read := done(fmt.Sprint("c", i), "read", fmt.Sprintf(`{"f":%d}`, i), output(1000))
			all = append(all, prompt(text("do")), answers(step(read), step(text("ok"))))
		}
		summary := prompt(text("what was said"))
		summary.summary = true
		s := newToy(claude, append(all, summary, prompt(text("two")), answer(text("ok")))...)
		s.hideBefore = true
		return s
	}
	s := session()
	s.window = 100000
	got, err := repair.Uncompact("ses_1", newCase(s), repair.UncompactRequest{})
	if err != nil {
		t.Fatal(err)
	}
	s.window = (got.After*100 + 79) / 80
	exact, err := repair.Uncompact("ses_1", newCase(s), repair.UncompactRequest{})
	if err != nil || exact.After != got.After {
		t.Errorf("at the limit of %d: %d tokens, %v", s.window*80/100, exact.After, err)
	}
	s.window = (got.After*100+79)/80 - 2
	var large *repair.TooLargeError
	if _, err := repair.Uncompact("ses_1", newCase(s), repair.UncompactRequest{}); !errors.As(err, &large) {
		t.Errorf("above the limit: %v", err)
	}
	trimmed, err := repair.Uncompact("ses_1", newCase(s), repair.UncompactRequest{Trim: true})
	if err != nil || len(trimmed.Outputs) != 1 || trimmed.After > s.window*80/100 {
		t.Errorf("trimmed to %d tokens of %d, %d outputs, %v", trimmed.After, s.window*80/100, len(trimmed.Outputs), err)
	}
}
