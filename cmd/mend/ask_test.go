package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mend/cmd/mend/internal/frame"
	"mend/internal/term"
	"mend/internal/test/codex"
	"mend/internal/test/damage"
	"mend/internal/test/dbtest"
	"mend/journal"
	"mend/testdata"
)

// TestAsk: on a terminal repair asks until it gets a valid answer, and changes the store only after yes.
func TestAsk(t *testing.T) {
	for _, c := range []struct {
		in    string
		want  int
		asked int    // number of questions
		shows string // on stderr
	}{
		{"y\n", frame.ExitDone, 1, ""},
		{"YES\n", frame.ExitDone, 1, ""},
		{"n\n", frame.ExitRefused, 1, ""},
		{"", frame.ExitRefused, 1, ""}, // the end of the input
		{"\n", frame.ExitRefused, 2, "  n  no: change nothing"},
		{"?\ny\n", frame.ExitDone, 2, "  d  diff: show the diff"},
		{"what\nq\nyes", frame.ExitDone, 3, "  y  yes: do it"},
		{"d\ny\n", frame.ExitDone, 2, ""},
	} {
		ts := newTestStore(t, 0)
		ts.damage(ts.kind("blank answer"))
		damaged := ts.snapshot()
		got, out, errs := ts.asking(c.in, 0, "repair")
		if got != c.want {
			t.Errorf("answer %q: exit code %d, want %d\n%s%s", c.in, got, c.want, out, errs)
		}
		if n := strings.Count(errs, `Repair "A title"? [y/n/d/?] `); n != c.asked || !strings.Contains(errs, c.shows) {
			t.Errorf("answer %q: asked %d times, want %d and %q in\n%s", c.in, n, c.asked, c.shows, errs)
		}
		if diff := strings.Contains(out, `text: "[user interrupted]"`); diff != strings.HasPrefix(c.in, "d") {
			t.Errorf("answer %q: the diff is shown: %t, want %t:\n%s", c.in, diff, !diff, out)
		}
		if changed := !maps.Equal(ts.snapshot(), damaged); changed != (c.want == frame.ExitDone) {
			t.Errorf("answer %q: the store changed: %t, want %t", c.in, changed, !changed)
		}
	}
}

// TestFixFinishes: fix salvages a damaged database and moves sessions whose folder is gone, after a question, and ends
// with the command that continues a session.
func TestFixFinishes(t *testing.T) {
	file := func(ts *testStore) string {
		data, err := os.ReadFile(ts.path)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for _, c := range []struct {
		breaks          func(ts *testStore)
		state           func(ts *testStore) string
		question, shows string
	}{
		{func(ts *testStore) {
			rows := damage.SQL(t, ts.path)("SELECT rootpage FROM sqlite_schema WHERE name = 'part_session_idx'")
			page, err := strconv.Atoi(fmt.Sprint(rows[0]["rootpage"]))
			if err != nil {
				t.Fatal(err)
			}
			data := file(ts)
			dbtest.Write(t, ts.path, data[:(page-1)*4096]+strings.Repeat("\x00", 4096)+data[page*4096:])
		}, file, "Salvage 1 damaged database?", "To continue the newest session: "},
		{func(ts *testStore) {
			dbtest.Write(t, ts.path, strings.Repeat("\x00", 16)+file(ts)[16:])
		}, file, "Salvage 1 damaged database?", "To continue the newest session: "},
		{func(ts *testStore) {
			work := t.TempDir()
			dbtest.Alter(t, ts.path, "UPDATE session SET directory = '"+filepath.Join(work, "shop")+"'")
			store := filepath.Join(work, "store")
			if err := os.Mkdir(store, 0o755); err != nil {
				t.Fatal(err)
			}
			t.Chdir(store)
		}, func(ts *testStore) string {
			return fmt.Sprint(damage.SQL(t, ts.path)("SELECT directory FROM session"))
		}, "Move 1 session to ", "To continue it: "},
	} {
		for in, want := range map[string]int{"y\n": frame.ExitDone, "n\n": frame.ExitRefused, "": frame.ExitRefused} {
			ts := newTestStore(t, 2)
			c.breaks(ts)
			before := c.state(ts)
			got, out, errs := ts.asking(in, 0, "fix")
			if got != want || !strings.Contains(errs, c.question) || strings.Contains(out, "Nothing is broken") {
				t.Errorf("%s answer %q: exit code %d, want %d\n%s%s", c.question, in, got, want, out, errs)
			}
			done, last := want == frame.ExitDone, out[strings.LastIndex(strings.TrimSuffix(out, "\n"), "\n")+1:]
			if strings.HasPrefix(last, c.shows) != done || (c.state(ts) != before) != done {
				t.Errorf("%s answer %q: the last line %q or the store is wrong\n%s%s", c.question, in, last, out, errs)
			}
		}
	}
}

// TestFixSalvages: fix salvages the damaged database of the session that the user or an error names, and then repairs
// the session.
func TestFixSalvages(t *testing.T) {
	for _, args := range [][]string{
		{"fix", "SESSION"},
		{"fix", "A title"},
		{"fix", "SESSION", "--error", "messages.7: `tool_use` ids must be unique"},
		{"fix", "messages.7: `tool_use` ids must be unique"},
		{"fix", "file is not a database"},
		{"fix", "my database is corrupt"},
	} {
		for in, want := range map[string]int{"y\ny\n": frame.ExitDone, "n\n": frame.ExitRefused} {
			ts := newTestStore(t, 2)
			dbtest.Alter(t, ts.path, "UPDATE session SET directory = '"+t.TempDir()+"'")
			ts.damage(ts.kind("blank answer"))
			data, err := os.ReadFile(ts.path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := strings.Repeat("\x00", 16) + string(data[16:])
			dbtest.Write(t, ts.path, damaged)
			words := strings.Split(strings.ReplaceAll(strings.Join(args, "\x00"), "SESSION", ts.session), "\x00")
			got, out, errs := ts.asking(in, 0, words...)
			if got != want || !strings.Contains(errs, "Salvage 1 damaged database?") {
				t.Errorf("%q, answer %q: exit code %d, want %d\n%s%s", args, in, got, want, out, errs)
			}
			done := strings.Contains(out, "Salvaged") && strings.Contains(out, `Repaired "A title"`) && strings.Contains(out, "To continue it: ")
			now, err := os.ReadFile(ts.path)
			if done != (want == frame.ExitDone) || (string(now) == damaged) == done || err != nil {
				t.Errorf("%q, answer %q: salvaged and repaired %t, %v\n%s%s", args, in, done, err, out, errs)
			}
		}
	}
}

// TestAskFolder: if mend finds no new folder for sessions, fix asks for one until it exists.
func TestAskFolder(t *testing.T) {
	for in, want := range map[string]int{"PROJECT\n": frame.ExitDone, "/nope\nPROJECT\n": frame.ExitDone, "\n": frame.ExitRefused, "/nope\n": frame.ExitRefused} {
		ts, project, gone := newTestStore(t, 2), t.TempDir(), filepath.Join(t.TempDir(), "shop")
		dbtest.Alter(t, ts.path, "UPDATE session SET directory = '"+gone+"'")
		got, out, errs := ts.asking(strings.ReplaceAll(in, "PROJECT", project), 0, "fix")
		if got != want || !strings.Contains(errs, "Where is it now?") || strings.Contains(errs, "/nope is not a folder") != strings.Contains(in, "/nope") {
			t.Errorf("answer %q: exit code %d, want %d\n%s%s", in, got, want, out, errs)
		}
		folder := fmt.Sprint(damage.SQL(t, ts.path)("SELECT directory FROM session")[0]["directory"])
		if moved := folder != gone; moved != (want == frame.ExitDone) {
			t.Errorf("answer %q: the session is in %s", in, folder)
		}
	}
}

// TestAskPartly: if fix has salvaged a database or moved a session, and the user declines the repair, the answer does not
// say that nothing was changed.
func TestAskPartly(t *testing.T) {
	for in, question := range map[string]string{"y\nn\n": "Salvage 1 damaged database?", "n\nPROJECT\n": "Where is it now?"} {
		ts, project := newTestStore(t, 2), t.TempDir()
		ts.damage(ts.kind("blank answer"))
		folder := project
		if in != "y\nn\n" {
			folder = filepath.Join(project, "gone")
		}
		dbtest.Alter(t, ts.path, "UPDATE session SET directory = '"+folder+"'")
		if data, err := os.ReadFile(ts.path); folder == project && err == nil {
			dbtest.Write(t, ts.path, strings.Repeat("\x00", 16)+string(data[16:]))
		}
		got, out, errs := ts.asking(strings.ReplaceAll(in, "PROJECT", project), 0, "fix")
		if got != frame.ExitProblems || !strings.Contains(errs, question) || !strings.Contains(errs, `Repair "A title"?`) || strings.Contains(errs, "nothing was changed\n") {
			t.Errorf("answer %q: exit code %d, want %d\n%s%s", in, got, frame.ExitProblems, out, errs)
		}
	}
}

// TestAskTrim: for a session whose newest request was too long, fix asks to trim it.
func TestAskTrim(t *testing.T) {
	const text = "Session too large to compact - context exceeds model limit even after stripping media"
	for in, want := range map[string]int{"y\n": frame.ExitDone, "n\n": frame.ExitRefused} {
		ts := newTestStore(t, 2)
		damage.Edit(ts, ts.path, ts.session, damage.ByName(t, damage.LongTexts))
		messages, _ := ts.store().Records()
		dbtest.Alter(t, ts.path, `UPDATE message SET data = json_set(data, '$.error', json('{"name":"ContextOverflowError","data":{"message":"`+text+`"}}')) WHERE id = '`+messages[len(messages)-1].ID+`'`)
		before := ts.snapshot()
		got, out, errs := ts.asking(in, 0, "fix", text)
		if got != want || !strings.Contains(errs, `Trim "A title"`) {
			t.Errorf("answer %q: exit code %d, want %d\n%s%s", in, got, want, out, errs)
		}
		if changed := !maps.Equal(ts.snapshot(), before); changed != (want == frame.ExitDone) {
			t.Errorf("answer %q: the store changed: %t\n%s", in, changed, out)
		}
	}
}

// TestAskOnce: fix shows each broken session and how it will work, and asks once about all of them.
func TestAskOnce(t *testing.T) {
	for in, want := range map[string]int{"y\n": frame.ExitDone, "d\ny\n": frame.ExitDone, "n\n": frame.ExitRefused, "": frame.ExitRefused} {
		ts := newTestStore(t, 0)
		ts.damage(ts.kind("blank answer"))
		ts.copySession(1, "Another title")
		ts.copySession(2, "Add dark mode")
		before := ts.snapshot()
		got, out, errs := ts.asking(in, 0, "fix")
		if got != want || strings.Count(errs, "Repair 3 sessions? [y/n/d/?] ") != max(strings.Count(in, "\n"), 1) || !strings.Contains(out, "After the repair: works with") {
			t.Errorf("answers %q: exit code %d, want %d\n%s%s", in, got, want, out, errs)
		}
		if hint := strings.Contains(errs, "name it: mend fix SESSION"); hint != (want == frame.ExitRefused) {
			t.Errorf("answers %q: the hint is shown: %t\n%s", in, hint, errs)
		}
		done := strings.Count(out, "\nRepaired \"") == 3 && strings.Contains(out, "Repaired 3 of 3 sessions.") && strings.Contains(out, "Each repaired session works with")
		if repaired := want == frame.ExitDone; done != repaired || maps.Equal(ts.snapshot(), before) == repaired {
			t.Errorf("answers %q: repaired %t, want %t\n%s%s", in, done, repaired, out, errs)
		}
	}
}

// A changingInput is the answer to a question. Another program changes something before it is read.
type changingInput struct {
	*strings.Reader
	meanwhile func()
}

func (r *changingInput) Read(b []byte) (int, error) {
	if r.meanwhile != nil {
		r.meanwhile()
		r.meanwhile = nil
	}
	return r.Reader.Read(b)
}

// TestAskStale: a plan is not applied if another process of mend has changed the session while the question waited,
// even if every record has its content again: otherwise the log would have a repair that is both in force and undone.
// Changes of other sessions have no effect.
func TestAskStale(t *testing.T) {
	for _, c := range []struct {
		name      string
		setup     [][]string
		args      []string
		meanwhile [][]string
		want      int
		shows     string
	}{
		{"undo", [][]string{{"repair", "SESSION"}}, []string{"undo"}, [][]string{{"undo"}, {"repair", "SESSION"}}, frame.ExitConflict, "its newest change is walazu"},
		{"undo of a session", [][]string{{"repair", "SESSION"}}, []string{"undo", "--session", "SESSION"}, [][]string{{"undo"}, {"redo"}}, frame.ExitConflict, "its newest change is walazu"},
		{"undo of two sessions", [][]string{{"repair"}}, []string{"undo"}, [][]string{{"undo"}, {"redo"}}, frame.ExitConflict, "mend changed the session meanwhile: its newest change is"},
		{"redo", [][]string{{"repair", "SESSION"}, {"undo"}}, []string{"redo"}, [][]string{{"redo"}, {"undo"}}, frame.ExitConflict, "its newest change is migeji"},
		{"repair", nil, []string{"repair", "SESSION"}, [][]string{{"repair", "SESSION"}, {"undo"}}, frame.ExitConflict, `repairing "A title": mend changed the session meanwhile: its newest change is goqare`},
		{"beside another session", nil, []string{"repair", "SESSION"}, [][]string{{"repair", "OTHER"}, {"undo"}}, frame.ExitDone, ""},
		{"trim", nil, []string{"trim", "SESSION", "--to", "3000", "--keep-turns", "0"}, [][]string{{"trim", "SESSION", "--to", "3000", "--keep-turns", "0"}, {"undo"}}, frame.ExitConflict, "its newest change is goqare"},
		{"resolve", nil, []string{"resolve", "qevajo", "--back"}, [][]string{{"resolve", "qevajo", "--keep"}}, frame.ExitConflict, "its newest change is qevajo"},
		{"resolve twice", nil, []string{"resolve", "qevajo", "--keep"}, [][]string{{"resolve", "qevajo", "--keep"}}, frame.ExitRefused, "not in conflict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ts := newTestStore(t, map[bool]int{true: 2}[c.args[0] == "trim"])
			other := ""
			switch c.args[0] {
			case "trim":
				ts.damage(ts.kind("long outputs"))
			case "resolve":
				ts.damage(ts.kind("blank answer"))
				dead := false
				_ = repairWith(ts.path, ts.journal, ts.session, func(call string) error {
					if dead = dead || strings.HasPrefix(call, "commit finish"); dead {
						return errors.New("killed")
					}
					return nil
				})
				damage.Edit(ts, ts.path, ts.session, damage.Text(damage.Hello, "changed by hand"))
				if code, out := ts.mend("recover"); code != frame.ExitConflict {
					t.Fatal(out)
				}
			default:
				ts.damage(ts.kind("blank answer"))
				other = ts.copySession(1, "Add dark mode")
			}
			expand := func(words []string) (all []string) {
				for _, w := range words {
					all = append(all, strings.NewReplacer("SESSION", ts.session, "OTHER", other).Replace(w))
				}
				return all
			}
			doAll := func(lines [][]string) {
				for _, words := range lines {
					if code, out := ts.mend(append(expand(words), "--yes")...); code != frame.ExitDone {
						t.Fatalf("mend %v: exit code %d\n%s", words, code, out)
					}
				}
			}
			doAll(c.setup)
			var between map[string]string
			in := &changingInput{strings.NewReader("y\n"), func() {
				doAll(c.meanwhile)
				between = ts.snapshot()
			}}
			var out, errs bytes.Buffer
			a := &frame.Env{Terminal: &term.Terminal{In: in, Out: &out, Err: &errs, CanAsk: true}}
			root := newRoot(a)
			a.Opt.Journal.Dir, a.Opt.Cache = ts.journal, filepath.Join(ts.journal, "cache")
			root.SetArgs(append(expand(c.args), "--store", ts.path))
			if code := a.Report(root.Execute()); code != c.want || !strings.Contains(errs.String(), c.shows) {
				t.Errorf("exit code %d, want %d and %q in\n%s%s", code, c.want, c.shows, &out, &errs)
			}
			if same := maps.Equal(between, ts.snapshot()); same != (c.want != frame.ExitDone) {
				t.Errorf("the store is as the other process left it: %t, want %t", same, !same)
			}
			if _, log := ts.mend("log"); c.want != frame.ExitDone && strings.Count(log, "\n") != len(c.setup)+len(c.meanwhile) {
				t.Errorf("the log has an additional entry:\n%s", log)
			}
		})
	}
}

// TestDryRunUnlocked: a dry run does not wait for another process that has the journal open for writing.
func TestDryRunUnlocked(t *testing.T) {
	ts := newTestStore(t, 0)
	ts.damage(ts.kind("blank answer"))
	if code, out := ts.mend("repair", ts.session, "--yes"); code != frame.ExitDone {
		t.Fatal(out)
	}
	j, err := journal.Open(ts.journal, journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	for _, c := range []struct {
		args  []string
		shows string
	}{
		{[]string{"undo"}, "Undo would revert 1 change"},
		{[]string{"undo", "qevajo"}, "Undo would revert 1 change"},
		{[]string{"undo", "--session", ts.session}, "Undo would revert 1 change"},
		{[]string{"repair"}, "Nothing is broken."},
		{[]string{"repair", ts.session}, "Nothing to repair"},
		{[]string{"recover"}, "No repair is pending."},
		{[]string{"gc", "--older-than", "0s"}, "can no longer be undone after this."},
		{[]string{"forget", "qevajo"}, "can no longer be undone after this."},
	} {
		began := time.Now()
		code, out := ts.mend(append(c.args, "--dry-run")...)
		if took := time.Since(began); code != frame.ExitDone || !strings.Contains(out, c.shows) || took >= 2*time.Second { // a writer waits that long
			t.Errorf("mend %v --dry-run beside a writer: exit code %d after %v, want %q in\n%s", c.args, code, took, c.shows, out)
		}
	}
}

// TestAskChanged: a session that changes after its repair was planned is not repaired, and the others are. The output
// names the command that plans the repair again.
func TestAskChanged(t *testing.T) {
	ts := newTestStore(t, 0)
	ts.damage(ts.kind("blank answer"))
	ts.copySession(1, "Add dark mode")
	in := &changingInput{strings.NewReader("y\n"), func() {
		damage.Edit(ts, ts.path, ts.session, damage.Text(damage.Hello, " \n\n"))
	}}
	var out, errs bytes.Buffer
	a := &frame.Env{Terminal: &term.Terminal{In: in, Out: &out, Err: &errs, CanAsk: true}}
	root := newRoot(a)
	a.Opt.Journal.Dir, a.Opt.Cache = ts.journal, filepath.Join(ts.journal, "cache")
	root.SetArgs([]string{"repair", "--store", ts.path})
	if code := a.Report(root.Execute()); code != frame.ExitConflict {
		t.Errorf("exit code %d, want %d", code, frame.ExitConflict)
	}
	for _, want := range []string{`repairing "A title": another program changed it meanwhile`, "To plan the repair again, run mend fix " + ts.session + " --store " + ts.path} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("stderr has no %q:\n%s", want, &errs)
		}
	}
	if strings.Contains(errs.String(), "--only") || !strings.Contains(out.String(), "Repaired 1 of 2 sessions, 1 failed. Each repaired session works with") || !strings.Contains(out.String(), `Repaired "Add dark mode"`) {
		t.Errorf("the answer is\n%s%s", &out, &errs)
	}
}

// TestAskForks: forks of a repaired session are asked about after it. If the user leaves them, the answer does not say
// that nothing was changed.
func TestAskForks(t *testing.T) {
	store := t.TempDir()
	file, base, fork := filepath.Join(store, codex.File), codex.ByName("encrypted content missing").Broken(), "01a22c79-ca37-71b1-80ca-cafedc6c731d"
	lines := fmt.Sprintf(`{"timestamp":"2026-11-23T10:00:00.000Z","ordinal":900,"type":"session_meta","payload":{"id":"%s","timestamp":"2026-11-23T10:00:00.000Z",`+
		`"cwd":"/home/user","originator":"codex_exec","cli_version":"0.171.0","model_provider":"fake","history_mode":"paginated",`+
		`"history_base":{"thread_id":"%s","end_ordinal_exclusive":900,"end_byte_offset":%d}}}`+"\n", fork, testdata.CodexSession, len(base)) +
		`{"timestamp":"2026-11-23T10:00:01.000Z","ordinal":901,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"in the fork"}]}}` + "\n"
	for path, text := range map[string]string{
		file: string(base), filepath.Join(filepath.Dir(file), "rollout-2026-11-23T10-00-00-"+fork+".jsonl"): lines,
		filepath.Join(store, "config.toml"):                               "model_provider = \"fake\"\n[model_providers.fake]\n",
		filepath.Join(store, "thread-writer-locks", ".coordination.lock"): "",
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	a := &frame.Env{Terminal: &term.Terminal{In: strings.NewReader("y\nn\n"), Out: &out, Err: &errs, CanAsk: true}}
	root := newRoot(a)
	a.Opt.Journal.Dir, a.Opt.Cache = t.TempDir(), t.TempDir()
	root.SetArgs([]string{"fix", "--store", store})
	code := a.Report(root.Execute())
	if code != frame.ExitProblems || strings.Contains(errs.String(), "nothing was changed") || strings.Count(errs.String(), "[y/n/d/?]") != 2 {
		t.Errorf("exit code %d, want %d, and two questions\n%s%s", code, frame.ExitProblems, &out, &errs)
	}
}

// TestAskInterrupted: a signal ends the question.
func TestAskInterrupted(t *testing.T) {
	in, out := io.Pipe()
	t.Cleanup(func() { _ = out.Close() })
	a := &frame.Env{Terminal: &term.Terminal{In: in, Out: io.Discard, Err: io.Discard, CanAsk: true}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := frame.ConfirmChange(ctx, a.Terminal, frame.WriteFlags{}, "Go on?", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("ConfirmChange = %v, want %v", err, context.Canceled)
	}
}

// TestAskShowsProof: the versions with which the repaired session works are shown before the question and after the
// repair, and then the command that continues the session.
func TestAskShowsProof(t *testing.T) {
	ts := newTestStore(t, 0)
	ts.damage(ts.kind("blank answer"))
	_, out, _ := ts.asking("n\n", 0, "repair")
	if !strings.Contains(out, "After the repair: works with OpenCode") {
		t.Errorf("before the question:\n%s", out)
	}
	_, out, _ = ts.asking("y\n", 0, "repair")
	if !strings.Contains(out, "): works with OpenCode") || !strings.Contains(out, "\nTo continue it: opencode -s "+ts.session) {
		t.Errorf("after the repair:\n%s", out)
	}
}

// TestRepairCancelled: a repair that is cancelled while it is planned is not reported as done.
func TestRepairCancelled(t *testing.T) {
	ts := newTestStore(t, 0)
	ts.damage(ts.kind("blank answer"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	a := &frame.Env{Terminal: &term.Terminal{In: strings.NewReader(""), Out: &out, Err: &errs}}
	root := newRoot(a)
	a.Opt.Journal.Dir, a.Opt.Cache = ts.journal, filepath.Join(ts.journal, "cache")
	root.SetArgs([]string{"fix", "--yes", "--store", ts.path})
	if err := root.ExecuteContext(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("mend fix: %v\n%s%s", err, &out, &errs)
	}
}
