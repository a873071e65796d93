package mend_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mend/agent"
	"mend/change"
	"mend/internal/mend"
	fixture "mend/internal/test/claude"
	rollouts "mend/internal/test/codex"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// growSession adds a prompt to the session, as the agent does.
func growSession(b *lossBench) {
	b.t.Helper()
	switch {
	case strings.HasSuffix(b.file, ".db"):
		sql("insert into message (id, session_id, time_created, time_updated, data) select 'msg_zzzzzzzzzzzzzzzzzzzzzzzzzz', session_id, 9000000000000, 9000, '{\"role\":\"user\",\"time\":{\"created\":1},\"agent\":\"build\",\"model\":{\"providerID\":\"a\",\"modelID\":\"b\"}}' from message order by id desc limit 1",
			"insert into part (id, message_id, session_id, time_created, time_updated, data) select 'prt_zzzzzzzzzzzzzzzzzzzzzzzzzz', 'msg_zzzzzzzzzzzzzzzzzzzzzzzzzz', session_id, 9000, 9000, '{\"type\":\"text\",\"text\":\"goes on\"}' from part limit 1")(b)
	case strings.HasSuffix(b.file, rollouts.File):
		before := strings.TrimSuffix(b.read(b.file), "\n")
		ordinal := strings.Count(string(testdata.Codex), "\n")
		b.write(b.file, before+fmt.Sprintf("\n"+`{"timestamp":"2026-11-25T10:00:00.000Z","ordinal":%d,"type":"response_item","payload":{"type":"message","id":"msg_zz","role":"user","content":[{"type":"input_text","text":"goes on"}]}}`+"\n", ordinal))
	case b.file != "":
		all := strings.Split(string(fixture.Baseline), `"uuid":"`)
		const id = "00000000-2222-4222-8222-222222222222"
		line := `{"parentUuid":"` + all[len(all)-1][:36] + `","isSidechain":false,"type":"user","message":{"role":"user","content":"goes on"},"uuid":"` + id + `","timestamp":"2026-11-25T10:00:00.000Z","sessionId":"` + b.session + `","cwd":"/home/user/project","version":"2.1.330"}` + "\n"
		b.write(b.file, b.read(b.file)+line)
	default:
		b.write(filepath.Join(b.dir, "storage/message", b.session, "msg_zzzzzzzzzzzzzzzzzzzzzzzzzz.json"), `{"id":"msg_zzzzzzzzzzzzzzzzzzzzzzzzzz","sessionID":"`+b.session+`","role":"user","time":{"created":9000000000000}}`)
		b.write(filepath.Join(b.dir, "storage/part/msg_zzzzzzzzzzzzzzzzzzzzzzzzzz/prt_zzzzzzzzzzzzzzzzzzzzzzzzzz.json"), `{"id":"prt_zzzzzzzzzzzzzzzzzzzzzzzzzz","messageID":"msg_zzzzzzzzzzzzzzzzzzzzzzzzzz","sessionID":"`+b.session+`","type":"text","text":"goes on"}`)
	}
}

// editFiles returns a loss that changes the first n files that match the pattern and that edit changes.
func editFiles(pattern string, n int, edit func(string) string) func(*lossBench) {
	return func(b *lossBench) {
		b.t.Helper()
		all, err := filepath.Glob(filepath.Join(b.dir, pattern))
		if err != nil {
			b.t.Fatal(err)
		}
		left := n
		for _, path := range all {
			if before := b.read(path); left > 0 && edit(before) != before {
				b.write(path, edit(before))
				left--
			}
		}
		if left > 0 {
			b.t.Fatalf("%d of %d files were changed", n-left, n)
		}
	}
}

// firstDifference returns the first line that differs, of both texts.
func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return x[i][:min(len(x[i]), 300)] + "\n" + y[i][:min(len(y[i]), 300)]
		}
	}
	return ""
}

// withoutText empties the text of a record.
func withoutText(data string) string {
	i := strings.Index(data, `"text": "`)
	if i < 0 {
		return data
	}
	i += len(`"text": "`)
	return data[:i] + data[i+strings.Index(data[i:], `"`):]
}

// eachLine returns a loss that edits the lines of the transcript that contain a text.
func eachLine(having string, edit func(line string) string) func(*lossBench) {
	return rewriteTranscript(func(d string) string {
		var all strings.Builder
		for line := range strings.Lines(d) {
			if strings.Contains(line, having) {
				line = edit(line)
			}
			all.WriteString(line)
		}
		return all.String()
	})
}

// emptyContent empties the content of the message in a line.
func emptyContent(line string) string {
	i := strings.Index(line, `"content":`) + len(`"content":`)
	if line[i] == '"' {
		return line[:i+1] + line[i+1+strings.Index(line[i+1:], `"`):]
	}
	return line[:i] + "[]" + line[i+strings.LastIndex(line[i:], "]")+1:]
}

// grownWithoutLoss returns the content of a session that continued and lost nothing. It checks that nothing
// is restorable, before and after a copy.
func grownWithoutLoss(t *testing.T, store string) string {
	t.Helper()
	b := newLossBench(t, store)
	growSession(b)
	if r := b.restorable(); r != nil {
		t.Fatalf("nothing is lost, and the session is restorable: %+v", r)
	}
	b.keep()
	if r := b.restorable(); r != nil {
		t.Fatalf("nothing is lost, and after a copy the session is restorable: %+v", r)
	}
	return b.content()
}

// TestRestoreGrown: a session that has lost content and continued is listed, and after the restore has the lost and the
// new content. That also holds if a copy was made since, unless the session has gained more than it lost. A plain run
// tries a later copy once for each store.
func TestRestoreGrown(t *testing.T) {
	storetest.Long(t)
	one := "(select min(id) from part where data like '%\"type\":\"text\"%')"
	whole := map[string]string{} // by store: the content of a session that lost nothing
	tried := map[string]bool{}   // stores for which a later copy was tried
	for _, c := range []struct {
		name, store string
		lose        func(*lossBench)
		small       bool // it gains more than it loses
	}{
		{"all parts emptied", "1.18.33", sql("update part set data = '{}'"), false},
		{"a part emptied", "1.18.33", sql("update part set data = '{}' where id = " + one), true},
		{"messages emptied", "1.18.33", sql("update message set data = '{}'"), false},
		{"texts emptied", "1.18.33", sql("update part set data = json_set(data, '$.text', '') where json_extract(data, '$.type') = 'text'"), true},
		{"a text cut", "1.18.33", sql("update part set data = json_set(data, '$.text', substr(json_extract(data, '$.text'), 1, 2)) where id = " + one), true},
		{"a row cut", "1.18.33", sql("update part set data = substr(data, 1, 20) where id = " + one), true},
		{"outputs emptied", "1.18.33", sql("update part set data = json_set(data, '$.state.output', '') where json_extract(data, '$.type') = 'tool'"), true},
		{"a part deleted", "1.18.33", sql("delete from part where id = " + one), true},
		{"a message deleted", "1.18.33", sql("delete from part where message_id = (select min(id) from message where id > (select min(id) from message))", "delete from message where id = (select min(id) from message where id > (select min(id) from message))"), false},
		{"the first message deleted", "1.18.33", sql("delete from part where message_id = (select min(id) from message)", "delete from message where id = (select min(id) from message)"), false},
		{"all parts emptied", "1.2.27", sql("update part set data = '{}'"), false},
		{"a part emptied", "tree", editFiles("storage/part/*/*.json", 1, func(string) string { return "{}" }), true},
		{"a file of no bytes", "tree", editFiles("storage/part/*/*.json", 1, func(string) string { return "" }), true},
		{"all messages emptied", "tree", editFiles("storage/message/*/*.json", 2, func(string) string { return "{}" }), false},
		{"a text emptied", "tree", editFiles("storage/part/*/*.json", 1, withoutText), true},
		{"a part removed", "tree", func(b *lossBench) {
			all, _ := filepath.Glob(filepath.Join(b.dir, "storage/part/*/*.json"))
			if err := os.Remove(all[0]); err != nil {
				b.t.Fatal(err)
			}
		}, true},
		{"contents emptied", "claude", eachLine(`"type":"assistant"`, emptyContent), false},
		{"a prompt emptied", "claude", eachLine(`"parentUuid":null`, emptyContent), false},
		{"lines of {}", "claude", eachLine(`"type":"assistant"`, func(string) string { return "{}\n" }), false},
		{"lines removed", "claude", eachLine(`"type":"assistant"`, func(string) string { return "" }), false},
		{"contents emptied", "codex", eachLine(`"role":"assistant"`, emptyContent), false},
		{"lines of {}", "codex", eachLine(`"role":"assistant"`, func(string) string { return "{}\n" }), false},
		{"lines removed", "codex", eachLine(`"role":"user"`, func(string) string { return "" }), false},
		{"outputs emptied", "codex", eachLine(`"type":"function_call_output"`, func(l string) string {
			return regexp.MustCompile(`"output":"[^"]*"`).ReplaceAllString(l, `"output":""`)
		}), false},
		{"cut in half", "codex", rewriteTranscript(func(d string) string { return d[:len(d)/2] }), false},
		{"a result emptied", "claude", func(b *lossBench) { b.write(b.pathBeside("tool-results/a.txt"), "") }, true},
	} {
		for _, kept := range []bool{false, true} {
			if kept && (c.small || tried[c.store] && !storetest.AllCases()) {
				continue
			}
			tried[c.store] = tried[c.store] || kept
			name := c.store + " " + c.name
			if kept {
				name += ", kept since"
			}
			t.Run(name, func(t *testing.T) {
				if whole[c.store] == "" {
					whole[c.store] = grownWithoutLoss(t, c.store)
				}
				b := newLossBench(t, c.store)
				c.lose(b)
				growSession(b)
				lost := b.content()
				if kept {
					b.keep()
				}
				r := b.restorable()
				if r == nil || r.State != mend.Shortened && r.State != mend.Replaced && r.State != string(repair.NotLoaded) || r.Kept == 0 || r.Copied == 0 || r.Now == 0 {
					t.Fatalf("it is restorable: %+v", r)
				}
				done, id := b.restore(mend.RestoreRequest{})
				if id == "" || done.Session.ID != b.session {
					t.Fatalf("nothing is restored: %+v", done)
				}
				if now, first := b.content(), whole[c.store]; now != first {
					t.Errorf("restored: %d bytes, want %d:\n%s", len(now), len(first), firstDifference(now, first))
				}
				if r := b.restorable(); r != nil {
					t.Errorf("after the restore it is restorable: %+v", r)
				}
				b.undo(id)
				if now := b.content(); now != lost {
					t.Errorf("undone: %d bytes, want %d", len(now), len(lost))
				}
			})
		}
	}
}

// TestRestoreReverted: last messages that were missing when a later copy was made count as removed by the user, not as
// lost.
func TestRestoreReverted(t *testing.T) {
	b := newLossBench(t, "1.18.33")
	sql("delete from part where message_id in (select id from message order by id desc limit 1)", "delete from message where id in (select id from message order by id desc limit 1)")(b)
	growSession(b)
	if r := b.restorable(); r == nil {
		t.Error("before the copy it is not restorable")
	}
	b.keep()
	if r := b.restorable(); r != nil {
		t.Errorf("after the copy it is restorable: %+v", r)
	}
}

// TestRestoreEdited: records that mend itself removed or changed since the copy do not count as lost.
func TestRestoreEdited(t *testing.T) {
	b := newLossBench(t, "1.18.33")
	head, err := b.client.Session(t.Context(), b.session)
	if err != nil {
		t.Fatal(err)
	}
	records, err := b.client.Reader().Records(t.Context(), head)
	if err != nil {
		t.Fatal(err)
	}
	var p change.Plan
	for _, r := range records {
		if r.Ref.Kind == change.KindPart && strings.Contains(string(r.Data), `"type":"text"`) && len(p.Ops) < 2 {
			post := r
			post.Data = []byte(`{"type":"text","text":""}`)
			o := change.Op{Ref: r.Ref, Pre: change.ImageOf(&r), Post: change.ImageOf(&post)}
			if len(p.Ops) == 1 {
				o.Post = nil
			}
			p.Ops = append(p.Ops, o)
		}
	}
	p.Session, p.Cause.Kind = b.session, change.CauseTrim
	change.Sort(p.Ops)
	if _, err := b.client.Apply(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	growSession(b)
	if r := b.restorable(); r != nil {
		t.Errorf("it is restorable: %+v", r)
	}
	b.keep()
	if r := b.restorable(); r != nil {
		t.Errorf("after a later copy it is restorable: %+v", r)
	}
}

// TestRestoreMoved: a session of a tree that was moved since the copy gets no second session record.
func TestRestoreMoved(t *testing.T) {
	b := newLossBench(t, "tree")
	to := t.TempDir()
	storetest.Put(t, to, ".git/HEAD", "ref: refs/heads/main\n")
	storetest.Put(t, to, ".git/opencode", "another\n")
	err := b.client.Reader().Move(t.Context(), []agent.Relocation{{Head: b.head, To: to}}, func(p change.Plan) error {
		p.Cause.Kind = change.CauseMove
		_, err := b.client.Apply(t.Context(), p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	editFiles("storage/part/*/*.json", 1, withoutText)(b)
	if b.head, err = b.client.Session(t.Context(), b.session); err != nil || b.head.Project != "another" {
		t.Fatalf("moved to project %q: %v", b.head.Project, err)
	}
	if done, id := b.restore(mend.RestoreRequest{}); id == "" || len(done.Plan.Ops) != 1 {
		t.Errorf("restored with %d ops, want one", len(done.Plan.Ops))
	}
}

// TestRestoreTimes: the undo of a restore resets the times of files, and its redo sets the times of the restore. Agents
// use these times to select the last session and to delete old sessions.
func TestRestoreTimes(t *testing.T) {
	old := time.Date(2026, 3, 4, 5, 6, 7, 89, time.UTC)
	for _, c := range []struct {
		name, store, file string
		lose              func(*lossBench)
	}{
		{"a transcript cut", "claude", "", rewriteTranscript(func(d string) string { return d[:len(d)/2] })},
		{"a transcript cut, and its files removed", "claude", "", func(b *lossBench) {
			rewriteTranscript(func(d string) string { return d[:len(d)/2] })(b)
			removePath("projects/-home-user-project/" + b.session)(b)
		}},
		{"a file of the session", "claude", "tool-results/a.txt", func(b *lossBench) { b.write(b.pathBeside("tool-results/a.txt"), "a long") }},
		{"a part", "tree", "storage/part/*/*", editFiles("storage/part/*/*.json", 1, withoutText)},
	} {
		t.Run(c.store+" "+c.name, func(t *testing.T) {
			b := newLossBench(t, c.store)
			c.lose(b)
			path := b.file
			switch {
			case c.store == "tree":
				all, _ := filepath.Glob(filepath.Join(b.dir, c.file))
				for _, path = range all {
					if strings.Contains(b.read(path), `"text": ""`) {
						break
					}
				}
			case c.file != "":
				path = b.pathBeside(c.file)
			}
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
			at := func(when string) time.Time {
				info, err := os.Stat(path)
				if err != nil {
					t.Fatalf("%s: %v", when, err)
				}
				return info.ModTime()
			}
			_, id := b.restore(mend.RestoreRequest{})
			restored := at("restored")
			if time.Since(restored) > time.Minute {
				t.Errorf("restored: the time is %v, want now", restored)
			}
			b.undo(id)
			if now := at("undone"); !now.Equal(old) {
				t.Errorf("undone: the time is %v, want %v", now, old)
			}
			p, err := b.client.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{id}, Redo: true})
			if err == nil {
				_, err = b.client.Apply(t.Context(), p)
			}
			if err != nil {
				t.Fatal(err)
			}
			if now := at("redone"); !now.Equal(restored) {
				t.Errorf("redone: the time is %v, want %v", now, restored)
			}
		})
	}
}
