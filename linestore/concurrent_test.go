package linestore_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mend/change"
	"mend/internal/test/storetest"
	"mend/linestore"
)

var added = change.Op{Ref: lineRef("new"), Post: image(`{"id":"new","text":"added"}`)}

// mustPrepare opens a store with the hook, and prepares the plan.
func mustPrepare(t *testing.T, root string, step func(string) error, p change.Plan) (*linestore.Store, change.Staged) {
	t.Helper()
	s := mustOpen(t, root, linestore.Options{Step: step})
	st, err := s.Prepare(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return s, st
}

func mustCommit(t *testing.T, s *linestore.Store, st change.Staged) {
	t.Helper()
	if out, err := s.Commit(t.Context(), st); err != nil || out.State != change.Committed {
		t.Fatalf("Commit = %+v, %v", out, err)
	}
}

func overwrite(t *testing.T, root, text string) {
	t.Helper()
	if err := os.WriteFile(file(root), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestAppendMeanwhile: if another program changes the transcript between Prepare and the write so that the append no longer
// fits, the change is refused, and nothing is written.
func TestAppendMeanwhile(t *testing.T) {
	for _, c := range []struct {
		name   string
		ending string
		at     string // the call before which the other program writes; "" for before Commit
		do     func(text string) string
		done   bool
	}{
		{"shorter", "complete", "", func(s string) string { return s[:strings.LastIndex(s[:len(s)-1], "\n")+1] }, false},
		{"as long, with the missing newline", "no line feed", "", func(s string) string { return s[1:] + "\n" }, false},
		{"longer, with the missing newline", "no line feed", "", func(s string) string { return s + "\n" }, false},
		{"longer, torn", "complete", "", func(s string) string { return s + `{"id":"to` }, false},
		{"a line more", "complete", "", func(s string) string { return s + `{"id":"later"}` + "\n" }, true},
		{"a line more, just before the write", "complete", "append", func(s string) string { return s + `{"id":"later"}` + "\n" }, false},
		{"another file, just before the write", "complete", "append", nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, before := rootEnding(t, endings[c.ending])
			now := before
			meanwhile := func() {
				if c.do == nil { // another file with the same bytes replaces it
					other := filepath.Join(root, "other")
					if err := errors.Join(os.WriteFile(other, []byte(before), 0o600), os.Rename(other, file(root))); err != nil {
						t.Fatal(err)
					}
					return
				}
				now = c.do(before)
				overwrite(t, root, now)
			}
			s, st := mustPrepare(t, root, func(call string) error {
				if c.at != "" && strings.HasPrefix(call, c.at) {
					meanwhile()
				}
				return nil
			}, change.Plan{Ops: []change.Op{added}})
			if c.at == "" {
				meanwhile()
			}
			out, err := s.Commit(t.Context(), st)
			if err != nil || (out.State == change.Committed) != c.done || !c.done && len(out.Conflicts) != 1 {
				t.Errorf("Commit = %+v, %v", out, err)
			}
			want := now
			if c.done {
				want += string(added.Post.Data) + "\n"
			}
			if got := content(t, root); got != want {
				t.Errorf("the transcript is %q, want %q", got, want)
			}
		})
	}
}

// wantMtime checks whether the transcript has its old time.
func wantMtime(t *testing.T, root, when string, old bool) {
	t.Helper()
	fi, err := os.Stat(file(root))
	if err != nil || fi.ModTime().Equal(oldTime) != old {
		t.Errorf("%s: the transcript has the time %v, %v, want the old time %t", when, fi.ModTime(), err, old)
	}
}

// TestTimeAfterRecovery: a recovery restores the mtime of the transcript, unless another program has written since.
func TestTimeAfterRecovery(t *testing.T) {
	for _, agent := range []bool{false, true} {
		for _, torn := range []bool{false, true} {
			root, before := rootEnding(t, endings["complete"])
			s, st := mustPrepare(t, root, nil, change.Plan{Ops: []change.Op{added}})
			text := before + string(added.Post.Data) + "\n"
			if torn {
				text = before + string(added.Post.Data[:9])
			}
			overwrite(t, root, text)
			if agent {
				agentAppends(t, root, `{"id":"later"}`)
			}
			out, err := s.Settle(t.Context(), st)
			if err != nil || (out.State == change.Aborted) != torn {
				t.Errorf("Settle = %+v, %v", out, err)
			}
			wantMtime(t, root, string(out.State), !agent)
		}
	}
}

// TestSettleAppend: Settle decides about an append by the bytes after the old end of the transcript.
func TestSettleAppend(t *testing.T) {
	line := string(added.Post.Data)
	for _, c := range []struct {
		name, ending string
		text         string // after the old end
		state        change.State
		want         string // after the old end
		old          bool   // the transcript keeps its old time
		call         string // a call of Settle; "" for any
	}{
		{"all of it", "complete", line + "\n", change.Committed, line + "\n", true, "barrier"},
		{"the newline and a part", "no line feed", "\n" + line[:9], change.Aborted, "", true, "exchange"},
		{"the newline", "no line feed", "\n", change.Aborted, "", true, "exchange"},
		{"a part after a blank line of another program", "complete", "\n" + line[:9], change.Aborted, "\n", false, "exchange"},
		{"only a line of another program", "complete", `{"id":"later"}` + "\n", change.Aborted, `{"id":"later"}` + "\n", false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, before := rootEnding(t, endings[c.ending])
			var calls []string
			s, st := mustPrepare(t, root, func(call string) error {
				calls = append(calls, call)
				return nil
			}, change.Plan{Ops: []change.Op{added}})
			overwrite(t, root, before+c.text)
			calls = nil
			if out, err := s.Settle(t.Context(), st); err != nil || out.State != c.state {
				t.Errorf("Settle = %+v, %v", out, err)
			}
			if got := content(t, root); got != before+c.want {
				t.Errorf("the transcript is %q, want %q", got, before+c.want)
			}
			wantMtime(t, root, "settled", c.old)
			all := strings.Join(calls, "\n")
			if !strings.Contains(all, c.call) || c.call != "exchange" && strings.Contains(all, "exchange") {
				t.Errorf("the calls are %q, want %q", calls, c.call)
			}
		})
	}
}

// TestFailedSyncOfAppend: if the sync of an append fails, in Commit or after a kill in Settle, Settle writes the lines again
// before the change counts as committed, because a second sync succeeds although data is lost. Lines of the agent stay, even
// if Settle is cut after it has put the new file in place.
func TestFailedSyncOfAppend(t *testing.T) {
	for _, c := range []struct{ killed, agent, cut bool }{{}, {killed: true}, {agent: true}, {agent: true, cut: true}} {
		root, before := rootEnding(t, endings["complete"])
		failed, exchanged := false, false
		var calls []string // after the failed sync
		s, st := mustPrepare(t, root, func(call string) error {
			if failed {
				calls = append(calls, call)
			} else if failed = strings.HasPrefix(call, "barrier"); failed {
				return errors.New("input/output error")
			}
			if strings.HasPrefix(call, "exchange") && !exchanged {
				if exchanged = true; c.agent {
					agentAppends(t, root, `{"id":"later"}`)
				}
			} else if exchanged && c.cut {
				c.cut = false
				return errors.New("killed")
			}
			return nil
		}, change.Plan{Ops: []change.Op{added}})
		want := before + string(added.Post.Data) + "\n"
		if c.killed {
			overwrite(t, root, want)
			if out, err := s.Settle(t.Context(), st); err == nil {
				t.Errorf("%+v: Settle = %+v, want an error", c, out)
			}
		} else if out, err := s.Commit(t.Context(), st); err == nil {
			t.Errorf("%+v: Commit = %+v, want an error", c, out)
		}
		if c.cut {
			if out, err := s.Settle(t.Context(), st); err == nil {
				t.Errorf("%+v: Settle = %+v, want an error", c, out)
			}
		}
		if c.agent {
			want += `{"id":"later"}` + "\n"
		}
		for range 2 {
			if out, err := s.Settle(t.Context(), st); err != nil || out.State != change.Committed {
				t.Errorf("%+v: Settle = %+v, %v", c, out, err)
			}
			if got := content(t, root); got != want {
				t.Errorf("%+v: the transcript is %q, want %q", c, got, want)
			}
			if all := strings.Join(calls, "\n"); !strings.Contains(all, "write ") || !strings.Contains(all, "exchange ") {
				t.Errorf("%+v: the calls after the failed sync are %q, want a new file", c, calls)
			}
		}
		if err := s.Discard(t.Context(), st); err != nil || len(leftovers(root)) > 0 {
			t.Errorf("%+v: Discard = %v, and %q is left", c, err, leftovers(root))
		}
	}
}

// TestStagedDurably: the last call of Prepare syncs what it has staged.
func TestStagedDurably(t *testing.T) {
	root, before := rootEnding(t, endings["complete"])
	last := ""
	mustPrepare(t, root, func(call string) error {
		last = call
		return nil
	}, change.Plan{Ops: []change.Op{{Ref: transcriptRef, Pre: image(before), Post: image("")}}})
	if !strings.HasPrefix(last, "barrier .mend/own/1 ") {
		t.Errorf("the last call of Prepare is %q", last)
	}
}

// heldWriter opens the transcript as another program. The result appends a line through that descriptor, even after the
// transcript was replaced.
func heldWriter(t *testing.T, root string) func(line string) {
	t.Helper()
	f, err := os.OpenFile(file(root), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return func(line string) {
		if _, err := f.WriteString(line + "\n"); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCarryOver: lines that a program appends through an old descriptor during an exchange are carried over, each once. A
// crash at any call, or in the middle of a line, neither loses nor repeats a line.
func TestCarryOver(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file that another program has open is not replaced")
	}
	const a, b = `{"id":"first"}`, `{"id":"second"}`
	for k, hit := 0, true; hit; k++ {
		for torn := 0; torn <= len(a); torn++ {
			root, before := rootEnding(t, endings["complete"])
			after := strings.ReplaceAll(before, "a text", "another text")
			write := heldWriter(t, root)
			f := &storetest.Fault{At: k}
			wrote := 0
			s, st := mustPrepare(t, root, func(call string) error {
				if wrote < 2 && (strings.HasPrefix(call, "exchange") || strings.HasPrefix(call, "carry over")) {
					write([]string{a, b}[wrote])
					wrote++
				}
				if strings.HasPrefix(call, "exchange") || len(f.Calls) > 0 {
					return f.Step(call)
				}
				return nil
			}, change.Plan{Ops: []change.Op{{Ref: transcriptRef, Pre: image(before), Post: image(after)}}})
			_, err := s.Commit(t.Context(), st)
			hit = f.Hit()
			if hit && strings.HasPrefix(f.Calls[k], "carry over") && !strings.Contains(content(t, root), a) && torn > 0 {
				appendRaw(t, root, a[:torn]) // the crash cut the write
			}
			if err != nil {
				out, err := mustOpen(t, root, linestore.Options{}).Settle(t.Context(), st)
				if err != nil || out.State != change.Committed && k > 0 {
					t.Fatalf("cut at %d: Settle = %+v, %v", k, out, err)
				}
			}
			if n := strings.Count(strings.Join(f.Calls, "\n"), "carry over"); err == nil && n != 2 {
				t.Errorf("%d times lines were carried over, want 2", n)
			}
			got := content(t, root)
			want := after + a + "\n"
			if wrote == 2 {
				want += b + "\n"
			}
			if k == 0 { // the exchange was not made
				want = before + a + "\n"
			}
			if got != want {
				t.Fatalf("cut at %d %q, torn at %d: %q, want %q", k, f.Calls, torn, got[len(before)-3:], want[len(before)-3:])
			}
			fi, err := os.Stat(file(root))
			if err != nil {
				t.Fatal(err)
			}
			if !hit && time.Since(fi.ModTime()) > time.Hour {
				t.Errorf("the time is %v, want the time of the carried over lines", fi.ModTime())
			}
			if err := mustOpen(t, root, linestore.Options{}).Discard(t.Context(), st); err != nil {
				t.Fatal(err)
			}
			if l := leftovers(root); len(l) > 0 {
				t.Errorf("cut at %d: left over: %q", k, l)
			}
			if !hit || !strings.HasPrefix(f.Calls[k], "carry over") {
				break
			}
		}
	}
}

// TestCarriedOverLine: a line that is carried over starts on a new line, and the transcript gets the time of that write.
func TestCarriedOverLine(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file that another program has open is not replaced")
	}
	for _, c := range []struct{ before, after, wrote, want string }{
		{"x\n", "y\n", "z\n", "y\nz\n"},
		{"x\n", "y", "z\n", "y\nz\n"},
		{"x", "y", "\nz\n", "y\nz\n"},
	} {
		root := newRoot(t)
		overwrite(t, root, c.before)
		s, st := mustPrepare(t, root, func(call string) error {
			if !strings.HasPrefix(call, "exchange ") {
				return nil
			}
			appendRaw(t, root, c.wrote)
			return os.Chtimes(file(root), oldTime, oldTime)
		}, change.Plan{Ops: []change.Op{{Ref: transcriptRef, Pre: image(c.before), Post: image(c.after)}}})
		mustCommit(t, s, st)
		if got := content(t, root); got != c.want {
			t.Errorf("%q with %q: %q, want %q", c.after, c.wrote, got, c.want)
		}
		wantTime(t, root)
	}
}

func appendRaw(t *testing.T, root, text string) {
	t.Helper()
	f, err := os.OpenFile(file(root), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestIsOwn: an undo removes the line after the point where the reverted change appended. It is refused if there are two
// such lines.
func TestIsOwn(t *testing.T) {
	old, repaired := `{"id":"x","text":"old"}`, `{"id":"x","text":"repaired"}`
	ref := lineRef("x")
	undo := change.Op{Ref: ref, Pre: image(repaired), Post: image(old)}
	at := func(lines ...string) *change.AppendPoint {
		return &change.AppendPoint{Size: int64(len(strings.Join(lines, "\n")) + 1)}
	}
	for _, c := range []struct {
		name    string
		lines   []string
		reverts []*change.AppendPoint
		removed bool
		refused bool
	}{
		{"one line", []string{old, repaired}, []*change.AppendPoint{at(old)}, true, false},
		{"the file is shorter than the point", []string{old, repaired}, []*change.AppendPoint{{Size: 1 << 20}}, true, false},
		{"another one before the point", []string{repaired, old, repaired}, []*change.AppendPoint{at(repaired, old)}, true, false},
		{"two after the point", []string{old, repaired, old, repaired}, []*change.AppendPoint{at(old)}, false, true},
		{"the earliest of two points", []string{repaired, old, repaired}, []*change.AppendPoint{at(repaired, old), at(repaired)}, true, false},
		{"the earliest point is before both lines", []string{repaired, old, repaired}, []*change.AppendPoint{at(repaired, old), {Size: 0}}, false, true},
		{"one change did not append", []string{repaired, old, repaired}, []*change.AppendPoint{nil, at(repaired, old)}, true, false},
		{"no change appended", []string{old, repaired}, []*change.AppendPoint{nil}, false, false},
		{"no reverted change", []string{old, repaired}, nil, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, _ := rootEnding(t, endings["complete"])
			before := strings.Join(c.lines, "\n") + "\n"
			overwrite(t, root, before)
			s := mustOpen(t, root, linestore.Options{})
			st, err := s.Prepare(t.Context(), change.Plan{Ops: []change.Op{undo}, Reverts: c.reverts})
			if errors.As(err, new(*change.ConflictError)) != c.refused {
				t.Fatalf("Prepare = %v, want refused %t", err, c.refused)
			}
			if c.refused {
				return
			}
			mustCommit(t, s, st)
			want := before + old + "\n"
			if c.removed {
				want = strings.TrimSuffix(before, repaired+"\n")
			}
			if got := content(t, root); got != want {
				t.Errorf("the transcript is %q, want %q", got, want)
			}
		})
	}
}

// TestCarriedOverOnce: lines that were carried over before a crash are not carried over again, even if another program has
// appended more since.
func TestCarriedOverOnce(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a file that another program has open is not replaced")
	}
	const a, later = `{"id":"first"}`, `{"id":"later"}`
	root, before := rootEnding(t, endings["complete"])
	after := strings.ReplaceAll(before, "a text", "another text")
	write := heldWriter(t, root)
	carried := false
	s, st := mustPrepare(t, root, func(call string) error {
		switch {
		case strings.HasPrefix(call, "exchange"):
			write(a)
		case strings.HasPrefix(call, "carry over"):
			carried = true
		case carried && strings.HasPrefix(call, "barrier"):
			return storetest.ErrFault
		}
		return nil
	}, change.Plan{Ops: []change.Op{{Ref: transcriptRef, Pre: image(before), Post: image(after)}}})
	if _, err := s.Commit(t.Context(), st); !errors.Is(err, storetest.ErrFault) {
		t.Fatalf("Commit = %v", err)
	}
	agentAppends(t, root, later)
	if out, err := mustOpen(t, root, linestore.Options{}).Settle(t.Context(), st); err != nil || out.State != change.Committed {
		t.Fatalf("Settle = %+v, %v", out, err)
	}
	if got, want := content(t, root), after+a+"\n"+later+"\n"; got != want {
		t.Errorf("the transcript is %q, want %q", got, want)
	}
}

// TestReplacedMeanwhile: if another program rewrites the transcript between the last check and the exchange, its file is put
// back, the conflict says how it changed the record, and nothing is left in mend's folder.
func TestReplacedMeanwhile(t *testing.T) {
	for _, c := range []struct {
		why string
		do  func(text string) string
	}{
		{"another program changed it", func(s string) string {
			return strings.Replace(s, `"id":"prt_12"`, `"of":"them","id":"prt_12"`, 1)
		}},
		{"another program removed it", func(s string) string {
			return strings.Replace(s, `"id":"prt_12"`, `"id":"prt_99"`, 1)
		}},
		{"another program wrote it", func(s string) string {
			return `{"id":"new","text":"of another"}` + "\n" + s
		}},
		{"another program changed the transcript at the same time", func(s string) string {
			return strings.Replace(s, `"id":"prt_11"`, `"of":"them","id":"prt_11"`, 1)
		}},
	} {
		t.Run(c.why, func(t *testing.T) {
			root, before := rootEnding(t, endings["complete"])
			now := c.do(before)
			exchanges := 0
			step := func(call string) error {
				if strings.HasPrefix(call, "exchange ") {
					if exchanges++; exchanges == 1 {
						overwrite(t, root, now)
					}
				}
				return nil
			}
			removed := change.Op{Ref: lineRef("prt_12"), Pre: read(t, root, lineRef("prt_12"))}
			s, st := mustPrepare(t, root, step, change.Plan{Ops: []change.Op{removed, added}})
			out, err := s.Commit(t.Context(), st)
			if err != nil || out.State != change.Aborted || len(out.Conflicts) != 1 || out.Conflicts[0].Why != c.why {
				t.Errorf("Commit = %+v, %v", out, err)
			}
			if got := content(t, root); got != now || exchanges != 2 {
				t.Errorf("after %d exchanges the transcript is %q, want %q", exchanges, got, now)
			}
			if err := s.Discard(t.Context(), st); err != nil {
				t.Error(err)
			}
			if left := leftovers(root); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}
