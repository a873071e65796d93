package mend_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/test/dbtest"
	"mend/internal/test/storetest"
)

// A turnMaker changes a session at random, as its agent and other programs do.
type turnMaker struct {
	*lossBench
	r *rand.Rand
	n int
}

// longer appends the first content of the session several times. In a tree it adds copies of messages.
func (m *turnMaker) longer(times int) {
	for range times {
		m.n++
		switch {
		case strings.HasSuffix(m.file, ".db"):
			id := fmt.Sprintf("id || 'z%04d'", m.n)
			dbtest.Alter(m.t, m.file,
				fmt.Sprintf("insert into message (id, session_id, time_created, time_updated, data) select %s, session_id, time_created + %d, time_updated + %[2]d, data from message where id not like '%%z0%%'", id, m.n*100_000),
				fmt.Sprintf("insert into part (id, message_id, session_id, time_created, time_updated, data) select %s, message_id || 'z%04d', session_id, time_created + %d, time_updated + %[3]d, data from part where id not like '%%z0%%'", id, m.n, m.n*100_000))
		case m.file != "":
			m.write(m.file, m.read(m.file)+strings.ReplaceAll(m.lines(0, 8), `"uuid":"`, fmt.Sprintf(`"uuid":"%04d`, m.n)))
		default:
			path := m.anyFile("message")
			name := fmt.Sprintf("z%04d.json", m.n)
			m.write(strings.TrimSuffix(path, ".json")+name, strings.ReplaceAll(m.read(path), strings.TrimSuffix(filepath.Base(path), ".json"), strings.TrimSuffix(filepath.Base(path), ".json")+strings.TrimSuffix(name, ".json")))
		}
	}
}

func (m *turnMaker) lines(from, to int) string {
	all := slices.Collect(strings.Lines(m.read(m.file)))
	return strings.Join(all[from:min(to, len(all))], "")
}

func (m *turnMaker) anyFile(folder string) string {
	var all []string
	_ = filepath.WalkDir(filepath.Join(m.dir, "storage", folder), func(p string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all = append(all, p)
		}
		return nil
	})
	return all[m.r.IntN(len(all))]
}

// edit makes one change, and reports whether all times and sizes may stay the same.
func (m *turnMaker) edit() (silent bool) {
	if m.r.IntN(3) == 0 {
		m.longer(1)
		return false
	}
	switch {
	case strings.HasSuffix(m.file, ".db"):
		one := func(table string) string {
			return fmt.Sprintf("(select id from %s order by id limit 1 offset %d %% (select count(*) from %[1]s))", table, m.r.IntN(1<<20))
		}
		m.n++
		texts := []string{
			"update part set data = json_set(data, '$.text', 'edited %[2]d'), time_updated = time_updated + %[2]d where id = %[1]s",
			"update part set data = json_set(data, '$.time.compacted', %[2]d), time_updated = time_updated + %[2]d where id = %[1]s",
			"update message set data = json_set(data, '$.summary', json('{}')), time_updated = time_updated + %[2]d where id = %[3]s",
			"delete from part where id = %[1]s",
			"delete from message where id = (select max(id) from message)",
			"update session set title = 'title %[2]d', time_updated = time_updated + %[2]d",
			"update part set data = replace(data, 'e', 'o') where id = %[1]s",
		}
		i := m.r.IntN(len(texts))
		text := texts[i]
		for n, with := range []string{one("part"), fmt.Sprint(m.n), one("message")} {
			text = strings.ReplaceAll(text, fmt.Sprintf("%%[%d]s", n+1), with)
			text = strings.ReplaceAll(text, fmt.Sprintf("%%[%d]d", n+1), with)
		}
		dbtest.Alter(m.t, m.file, text, "delete from part where message_id not in (select id from message)")
		return i == len(texts)-1
	case m.file != "":
		all := slices.Collect(strings.Lines(m.read(m.file)))
		i := m.r.IntN(len(all))
		switch m.r.IntN(4) {
		case 0: // the last lines are removed
			all = all[:max(3, len(all)-m.r.IntN(4))]
		case 1:
			all[i] = strings.Replace(all[i], "e", "é", 1)
		case 2:
			m.write(m.pathBeside(fmt.Sprintf("tool-results/%d.txt", m.r.IntN(5))), strings.Repeat("result ", m.r.IntN(9000)))
		default:
			all = slices.Insert(all, i, all[m.r.IntN(len(all))])
		}
		m.write(m.file, strings.Join(all, ""))
	default:
		path := m.anyFile([]string{"message", "part", "session"}[m.r.IntN(3)])
		m.write(path, strings.Replace(m.read(path), "\n", fmt.Sprintf("\n%*s", 1+m.r.IntN(9), ""), 1))
	}
	return false
}

// TestKeptTurns: a copy of a session that is made after a random change has all records of that time, byte for byte,
// and restores them. With MEND_SWEEP=all there are 100 changes, all copies are restored, and there is another database.
func TestKeptTurns(t *testing.T) {
	storetest.Long(t)
	turns, each := storetest.Count(100, 8), storetest.Count(1, 5)
	stores := []string{"1.18.33", "tree", "claude"}
	if storetest.AllCases() {
		stores = append(stores, "1.2.27")
	}
	for _, store := range stores {
		t.Run(store, func(t *testing.T) {
			m := &turnMaker{lossBench: newLossBench(t, store), r: rand.New(rand.NewPCG(34, uint64(len(store))))}
			var ag agent.Agent = opencode.Agent{}
			if store == "claude" {
				ag = claude.Agent{}
			}
			s, err := ag.Open(agent.Located{Path: m.store(store)}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if store != "tree" {
				m.longer(12)
			}
			type moment struct {
				state keep.State
				ops   []change.Op
				all   string
			}
			var past []moment
			for range turns {
				why := "turn"
				if m.edit() {
					why = mend.KeptAsked
				}
				head, err := m.client.Session(t.Context(), m.session)
				if err != nil {
					t.Fatal(err)
				}
				whole, err := s.Copy(t.Context(), head)
				if err != nil {
					t.Fatal(err)
				}
				current := moment{all: m.content()}
				for i := range whole.Records {
					current.ops = append(current.ops, change.Op{Ref: whole.Records[i].Ref, Post: change.ImageOf(&whole.Records[i])})
				}
				err = m.journal.Kept(keep.Options{}, func(k *keep.Keep) error {
					return m.client.KeepAll(t.Context(), k, []change.Head{head}, why, false, func(_ int, s mend.Kept) {
						if current.state = s.Saved.State; s.Err != nil {
							t.Error(s.Err)
						}
					})
				})
				if err != nil {
					t.Fatal(err)
				}
				past = append(past, current)
			}
			restored := 0
			for _, i := range m.r.Perm(len(past)) {
				older := past[i]
				err := m.journal.Kept(keep.Options{ReadOnly: true}, func(k *keep.Keep) error {
					got, err := k.Load(t.Context(), older.state)
					if !slices.EqualFunc(got, older.ops, func(a, b change.Op) bool { return a.Ref == b.Ref && a.Post.Equal(b.Post) }) {
						t.Errorf("state %s after change %d has other records than the session had", older.state.ID, i)
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
				if i%each > 0 {
					continue
				}
				m.restore(mend.RestoreRequest{State: older.state.ID, Force: true})
				restored++
				refs := make([]change.Ref, len(older.ops))
				for i, o := range older.ops {
					refs[i] = o.Ref
				}
				now, err := s.Read(t.Context(), refs)
				if err != nil {
					t.Fatal(err)
				}
				for n, o := range older.ops {
					if !now[n].Equal(o.Post) {
						t.Errorf("restored as after change %d, %s differs", i, o.Ref)
					}
				}
				// Files beside a transcript may have grown: only the copied part is written.
				if now := m.content(); store != "claude" && now != older.all {
					t.Errorf("restored as after change %d: %d bytes, want %d", i, len(now), len(older.all))
				}
			}
			t.Logf("%d of %d states restored", restored, len(past))
		})
	}
}

func (m *turnMaker) store(store string) string {
	switch store {
	case "claude":
		return m.dir
	case "tree":
		return filepath.Join(m.dir, "storage")
	}
	return m.file
}
