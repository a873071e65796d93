package linestore_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/change"
	"mend/internal/test/storetest"
	"mend/linestore"
)

func image(s string) *change.Image { return &change.Image{Data: []byte(s), Mode: linestore.Mode} }

func lineRef(id string) change.Ref {
	return change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: id}
}

// transcriptRef is the whole transcript as one record.
var transcriptRef = change.Ref{Kind: change.KindSession, Session: "ses_1"}

// appendOps returns ops that are made by appending: a line is replaced, and one is added.
func appendOps(t *testing.T, root string) []change.Op {
	t.Helper()
	return []change.Op{
		{Ref: lineRef("prt_12"), Pre: read(t, root, lineRef("prt_12")), Post: image(`{"id":"prt_12","text":"repaired"}`)},
		{Ref: lineRef("new"), Post: image(`{"id":"new","text":"added"}`)},
	}
}

// endings are the possible ends of a transcript.
var endings = map[string]func(string) string{
	"complete":     func(s string) string { return s },
	"no line feed": func(s string) string { return strings.TrimSuffix(s, "\n") },
	"torn":         func(s string) string { return s + `{"id":"torn","te` },
	"NUL":          func(s string) string { return s + "\x00\x00\x00" },
}

// oldTime is the time of a transcript before a change.
var oldTime = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)

// rootEnding returns a folder whose transcript has the ending and an old time, and the content of the transcript.
func rootEnding(t *testing.T, ending func(string) string) (root, before string) {
	t.Helper()
	root = newRoot(t)
	before = ending(content(t, root))
	if err := os.WriteFile(file(root), []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(file(root), oldTime, oldTime); err != nil {
		t.Fatal(err)
	}
	return root, before
}

// wantTime checks that the transcript has its old time.
func wantTime(t *testing.T, root string) {
	t.Helper()
	if fi, err := os.Stat(file(root)); err != nil || !fi.ModTime().Equal(oldTime) {
		t.Errorf("the transcript has the time %v, %v, want %v", fi.ModTime(), err, oldTime)
	}
}

// TestAppend: an append moves no byte, its undo restores the same bytes, and both keep the mtime.
func TestAppend(t *testing.T) {
	for name, ending := range endings {
		for from := range 2 {
			root, before := rootEnding(t, ending)
			s := mustOpen(t, root, linestore.Options{})
			info, err := os.Stat(file(root))
			if err != nil {
				t.Fatal(err)
			}
			st := storetest.Apply(t, s, appendOps(t, root)[from:]) // both lines, or the added one
			after := content(t, root)
			if now, err := os.Stat(file(root)); err != nil || !strings.HasPrefix(after, before) || !os.SameFile(now, info) {
				t.Errorf("%s: the append moved bytes: %q", name, after)
			}
			if now := lastLines(t, root); (now["prt_12"] == `{"id":"prt_12","text":"repaired"}`) != (from == 0) || now["new"] == "" {
				t.Errorf("%s: after the append the last lines are %q", name, now)
			}
			wantTime(t, root)
			for range 2 {
				st = storetest.Apply(t, s, change.Inverse(st.Ops))
				if got := content(t, root); got != before {
					t.Errorf("%s: undone: %q, want %q", name, got, before)
				}
				wantTime(t, root)
				st = storetest.Apply(t, s, change.Inverse(st.Ops))
				if got := content(t, root); got != after {
					t.Errorf("%s: redone: %q, want %q", name, got, after)
				}
			}
		}
	}
}

// TestUndoAfterAgentAppended: an undo removes exactly the lines of the change, even if the agent has appended lines since.
func TestUndoAfterAgentAppended(t *testing.T) {
	for name, ending := range endings {
		t.Run(name, func(t *testing.T) {
			root, before := rootEnding(t, ending)
			s := mustOpen(t, root, linestore.Options{})
			st := storetest.Apply(t, s, appendOps(t, root))
			agentAppends(t, root, `{"id":"later"}`)
			redo := storetest.Apply(t, s, change.Inverse(st.Ops))
			want := before
			if !strings.HasSuffix(want, "\n") {
				want += "\n"
			}
			want += `{"id":"later"}` + "\n"
			if got := content(t, root); got != want {
				t.Errorf("undone: %q, want %q", got, want)
			}
			storetest.Apply(t, s, change.Inverse(redo.Ops))
			if now := lastLines(t, root); now["prt_12"] != `{"id":"prt_12","text":"repaired"}` || now["later"] == "" {
				t.Errorf("redone: the last lines are %q", now)
			}
		})
	}
}

// TestInUse: while a process uses the transcript, an undo is refused. With force the old lines are appended again, and a
// note says so.
func TestInUse(t *testing.T) {
	root, _ := rootEnding(t, endings["complete"])
	var notes []string
	s := mustOpen(t, root, linestore.Options{InUse: func(string) string { return "process 7" }, Note: func(text string) { notes = append(notes, text) }})
	ops := appendOps(t, root)[:1]
	st := storetest.Apply(t, s, ops)
	after := content(t, root)
	p := change.Plan{Ops: change.Inverse(st.Ops)}
	if _, err := s.Prepare(t.Context(), p); !errors.Is(err, change.ErrInUse) {
		t.Errorf("Prepare = %v, want %v", err, change.ErrInUse)
	}
	p.Force = true
	staged, err := s.Prepare(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "the old lines are appended again") {
		t.Errorf("the notes are %q, want one", notes)
	}
	mustCommit(t, s, staged)
	if got, want := content(t, root), after+string(ops[0].Pre.Data)+"\n"; got != want {
		t.Errorf("with force: %q, want %q", got, want)
	}
}

// TestAgentAppendsAtEveryStep: a line that the agent appends before any call of an append or of its undo stays.
func TestAgentAppendsAtEveryStep(t *testing.T) {
	for name, ending := range endings {
		for _, undo := range []bool{false, true} {
			for k := 0; ; k++ {
				root, _ := rootEnding(t, ending)
				ops := appendOps(t, root)
				if undo {
					st := storetest.Apply(t, mustOpen(t, root, linestore.Options{}), ops)
					ops = change.Inverse(st.Ops)
				}
				f := &storetest.Fault{At: k}
				s := mustOpen(t, root, linestore.Options{Step: func(call string) error {
					if f.Step(call) != nil && len(f.Calls) == k+1 {
						agentAppends(t, root, `{"id":"meanwhile"}`)
					}
					return nil
				}})
				staged, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
				var conflict *change.ConflictError
				if err == nil {
					var out change.Outcome
					out, err = s.Commit(t.Context(), staged)
					if err == nil && out.State == change.Committed {
						wantOps(t, root, ops, true)
					} else if err == nil {
						wantOps(t, root, ops, false)
					}
					if err == nil {
						err = s.Discard(t.Context(), staged)
					}
				} else if errors.As(err, &conflict) {
					err = nil
				}
				if err != nil {
					t.Fatalf("%s, undo %t, call %d of %q: %v", name, undo, k, f.Calls, err)
				}
				if f.Hit() && !strings.Contains(content(t, root), `{"id":"meanwhile"}`+"\n") {
					t.Fatalf("%s, undo %t, call %d of %q: the agent's line is lost: %q", name, undo, k, f.Calls, content(t, root))
				}
				if l := leftovers(root); len(l) > 0 {
					t.Errorf("%s, undo %t, call %d: left over: %q", name, undo, k, l)
				}
				if !f.Hit() {
					break
				}
			}
		}
	}
}

// TestTwoAgentsAtEveryStep: if two programs append at each call of an undo, one of them through a descriptor from before the
// exchange, each line is in the transcript once, or in the kept files.
func TestTwoAgentsAtEveryStep(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file that another program has open is not replaced")
	}
	root, _ := rootEnding(t, endings["complete"])
	st := storetest.Apply(t, mustOpen(t, root, linestore.Options{}), appendOps(t, root))
	held, err := os.OpenFile(file(root), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	var lines, calls, notes []string
	note := func(text string) { notes = append(notes, text) }
	s := mustOpen(t, root, linestore.Options{Note: note, Step: func(call string) error {
		calls = append(calls, call)
		if strings.HasPrefix(call, "unlink ") { // bytes written into a removed file are lost
			return nil
		}
		n := len(lines)
		lines = append(lines, fmt.Sprintf(`{"id":"held-%d"}`, n), fmt.Sprintf(`{"id":"opened-%d"}`, n))
		_, err := held.WriteString(lines[n] + "\n")
		agentAppends(t, root, lines[n+1])
		return err
	}})
	staged, err := s.Prepare(t.Context(), change.Plan{Ops: change.Inverse(st.Ops)})
	if err == nil {
		_, err = s.Commit(t.Context(), staged)
	}
	if err == nil {
		err = s.Discard(t.Context(), staged)
	}
	if err != nil {
		t.Fatal(err)
	}
	all := content(t, root)
	for _, line := range lines {
		if n := strings.Count(all, line+"\n"); n > 1 {
			t.Errorf("%s is in the transcript %d times", line, n)
		}
	}
	kept, err := filepath.Glob(filepath.Join(root, ".mend", "kept", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(kept) != 1 || len(notes) != 1 || !strings.Contains(notes[0], "/kept/"+filepath.Base(kept[0])) {
		t.Errorf("kept: %q, notes %q, want one of each", kept, notes)
	}
	if i := slices.IndexFunc(calls, func(call string) bool { return strings.HasPrefix(call, "keep ") }); i < 0 || !strings.Contains(calls[i+1], "barrier") || !strings.Contains(calls[i+1], ".mend/kept") {
		t.Errorf("the kept file is not made durable: %q", calls)
	}
	for _, path := range kept {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all += string(data)
	}
	for _, line := range lines {
		if !strings.Contains(all, line+"\n") {
			t.Errorf("%s is lost", line)
		}
	}
}

func wantOps(t *testing.T, root string, ops []change.Op, post bool) {
	t.Helper()
	for _, o := range ops {
		want := o.Pre
		if post {
			want = o.Post
		}
		if o.Ref.Kind == change.KindPart {
			continue
		}
		if now := read(t, root, o.Ref); !now.Equal(want) {
			t.Errorf("%s holds %v, want %v, committed %t", o.Ref, now, want, post)
		}
	}
}

// TestTornAppend: an append that is cut at any byte is finished, or removed without a trace, and lines that the agent wrote
// after it stay.
func TestTornAppend(t *testing.T) {
	for name, ending := range endings {
		for _, agent := range []bool{false, true} {
			root, before := rootEnding(t, ending)
			s := mustOpen(t, root, linestore.Options{})
			ops := appendOps(t, root)
			ops[0].Post, ops[1].Post = image(`{"id":"prt_12"}`), image(`{"id":"new"}`) // short: each byte is a case
			staged, err := s.Prepare(t.Context(), change.Plan{Ops: ops})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Commit(t.Context(), staged); err != nil {
				t.Fatal(err)
			}
			after := content(t, root)
			for cut := len(before); cut <= len(after); cut++ {
				if err := os.WriteFile(file(root), []byte(after[:cut]), 0o600); err != nil {
					t.Fatal(err)
				}
				want := before
				if agent {
					agentAppends(t, root, `{"id":"later"}`)
					if !strings.HasSuffix(want, "\n") {
						want += "\n"
					}
					want += `{"id":"later"}` + "\n"
				}
				for k := range 20 {
					f := &storetest.Fault{At: k}
					if _, err := mustOpen(t, root, linestore.Options{Step: f.Step}).Settle(context.Background(), staged); !f.Hit() || err == nil {
						break
					}
				}
				out, err := s.Settle(t.Context(), staged)
				if err != nil {
					t.Fatalf("%s, agent %t, cut at %d: Settle = %v", name, agent, cut-len(before), err)
				}
				got := content(t, root)
				switch out.State {
				case change.Aborted:
					if got != want {
						t.Fatalf("%s, agent %t, cut at %d: aborted, %q, want %q", name, agent, cut-len(before), got, want)
					}
				case change.Committed:
					wantOps(t, root, ops, true)
					if agent && !strings.Contains(got, `{"id":"later"}`+"\n") {
						t.Fatalf("%s, cut at %d: the agent's line is lost: %q", name, cut-len(before), got)
					}
				default:
					t.Fatalf("%s, agent %t, cut at %d: Settle = %+v", name, agent, cut-len(before), out)
				}
				if err := s.Discard(t.Context(), staged); err != nil {
					t.Fatal(err)
				}
				if l := leftovers(root); len(l) > 0 {
					t.Fatalf("left over: %q", l)
				}
			}
		}
	}
}

// TestReplaceTranscript: a change may replace a whole transcript, and lines that the agent appended meanwhile stay.
func TestReplaceTranscript(t *testing.T) {
	for name, edit := range map[string]func(before string) string{
		"other texts": func(before string) string { return strings.ReplaceAll(before, "a text", "another text") },
		"longer":      func(before string) string { return before + `{"id":"more"}` + "\n" },
		"shorter":     func(before string) string { return before[:strings.Index(before, "\n")+1] },
		"empty":       func(string) string { return "" },
	} {
		root, before := rootEnding(t, endings["complete"])
		after := edit(before)
		s, staged := mustPrepare(t, root, nil, change.Plan{Ops: []change.Op{{Ref: transcriptRef, Pre: image(before), Post: image(after)}}})
		agentAppends(t, root, `{"id":"later"}`)
		if out, err := s.Commit(t.Context(), staged); err != nil || out.State != change.Committed {
			t.Fatalf("%s: Commit = %+v, %v", name, out, err)
		}
		if got, want := content(t, root), after+`{"id":"later"}`+"\n"; got != want {
			t.Errorf("%s: replaced: %q, want %q", name, got, want)
		}
		if err := s.Discard(t.Context(), staged); err != nil {
			t.Fatal(err)
		}
		storetest.Apply(t, s, change.Inverse(staged.Ops))
		if got, want := content(t, root), before+`{"id":"later"}`+"\n"; got != want {
			t.Errorf("%s: undone: %q, want %q", name, got, want)
		}
	}
}

// TestForeignAtExchange: if another program writes to the transcript just before the exchange, what it wrote comes back,
// and is durable before the change counts as aborted.
func TestForeignAtExchange(t *testing.T) {
	root, before := rootEnding(t, endings["complete"])
	var calls []string
	s, st := mustPrepare(t, root, func(call string) error {
		if calls = append(calls, call); strings.HasPrefix(call, "exchange ") && !strings.HasPrefix(call, "exchange back ") {
			return os.WriteFile(file(root), []byte("foreign\n"), 0o600)
		}
		return nil
	}, change.Plan{Ops: []change.Op{{Ref: transcriptRef, Pre: image(before), Post: image("new\n")}}})
	out, err := s.Commit(t.Context(), st)
	if got := content(t, root); err != nil || out.State != change.Aborted || got != "foreign\n" {
		t.Errorf("Commit = %+v, %v, and the transcript is %q", out, err, got)
	}
	if last := calls[len(calls)-1]; !strings.HasPrefix(last, "barrier ") {
		t.Errorf("the last call is %q, want a barrier", last)
	}
}

// removingLayout removes the transcript when its line is looked at.
type removingLayout struct {
	testLayout
	file, line string
}

func (l removingLayout) Key(line []byte) string {
	if string(line) == l.line {
		_ = os.Remove(l.file)
	}
	return l.testLayout.Key(line)
}

// TestRemovedInSettle: a transcript that is removed while Settle decides by its content needs no sync.
func TestRemovedInSettle(t *testing.T) {
	root, before := rootEnding(t, endings["complete"])
	s := mustOpen(t, root, linestore.Options{})
	st := storetest.Apply(t, s, change.Inverse(storetest.Apply(t, s, []change.Op{added}).Ops))
	first, _, _ := strings.Cut(before, "\n")
	s, err := linestore.New(root, removingLayout{file: file(root), line: first}, linestore.Options{Owner: "own"})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := s.Settle(t.Context(), st); err != nil || out.State != change.Committed {
		t.Errorf("Settle = %+v, %v, want committed", out, err)
	}
}

// TestTimeOfReplace: a replaced transcript gets the time of the plan, and its undo restores the old time.
func TestTimeOfReplace(t *testing.T) {
	for name, c := range map[string]struct {
		fresh bool
		time  int64
		same  bool
	}{
		"as it was": {same: true},
		"fresh":     {fresh: true},
		"given":     {time: oldTime.Add(time.Hour).UnixNano()},
	} {
		root, before := rootEnding(t, endings["complete"])
		post := image(strings.ReplaceAll(before, "a text", "another text"))
		post.Time = c.time
		op := change.Op{Ref: transcriptRef, Pre: image(before), Post: post}
		s, st := mustPrepare(t, root, nil, change.Plan{Ops: []change.Op{op}, Fresh: c.fresh})
		if out, err := s.Commit(t.Context(), st); err != nil || out.State != change.Committed {
			t.Fatalf("%s: Commit = %+v, %v", name, out, err)
		}
		wantMtime(t, root, name, c.same)
		if (st.Ops[0].Pre.Time == oldTime.UnixNano()) == c.same {
			t.Errorf("%s: the undo would set the time %d", name, st.Ops[0].Pre.Time)
		}
		storetest.Apply(t, s, change.Inverse(st.Ops))
		wantTime(t, root)
	}
}

// TestRead: Read returns several records of a transcript, and the whole transcript, in the order of their refs.
func TestRead(t *testing.T) {
	root, before := rootEnding(t, endings["complete"])
	s := mustOpen(t, root, linestore.Options{})
	images, err := s.Read(t.Context(), []change.Ref{lineRef("prt_12"), transcriptRef, lineRef("none"), lineRef("msg_1")})
	if err != nil {
		t.Fatal(err)
	}
	lines := lastLines(t, root)
	for i, want := range []string{lines["prt_12"], before, "", lines["msg_1"]} {
		if (images[i] == nil) != (want == "") || images[i] != nil && string(images[i].Data) != want {
			t.Errorf("record %d is %v, want %q", i, images[i], want)
		}
	}
}

// TestCheckLinksFails: CheckLinks fails for a record without a file, and when its context has ended.
func TestCheckLinksFails(t *testing.T) {
	s := mustOpen(t, newRoot(t), linestore.Options{})
	if err := s.CheckLinks(t.Context(), []change.Ref{lineRef("../x")}); err == nil || !strings.Contains(err.Error(), "no message") {
		t.Errorf("CheckLinks of a record without a file = %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.CheckLinks(ended, []change.Ref{lineRef("prt_12")}); !errors.Is(err, context.Canceled) {
		t.Errorf("CheckLinks with a context that has ended = %v, want %v", err, context.Canceled)
	}
}

// TestUndoOfFirstLine: an undo removes its line even if other programs removed everything before the line.
func TestUndoOfFirstLine(t *testing.T) {
	root, _ := rootEnding(t, endings["no line feed"])
	s := mustOpen(t, root, linestore.Options{})
	st := storetest.Apply(t, s, []change.Op{added})
	overwrite(t, root, string(added.Post.Data)+"\n")
	storetest.Apply(t, s, change.Inverse(st.Ops))
	if got := content(t, root); got != "" {
		t.Errorf("undone: %q, want nothing", got)
	}
}

// TestBlankLine: a blank line is no record, and the lines after it are found.
func TestBlankLine(t *testing.T) {
	root, _ := rootEnding(t, func(text string) string { return strings.Replace(text, "\n", "\n\n", 1) })
	before := content(t, root)
	s := mustOpen(t, root, linestore.Options{})
	line := read(t, root, lineRef("prt_12"))
	st := storetest.Apply(t, s, []change.Op{{Ref: lineRef("prt_12"), Pre: line}})
	if got, want := content(t, root), strings.Replace(before, string(line.Data)+"\n", "", 1); got != want {
		t.Errorf("removed: %q, want %q", got, want)
	}
	storetest.Apply(t, s, change.Inverse(st.Ops))
	if _, ok := lastLines(t, root)["prt_12"]; !ok {
		t.Errorf("undone: %q", content(t, root))
	}
}

// TestTwoStaged: a change that is prepared while an earlier one is undecided has its own staging folder.
func TestTwoStaged(t *testing.T) {
	root, before := rootEnding(t, endings["complete"])
	plan := change.Plan{Ops: []change.Op{{Ref: lineRef("prt_12"), Pre: read(t, root, lineRef("prt_12"))}}}
	s1, st1 := mustPrepare(t, root, nil, plan)
	plan.Undecided = append(plan.Undecided, st1.Dir)
	s2, st2 := mustPrepare(t, root, nil, plan)
	if st1.Dir == st2.Dir {
		t.Fatalf("both are staged in %s", st1.Dir)
	}
	if err := errors.Join(s1.Discard(t.Context(), st1), s2.Discard(t.Context(), st2)); err != nil || len(leftovers(root)) > 0 || content(t, root) != before {
		t.Errorf("Discard: %v, left: %q", err, leftovers(root))
	}
}

// TestRefusedPlans: a plan is refused if it changes the key of a line, puts two lines into a record, changes a transcript and
// its lines, changes two transcripts, or names a session without a transcript.
func TestRefusedPlans(t *testing.T) {
	root, before := rootEnding(t, endings["complete"])
	s := mustOpen(t, root, linestore.Options{})
	for name, ops := range map[string][]change.Op{
		"other key":       {{Ref: lineRef("prt_12"), Pre: read(t, root, lineRef("prt_12")), Post: image(`{"id":"other"}`)}},
		"two lines":       {{Ref: lineRef("new"), Post: image("{\"id\":\"new\"}\n{}")}},
		"whole, lines":    {{Ref: transcriptRef, Pre: image(before), Post: image("")}, appendOps(t, root)[0]},
		"no transcript":   {{Ref: change.Ref{Kind: change.KindSession, Session: "ses_3"}, Pre: image("a"), Post: image("b")}},
		"two transcripts": {added, {Ref: change.Ref{Kind: change.KindMessage, Session: "ses_2", Message: "new"}, Post: added.Post}},
	} {
		if _, err := s.Prepare(t.Context(), change.Plan{Ops: ops}); !errors.Is(err, change.ErrInvalid) {
			t.Errorf("%s: Prepare = %v, want %v", name, err, change.ErrInvalid)
		}
	}
	if got := content(t, root); got != before {
		t.Errorf("the transcript changed: %q", got)
	}
}

// TestUndoKeepsForeignLines: an undo removes only the line that mend wrote, even if another program wrote the same line.
func TestUndoKeepsForeignLines(t *testing.T) {
	root := newRoot(t)
	old, repaired := string(read(t, root, lineRef("prt_12")).Data), `{"id":"prt_12","text":"repaired"}`
	start := content(t, root)
	for _, c := range []struct {
		name     string
		inUse    bool   // the transcript is in use during the undo, so that the old line is appended again
		foreign  string // lines of another program between the change and the undo: o for the old one, r for the repaired one
		again    string // lines of another program between the undo and its undo
		conflict bool   // the undo is refused
		second   string // the lines after the undo of the undo; "" if that is refused
	}{
		{name: "alone", second: "or"},
		{name: "repeated", foreign: "rr", second: "orrr"},
		{name: "repaired and old", again: "ro", second: "oror"},
		{name: "repaired and old, twice", again: "roro", second: "ororor"},
		{name: "old and repaired", foreign: "or", conflict: true},
		{name: "in use", inUse: true, second: "or"},
		{name: "in use, then both", inUse: true, again: "ro"},
		{name: "in use, repeated", inUse: true, foreign: "rr", second: "orrr"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(file(root), []byte(start), 0o600); err != nil {
				t.Fatal(err)
			}
			foreign := func(letters string) {
				for _, l := range letters {
					agentAppends(t, root, map[rune]string{'o': old, 'r': repaired}[l])
				}
			}
			use := ""
			s := mustOpen(t, root, linestore.Options{InUse: func(string) string { return use }})
			apply := func(p change.Plan) (change.Staged, error) {
				st, err := s.Prepare(t.Context(), p)
				if err != nil {
					return st, err
				}
				mustCommit(t, s, st)
				return st, s.Discard(t.Context(), st)
			}
			st, err := apply(change.Plan{Ops: appendOps(t, root)[:1]})
			if err != nil {
				t.Fatal(err)
			}
			foreign(c.foreign)
			before := content(t, root)
			if c.inUse {
				use = "process 7"
			}
			st, err = apply(change.Plan{Ops: change.Inverse(st.Ops), Reverts: []*change.AppendPoint{st.Append}, Force: c.inUse})
			var conflict *change.ConflictError
			if c.conflict {
				if !errors.As(err, &conflict) || content(t, root) != before {
					t.Errorf("the undo = %v, %q", err, content(t, root))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			use = ""
			foreign(c.again)
			before = content(t, root)
			_, err = apply(change.Plan{Ops: change.Inverse(st.Ops), Reverts: []*change.AppendPoint{st.Append}})
			if c.second == "" {
				if !errors.As(err, &conflict) || content(t, root) != before {
					t.Errorf("the undo of the undo = %v, %q", err, content(t, root))
				}
				return
			}
			var got strings.Builder
			for line := range strings.Lines(content(t, root)) {
				switch strings.TrimSuffix(line, "\n") {
				case old:
					got.WriteString("o")
				case repaired:
					got.WriteString("r")
				}
			}
			if err != nil || got.String() != c.second {
				t.Errorf("the undo of the undo = %v, and the lines are %s, want %s", err, got.String(), c.second)
			}
		})
	}
}
