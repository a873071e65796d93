package mend_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mend/agent"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// generations are the fixtures, by the versions of the agent that wrote them.
var generations = map[string][]byte{"1.1.53": testdata.OpenCode1153, "1.2.27": testdata.OpenCode1227, "1.18.33": testdata.OpenCode11833}

// benchOf is the fixture of any generation, after a damage.
func benchOf(t *testing.T, archive []byte, apply func(b bench, s damage.Store)) bench {
	t.Helper()
	dir := storetest.FastDir(t)
	id, err := testdata.Unpack(archive, dir)
	if err != nil {
		t.Fatal(err)
	}
	b := bench{store: filepath.Join(dir, "opencode", "opencode.db"), session: id}
	var s damage.Store = damage.Database{SQL: damage.SQL(t, b.store)}
	if _, err := os.Stat(b.store); err != nil {
		b.store = filepath.Join(dir, "opencode", "storage")
		s = damage.Tree{T: t, Root: b.store, Session: id}
	}
	apply(b, s)
	b.client, err = mend.Open(mend.Options{Agents: []agent.Agent{opencode.Agent{}}, Store: b.store, Journal: mend.OpenJournal(filepath.Join(dir, "journal")), Cache: filepath.Join(dir, "cache"), Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// dropMessage drops the record of message n and leaves its parts.
func dropMessage(n int) func(bench, damage.Store) {
	return func(_ bench, s damage.Store) {
		messages, _ := s.Records()
		s.Drop(messages[n])
	}
}

// dropSession drops the record of the session, beside which another one has one.
func dropSession(b bench, s damage.Store) {
	if db, ok := s.(damage.Database); ok {
		db.SQL("update session set id = 'ses_other'")
		return
	}
	found, err := filepath.Glob(filepath.Join(b.store, "session", "*", b.session+".json"))
	if err != nil || len(found) != 1 {
		panic(fmt.Sprint(found, err))
	}
	if err := os.Rename(found[0], filepath.Join(filepath.Dir(found[0]), "ses_other.json")); err != nil {
		panic(err)
	}
}

// summary counts the records of orphans by session and kind.
func summary(os []mend.Orphaned) string {
	var lines []string
	for _, o := range os {
		counts := map[change.Kind]int{}
		for _, r := range o.Refs {
			counts[r.Kind]++
		}
		lines = append(lines, fmt.Sprintf("%s: %d messages, %d parts", o.Session, counts[change.KindMessage], counts[change.KindPart]))
	}
	return strings.Join(lines, "; ")
}

// What belongs to nothing is listed by the session that it says it is of, put
// away when asked, and comes back with undo: every row, byte, mode and folder.
func TestOrphans(t *testing.T) {
	for version, archive := range generations {
		for _, c := range []struct {
			name  string
			apply func(bench, damage.Store)
			want  string
		}{
			{"none", func(bench, damage.Store) {}, ""},
			{"a prompt gone", dropMessage(damage.FirstPrompt), "SESSION: 0 messages, 1 parts"},
			{"an answer gone", dropMessage(damage.OneCall), "SESSION: 0 messages, 5 parts"},
			{"the session gone", dropSession, "SESSION: 10 messages, 31 parts"},
			{"the session and a message gone", func(b bench, s damage.Store) {
				dropMessage(damage.OneCall)(b, s)
				dropSession(b, s)
			}, "SESSION: 9 messages, 31 parts"},
			{"a part that says nothing", func(b bench, s damage.Store) {
				text := damage.Parts(s, damage.FirstPrompt, "text")[0]
				text.Data = text.Data[:5]
				s.Put(text)
				if db, ok := s.(damage.Database); ok {
					db.SQL("update part set session_id = '' where id = ?", text.ID)
				}
				dropMessage(damage.FirstPrompt)(b, s)
			}, "unknown: 0 messages, 1 parts"},
		} {
			t.Run(version+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				b := benchOf(t, archive, c.apply)
				before := b.snapshot(t)
				found, err := b.client.Orphans(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got := strings.ReplaceAll(summary(found), b.session, "SESSION"); got != c.want {
					t.Errorf("Orphans = %s, want %s", got, c.want)
				}
				if diff := cmp.Diff(before, b.snapshot(t)); diff != "" {
					t.Errorf("looking wrote (-want +got):\n%s", diff)
				}
				for _, o := range found {
					b.putAwayAndBack(t, o, before)
				}
			})
		}
	}
}

// putAwayAndBack puts orphans away, takes that back, does it again, and takes
// that back too.
func (b bench) putAwayAndBack(t *testing.T, o mend.Orphaned, before map[string]string) {
	t.Helper()
	ctx := t.Context()
	p, err := b.client.ProposeOrphans(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	e, err := b.client.Apply(ctx, p)
	if err != nil {
		t.Fatal(err)
	}
	away := b.snapshot(t)
	if len(before)-len(away) != len(o.Refs) {
		t.Errorf("%d names less than before, want %d", len(before)-len(away), len(o.Refs))
	}
	if left, err := b.client.Orphans(ctx); err != nil || len(left) > 0 {
		t.Errorf("afterwards Orphans = %v, %v", left, err)
	}
	back := func(want map[string]string) {
		t.Helper()
		p, err := b.client.ProposeUndo(ctx, mend.UndoRequest{IDs: []string{e.ID}})
		if err != nil {
			t.Fatal(err)
		}
		if e, err = b.client.Apply(ctx, p); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b.snapshot(t)); diff != "" {
			t.Errorf("after undo (-want +got):\n%s", diff)
		}
	}
	back(before)
	back(away)
	back(before)
}

// Where something cannot be looked at, nothing is called an orphan.
func TestOrphansHidden(t *testing.T) {
	for name, apply := range map[string]func(bench, damage.Store){
		"no session has a record": func(b bench, _ damage.Store) {
			if err := os.RemoveAll(filepath.Join(b.store, "session")); err != nil {
				t.Fatal(err)
			}
		},
		"the messages are behind a link": func(b bench, _ damage.Store) {
			folder := filepath.Join(b.store, "message", b.session)
			if err := errors.Join(os.Rename(folder, b.store+"-elsewhere"), os.Symlink(b.store+"-elsewhere", folder)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := benchOf(t, testdata.OpenCode1153, apply)
			if found, err := b.client.Orphans(t.Context()); !errors.Is(err, change.ErrHidden) {
				t.Errorf("Orphans = %s, %v, want ErrHidden", summary(found), err)
			}
		})
	}
}

// The parts of a message that is stored under one id and says another are in the
// folder of the latter, where the agent reads them.
func TestOrphansOfOtherName(t *testing.T) {
	b := benchOf(t, testdata.OpenCode1153, func(b bench, s damage.Store) {
		messages, _ := s.Records()
		dir := filepath.Join(b.store, "message", b.session)
		if err := os.Rename(filepath.Join(dir, messages[0].ID+".json"), filepath.Join(dir, "msg_1fbbd1721002.json")); err != nil {
			t.Fatal(err)
		}
	})
	if found, err := b.client.Orphans(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("Orphans = %s, %v, want none", summary(found), err)
	}
}

// Messages in a folder one level down are their session's.
func TestOrphansNested(t *testing.T) {
	b := benchOf(t, testdata.OpenCode1153, func(b bench, s damage.Store) {
		from, to := filepath.Join(b.store, "message", b.session), filepath.Join(b.store, "message", "any", b.session)
		if err := errors.Join(os.Mkdir(filepath.Dir(to), 0o755), os.Rename(from, to)); err != nil {
			t.Fatal(err)
		}
	})
	if found, err := b.client.Orphans(t.Context()); err != nil || len(found) > 0 {
		t.Errorf("Orphans = %s, %v, want none", summary(found), err)
	}
	dropSession(b, damage.Tree{T: t, Root: b.store, Session: b.session})
	found, err := b.client.Orphans(t.Context())
	if err != nil || summary(found) != b.session+": 10 messages, 31 parts" {
		t.Fatalf("Orphans = %s, %v", summary(found), err)
	}
	if !slices.ContainsFunc(found[0].Refs, func(r change.Ref) bool { return r.Kind == change.KindFolder && r.Project == "any" }) {
		t.Errorf("no nested folder in %v", found[0].Refs)
	}
	b.putAwayAndBack(t, found[0], b.snapshot(t))
}
