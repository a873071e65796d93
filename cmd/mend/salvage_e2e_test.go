//go:build e2e

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ncruces/go-sqlite3"

	"mend/cmd/mend/internal/frame"
	"mend/internal/test/endpoint"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

// copySession makes copies of a session in the database at path, with other ids.
func copySession(t *testing.T, path, session string, copies int) {
	t.Helper()
	db, err := sqlite3.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	do := func(sql string) {
		t.Helper()
		if err := db.Exec(sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	do("PRAGMA foreign_keys=OFF")
	ids := map[string]string{"session": "id", "message": "id session_id", "part": "id message_id session_id"}
	owner := map[string]string{"session": "id", "message": "session_id", "part": "session_id"}
	for i := range copies {
		for _, table := range []string{"session", "message", "part"} {
			var cols, values []string
			st, _, err := db.Prepare("SELECT name FROM pragma_table_info('" + table + "')")
			if err != nil {
				t.Fatal(err)
			}
			for st.Step() {
				name := st.ColumnText(0)
				value := `"` + name + `"`
				switch {
				case slices.Contains(strings.Fields(ids[table]), name):
					value += fmt.Sprintf(" || 'x%d'", i)
				case name == "data" && table == "message":
					value = fmt.Sprintf("CASE WHEN json_extract(data, '$.parentID') IS NULL THEN data ELSE json_set(data, '$.parentID', json_extract(data, '$.parentID') || 'x%d') END", i)
				}
				cols, values = append(cols, `"`+name+`"`), append(values, value)
			}
			_ = st.Close()
			do(fmt.Sprintf(`INSERT INTO "%s" (%s) SELECT %s FROM "%s" WHERE "%s" = '%s'`, table, strings.Join(cols, ", "), strings.Join(values, ", "), table, owner[table], session))
		}
	}
	do("PRAGMA journal_mode=DELETE; VACUUM; PRAGMA journal_mode=WAL")
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func indexesOf(t *testing.T, path string) (names []string) {
	t.Helper()
	db, err := sqlite3.OpenFlags("file:"+path+"?immutable=1", sqlite3.OPEN_READONLY|sqlite3.OPEN_URI)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	st, _, err := db.Prepare("SELECT name FROM sqlite_schema WHERE type = 'index'")
	if err != nil {
		t.Fatal(err)
	}
	for st.Step() {
		names = append(names, st.ColumnText(0))
	}
	_ = st.Close()
	return names
}

// TestRealSalvage: after a salvage of a damaged database the real program answers in every session that lost nothing,
// and an undo restores the damaged file.
func TestRealSalvage(t *testing.T) {
	for i, version := range []string{"1.2.27", "1.18.34", *kiloVersion} {
		t.Run(version, func(t *testing.T) {
			if version != "1.18.34" {
				storetest.Long(t)
			}
			install, newHome, name := opencode.Install, opencode.New, "opencode.db"
			if version == *kiloVersion {
				install, newHome, name = opencode.InstallKilo, opencode.NewKilo, "kilo.db"
			}
			exe, err := install(version)
			if err != nil {
				t.Fatal(err)
			}
			api := endpoint.New(uniqueAnswer)
			t.Cleanup(api.Close)
			h := newHome(t, exe, api, false)
			session := h.Unpack(fixtures[min(1+i, 2)])
			store := filepath.Join(h.DataDir(), name)
			copySession(t, store, session, 4)
			whole, err := os.ReadFile(store)
			if err != nil {
				t.Fatal(err)
			}
			alive, lossy, seeds := 0, 0, storetest.Count(40, 4)
			if version == *kiloVersion {
				seeds = storetest.Count(40, 2)
			}
			for seed := range seeds {
				data := bytes.Clone(whole)
				rnd := rand.New(rand.NewPCG(uint64(seed), 4096))
				pages := len(data) / 4096
				for range 1 + rnd.IntN(3) {
					p := data[rnd.IntN(pages)*4096:][:4096]
					switch rnd.IntN(3) {
					case 0:
						clear(p)
					case 1:
						for j := range p {
							p[j] = byte(rnd.Uint32())
						}
					case 2:
						q := data[rnd.IntN(pages)*4096:][:4096]
						was := bytes.Clone(p)
						copy(p, q)
						copy(q, was)
					}
				}
				for _, suffix := range []string{"-wal", "-shm"} {
					_ = os.Remove(store + suffix)
				}
				if err := os.WriteFile(store, data, 0o600); err != nil {
					t.Fatal(err)
				}
				journal := filepath.Join(t.TempDir(), "journal")
				code, out := runMend(t, store, journal, "salvage", "--yes", "--json")
				var answer struct {
					Sessions []struct {
						Session string
						Lost    map[string]int
					}
					Repairs  []struct{ ID, State string }
					Complete *bool
				}
				if err := json.Unmarshal([]byte(out), &answer); err != nil || code != frame.ExitDone && (code != frame.ExitProblems || answer.Complete == nil || *answer.Complete) {
					t.Fatalf("seed %d: mend salvage: exit code %d: %v: %s", seed, code, err, out)
				}
				fresh, err := os.ReadFile(store)
				if err != nil {
					t.Fatal(err)
				}
				if got := indexesOf(t, store); version == *kiloVersion && !slices.Contains(got, "recall_message_role_idx") {
					t.Errorf("seed %d: the indexes are %q", seed, got)
				}
				server := h.Serve()
				for _, s := range answer.Sessions {
					if s.Lost["session"]+s.Lost["message"]+s.Lost["part"] > 0 {
						lossy++
						continue
					}
					if r := server.Prompt(s.Session, "one more"); r.Verdict != opencode.Alive {
						t.Errorf("seed %d: in session %s the real program is %s: %.500s", seed, s.Session, r.Verdict, r.Output)
					} else {
						alive++
					}
				}
				server.Close()
				if len(answer.Repairs) == 0 {
					continue // the damage was in a free page
				}
				for _, suffix := range []string{"-wal", "-shm"} {
					_ = os.Remove(store + suffix)
				}
				if err := os.WriteFile(store, fresh, 0o600); err != nil {
					t.Fatal(err)
				}
				if code, out := runMend(t, store, journal, "undo", "--yes"); code != frame.ExitDone {
					t.Fatalf("seed %d: mend undo: exit code %d: %s", seed, code, out)
				}
				if now, err := os.ReadFile(store); err != nil || !bytes.Equal(now, data) {
					t.Fatalf("seed %d: undo did not restore the damaged file (%v)", seed, err)
				}
			}
			t.Logf("%d sessions are alive, of %d something is lost", alive, lossy)
			if alive == 0 {
				t.Error("no session is alive")
			}
		})
	}
}

// TestRealWALOfAnotherMoment: while the real program runs, ends and starts again, its -wal always fits. With the -wal
// of an earlier run it does not see the newest prompts. mend reports that damage, and a salvage restores the prompts.
func TestRealWALOfAnotherMoment(t *testing.T) {
	h := newAnswered(t, "1.18.34")
	session := h.Unpack(fixtures[2])
	store := filepath.Join(h.DataDir(), "opencode.db")
	journal := filepath.Join(t.TempDir(), "journal")
	damage := func() string {
		t.Helper()
		_, out := runMend(t, store, journal, "scan", "--json")
		var answer struct{ Stores []struct{ Damage string } }
		if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer.Stores) != 1 {
			t.Fatalf("mend scan: %v: %s", err, out)
		}
		return answer.Stores[0].Damage
	}
	messages := func() string { return fmt.Sprint(h.SQL("select count(*) as n from message")) }
	sent := func(r opencode.Result) string {
		if len(r.Calls) == 0 {
			return ""
		}
		return string(r.Calls[len(r.Calls)-1].Raw)
	}
	var wal []byte
	for run := range 3 {
		server := h.Serve()
		for i := range 3 {
			if r := server.Prompt(session, fmt.Sprint("prompt ", run, i)); r.Verdict != opencode.Alive {
				t.Fatalf("run %d: %.500s", run, r.Output)
			}
			if d := damage(); d != "" {
				t.Fatalf("run %d: while the program runs: %s", run, d)
			}
		}
		server.Close()
		if d := damage(); d != "" {
			t.Fatalf("run %d: when the program has ended: %s", run, d)
		}
		if run == 0 {
			var err error
			if wal, err = os.ReadFile(store + "-wal"); err != nil || len(wal) == 0 {
				t.Fatalf("a -wal of %d bytes, %v", len(wal), err)
			}
		}
	}
	db, err := sqlite3.Open(store)
	if err == nil {
		err = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = db.Close()
	all := messages()
	file, err := os.ReadFile(store)
	if err != nil {
		t.Fatal(err)
	}
	put := func() {
		t.Helper()
		_ = os.Remove(store + "-shm")
		if err := errors.Join(os.WriteFile(store, file, 0o600), os.WriteFile(store+"-wal", wal, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	put()
	server := h.Serve()
	r := server.Prompt(session, "with the old one")
	server.Close()
	t.Logf("with the -wal of an earlier run the program is %s, and sends %d requests: %.300s", r.Verdict, len(r.Calls), r.Output)
	if r.Verdict == opencode.Alive && strings.Contains(sent(r), "prompt 2 2") {
		t.Error("the newest prompt is sent: the -wal hides nothing")
	}
	put()
	if d := damage(); !strings.Contains(d, "-wal is older") {
		t.Errorf("damage %q", d)
	}
	if code, out := runMend(t, store, journal, "salvage", "--yes"); code != frame.ExitDone {
		t.Fatalf("mend salvage: exit code %d: %s", code, out)
	}
	if d := damage(); d != "" {
		t.Errorf("after the salvage: %s", d)
	}
	if got := messages(); got != all {
		t.Errorf("messages %s, want %s", got, all)
	}
	server = h.Serve()
	defer server.Close()
	if r := server.Prompt(session, "one more"); r.Verdict != opencode.Alive || !strings.Contains(sent(r), "prompt 2 2") {
		t.Errorf("after the salvage the program is %s, with the newest prompt: %t", r.Verdict, strings.Contains(sent(r), "prompt 2 2"))
	}
}
