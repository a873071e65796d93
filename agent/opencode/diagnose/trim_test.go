package diagnose

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/internal/request"
	"mend/repair"
)

// output returns a finished call with an output of the given size in bytes.
func output(id, tool, input string, bytes int) string {
	return fmt.Sprintf(`"type":"tool","callID":"toolu_%s","tool":"%s","state":{"status":"completed","input":{"x":"%s"},"output":"%s","title":"z","metadata":{},"time":{"start":3,"end":4}}`,
		id, tool, input, strings.Repeat("y", bytes))
}

// longSession has four turns, each a prompt and an answer with calls.
func longSession() *record.Session {
	return build(
		user(hi), calling(stepStart, signed, output("1", "read", "a", 8000), output("2", "bash", "b", 4000), output("3", "task", "c", 9000), stepFinish), answer(done),
		user(hi), calling(stepStart, signed, output("4", "read", "a", 8000), output("5", "bash", "d", 12000), output("6", "bash", "e", 100), stepFinish), answer(done),
		user(hi), calling(stepStart, signed, output("7", "read", "f", 20000), stepFinish), answer(done),
		user(hi), answer(done))
}

func window(tokens int) Environment {
	return Environment{Window: func(request.Model) int { return tokens }}
}

func trim(s *record.Session, r repair.TrimRequest, e Environment) (repair.Trimmed, error) {
	return repair.Trim(s.ID, New(s, repair.Request{Options: r.Options, Force: r.Force}, e), r)
}

func uncompact(s *record.Session, r repair.UncompactRequest, e Environment) (repair.Uncompacted, error) {
	return repair.Uncompact(s.ID, New(s, repair.Request{Options: r.Options, Force: r.Force}, e), r)
}

// TestTrim: outputs are marked as cleared, copies and large ones first, until the goal is reached. Only a time is
// added.
func TestTrim(t *testing.T) {
	for _, c := range []struct {
		name    string
		r       repair.TrimRequest
		outputs string
	}{
		{"as much as possible", repair.TrimRequest{}, "read 2000 copy, read 5000, bash 3000, task 2250, read 2000, bash 1000"},
		{"newest turns stay", repair.TrimRequest{KeepTurns: 2}, "read 2000 copy, bash 3000, task 2250, read 2000, bash 1000"},
		{"more turns than the session has", repair.TrimRequest{KeepTurns: 9}, ""},
		{"protected tools", repair.TrimRequest{KeepTurns: 2, Protected: []string{"task", "read"}}, "bash 3000, bash 1000"},
		{"a goal", repair.TrimRequest{Goal: 11_500}, "read 2000 copy, read 5000"},
		{"half of the window", repair.TrimRequest{Percent: 50}, "read 2000 copy, read 5000"},
		{"small by the estimate", repair.TrimRequest{Percent: 100}, ""},
		{"small by the estimate, and the provider refuses it", repair.TrimRequest{Percent: 85, TooLong: true}, "read 2000 copy, read 5000"},
		{"small already", repair.TrimRequest{Goal: 100_000}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := longSession()
			before := records(s)
			r, err := trim(s, c.r, window(18_000))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range r.Outputs {
				text := fmt.Sprintf("%s %d", o.Tool, o.Tokens/250*250)
				if o.Copy {
					text += " copy"
				}
				got = append(got, text)
			}
			if strings.Join(got, ", ") != c.outputs {
				t.Errorf("outputs %q, want %q", strings.Join(got, ", "), c.outputs)
			}
			if records(s) != before {
				t.Error("Trim changed its input")
			}
			if len(r.Plan.Ops) != len(r.Outputs) || len(got) > 0 && r.After >= r.Before {
				t.Errorf("%d ops for %d outputs; %d tokens before, %d after", len(r.Plan.Ops), len(r.Outputs), r.Before, r.After)
			}
			for _, op := range r.Plan.Ops {
				if got := strings.Replace(string(op.Post.Data), `,"compacted":4`, "", 1); got != string(op.Pre.Data) {
					t.Errorf("%s: more than a time changed: %.200s", op.Ref, op.Post.Data)
				}
			}
		})
	}
}

// attachment returns a file that is stored in the session, with the given number of bytes of base64.
func attachment(name, mime string, bytes int) string {
	return fmt.Sprintf(`"type":"file","mime":"%s","filename":"%s","url":"data:%s;base64,%s"`, mime, name, mime, strings.Repeat("A", bytes))
}

// text returns a text with the given number of words of four bytes.
func text(words int) string {
	return fmt.Sprintf(`"type":"text","text":"Begin %s end"`, strings.Repeat("wörd", words))
}

// TestTrimHard: with Hard, large files and texts are removed after the outputs, until the goal is reached.
func TestTrimHard(t *testing.T) {
	s := build(
		user(hi, attachment("big.pdf", "application/pdf", 40_000), attachment("small.pdf", "application/pdf", 400)),
		calling(stepStart, signed, output("1", "read", "a", 8000), stepFinish), answer(text(3000)),
		user(text(2000)), answer(text(100)),
		user(text(4000)), answer(done))
	before := records(s)
	for _, c := range []struct {
		name    string
		r       repair.TrimRequest
		outputs int
		removed string
	}{
		{"not allowed", repair.TrimRequest{}, 1, ""},
		{"outputs are enough", repair.TrimRequest{Hard: true, Goal: 23_000}, 1, ""},
		{"all that is large", repair.TrimRequest{Hard: true}, 1, "big.pdf, text 4000, text 3000, text 2000"},
		{"as much as needed", repair.TrimRequest{Hard: true, Goal: 9_000}, 1, "big.pdf, text 4000"},
		{"newest turns stay", repair.TrimRequest{Hard: true, KeepTurns: 2}, 1, "big.pdf, text 3000"},
		{"protected tools", repair.TrimRequest{Hard: true, KeepTurns: 2, Protected: []string{"read"}}, 0, "big.pdf, text 3000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := trim(s, c.r, window(200_000))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, o := range r.Removed {
				name := o.Name
				if !o.File {
					name = fmt.Sprintf("text %d", (o.Tokens+2*400*5/4/4)*4/5/1000*1000)
				}
				got = append(got, name)
			}
			if strings.Join(got, ", ") != c.removed || len(r.Outputs) != c.outputs {
				t.Errorf("removed %q and %d outputs, want %q and %d; %d tokens of %d", strings.Join(got, ", "), len(r.Outputs), c.removed, c.outputs, r.After, r.Before)
			}
			if records(s) != before {
				t.Error("Trim changed its input")
			}
			if len(r.Plan.Ops) != len(r.Outputs)+len(r.Removed) {
				t.Errorf("%d ops", len(r.Plan.Ops))
			}
			for _, op := range r.Plan.Ops {
				post := string(op.Post.Data)
				if strings.Contains(string(op.Pre.Data), "application/pdf") && !strings.Contains(post, `[file \"big.pdf\" (application/pdf, 30 kB) was here; it was taken out of this conversation to make room]`) {
					t.Errorf("the file became %.300s", post)
				}
				if strings.Contains(string(op.Pre.Data), "Begin") && (len(post) > 2500 || !strings.Contains(post, "Begin w") || !strings.Contains(post, "d end") || !strings.Contains(post, "bytes of this text were taken out")) {
					t.Errorf("the text became %.3000s", post)
				}
			}
		})
	}
}

// TestTrimBeforeCompaction: if the agent has to compact first, the outputs before the compaction are trimmed. In newer
// versions the request for the compaction is one text.
func TestTrimBeforeCompaction(t *testing.T) {
	for _, version := range []string{"1.1.53", "1.2.27", "1.18.33"} {
		s := build(
			user(hi), calling(stepStart, signed, output("1", "read", "a", 8000), stepFinish), answer(done),
			user(hi), calling(stepStart, signed, output("2", "bash", "b", 12000), stepFinish),
			user(`"type":"compaction","auto":true`), turn{"assistant", `"summary":true,"parentID":"msg_06","mode":"compaction","error":{"name":"MessageAbortedError","data":{}}`, nil})
		r, err := trim(s, repair.TrimRequest{Options: repair.Options{Version: version}, Percent: 60, TooLong: true, Force: true}, window(100_000))
		if err != nil || len(r.Outputs) != 1 || r.Outputs[0].Tool != "bash" || r.Before < 5000 || r.After > r.Goal {
			t.Errorf("%s: %+v, %v", version, r, err)
		}
	}
}

// TestTrimAfterFailedCompaction: turns before the summary of a failed compaction are set aside, because such a summary
// replaces nothing.
func TestTrimAfterFailedCompaction(t *testing.T) {
	for _, c := range []struct {
		version, fields string
		turns           int
	}{
		{"1.18.33", `"finish":"error","error":{"name":"ContextOverflowError","data":{"message":"too large to compact"}}`, 2},
		{"1.2.27", `"error":{"name":"ContextOverflowError","data":{"message":"x"}}`, 2},
		{"1.18.33", `"finish":"stop"`, 0},
	} {
		s := build(
			user(hi), answer(done), user(hi), answer(done),
			user(`"type":"compaction","auto":true`), turn{"assistant", `"summary":true,"parentID":"msg_05","mode":"compaction",` + c.fields, []string{done}},
			user(hi), answer(done))
		r, err := trim(s, repair.TrimRequest{Options: repair.Options{Version: c.version}, Hard: true, Goal: 1, KeepTurns: 1, Force: true}, window(100_000))
		if err != nil || len(r.Turns) < c.turns || c.turns == 0 && len(r.Turns) > 0 {
			t.Errorf("%s %s: %d turns are set aside, want %d: %v", c.version, c.fields, len(r.Turns), c.turns, err)
		}
	}
}

// TestTrimAgain: cleared outputs are not marked again.
func TestTrimAgain(t *testing.T) {
	s := longSession()
	for i := range s.Messages {
		for j := range s.Messages[i].Parts {
			if p := &s.Messages[i].Parts[j]; p.IsTool() {
				if err := p.Set([]byte("4"), "state", "time", "compacted"); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if r, err := trim(s, repair.TrimRequest{}, window(18_000)); err != nil || len(r.Plan.Ops) > 0 {
		t.Errorf("a second trim has %d ops, %v", len(r.Plan.Ops), err)
	}
}

// compactedSession returns a session of old turns, a compaction, and one more turn.
func compactedSession(old ...turn) *record.Session {
	n := len(old) + 1
	return build(append(old,
		user(`"type":"compaction","auto":true`),
		turn{"assistant", fmt.Sprintf(`"summary":true,"finish":"stop","parentID":"%s"`, messageID(n)), []string{stepStart, done, stepFinish}},
		user(hi), answer(stepStart, done, stepFinish))...)
}

// TestUncompact: the messages before a compaction are sent again, and their broken findings are fixed.
func TestUncompact(t *testing.T) {
	r, err := uncompact(compactedSession(user(hi), answer(stepStart, done, stepFinish), user(hi), answer(blank)), repair.UncompactRequest{Options: repair.Options{Version: "1.18.33"}}, window(0))
	if err != nil {
		t.Fatal(err)
	}
	if r.Messages != 4 || r.Earlier != 0 || len(r.Fixed) != 1 || r.After <= 0 {
		t.Errorf("Uncompact = %+v", r)
	}
	var removed []string
	for _, op := range r.Plan.Ops {
		if op.Post == nil {
			removed = append(removed, op.Ref.Message+"/"+op.Ref.Part)
		}
	}
	slices.Sort(removed)
	if got, want := strings.Join(removed, " "), "msg_05/ msg_05/prt_0501 msg_06/ msg_06/prt_0601 msg_06/prt_0602 msg_06/prt_0603"; got != want {
		t.Errorf("removed %q, want %q", got, want)
	}
}

// TestUncompactRefused: Uncompact refuses a session without a finished compaction, and one that would then be
// too large. Trim makes room.
func TestUncompactRefused(t *testing.T) {
	if _, err := uncompact(longSession(), repair.UncompactRequest{}, window(0)); !errors.Is(err, repair.ErrNotCompacted) {
		t.Errorf("without a compaction: %v", err)
	}
	big := compactedSession(user(hi), calling(stepStart, signed, output("1", "read", "a", 80_000), stepFinish), answer(done), user(hi), answer(done), user(hi), answer(done))
	var large *repair.TooLargeError
	if _, err := uncompact(big, repair.UncompactRequest{}, window(10_000)); !errors.As(err, &large) || large.Tokens < 20_000 || large.Limit != 8000 {
		t.Errorf("too large: %v", err)
	}
	r, err := uncompact(big, repair.UncompactRequest{Trim: true}, window(10_000))
	if err != nil || len(r.Outputs) != 1 || r.After > 8000 {
		t.Errorf("trimmed: %+v, %v", r, err)
	}
	if _, err := uncompact(big, repair.UncompactRequest{Trim: true, Protected: []string{"read"}}, window(10_000)); !errors.As(err, &large) {
		t.Errorf("with a protected output: %v", err)
	}
	unfinished := build(user(hi), answer(done), user(`"type":"compaction","auto":true`), turn{"assistant", `"summary":true,"parentID":"msg_03"`, []string{done}})
	if _, err := uncompact(unfinished, repair.UncompactRequest{Force: true}, window(0)); !errors.Is(err, repair.ErrNotCompacted) {
		t.Errorf("an unfinished compaction: %v", err)
	}
}
