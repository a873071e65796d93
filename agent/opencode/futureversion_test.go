package opencode

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/agent"
	"mend/internal/test/damage"
	"mend/internal/test/mutation"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// moreParts are parts of types that the test stores do not have.
var moreParts = []string{
	`{"type":"retry","attempt":1,"time":{"created":1},"error":{"name":"APIError","data":{"message":"x","isRetryable":true,"statusCode":429}}}`,
	`{"type":"patch","hash":"x","files":["/a"]}`,
	`{"type":"agent","name":"build","source":{"value":"@build","start":0,"end":6}}`,
	`{"type":"file","mime":"text/plain","url":"data:text/plain;base64,eA==","filename":"x","source":{"type":"file","path":"/x","text":{"value":"x","start":0,"end":1}}}`,
	`{"type":"snapshot","snapshot":"x"}`,
}

// TestFutureVersion writes an unknown kind and an unknown field at every place of each kind of record, as a version
// newer than all known ones may write it. It is at most a note, and no repair changes it.
func TestFutureVersion(t *testing.T) {
	for name, packed := range map[string][]byte{"tree": testdata.OpenCode1153, "database": testdata.OpenCode11833} {
		dir := storetest.FastDir(t)
		id, err := testdata.Unpack(packed, dir)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "opencode", "storage")
		if name == "database" {
			path = filepath.Join(dir, "opencode", "opencode.db")
		}
		opened, err := Agent{}.Open(agent.Located{Path: filepath.Join(dir, "opencode")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := opened.(*store)
		damage.Edit(t, path, id, func(d damage.Store) {
			messages, parts := d.Records()
			last := messages[len(messages)-1]
			d.Put(last.Edit(func(m map[string]any) {
				m["error"] = map[string]any{"name": "APIError", "data": map[string]any{"message": "x", "isRetryable": false}}
			}))
			for i, part := range moreParts {
				p := parts[len(parts)-1-i]
				d.Put(damage.Record{Table: "part", ID: p.ID + "a", Owner: p.Owner, Data: part})
			}
		})
		sql := damage.SQL(t, path)
		if name == "database" {
			sql("UPDATE session SET directory = '" + dir + "'")
		}
		check := func(what string) {
			t.Helper()
			s.Refresh()
			heads, err := s.List(t.Context())
			if err != nil || len(heads) != 1 {
				t.Fatalf("%s, %s: %d sessions, %v", name, what, len(heads), err)
			}
			c, err := s.Case(t.Context(), heads[0], repair.Request{Options: repair.Options{Version: "1.30.0", AllSettings: true}, Latent: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range repair.Diagnose(c) {
				if d.Severity != repair.Note || d.Fix != "" {
					t.Errorf("%s, %s: %s is %s, fix %q: %s", name, what, d.Rule, d.Severity, d.Fix, d.Text)
				}
			}
			r, err := repair.Plan(id, c, repair.Request{Latent: true})
			if err != nil || len(r.Plan.Ops) > 0 {
				t.Errorf("%s, %s: %d records are changed, %v", name, what, len(r.Plan.Ops), err)
			}
		}
		check("unchanged")
		seen := map[string]bool{}
		// tryAll writes each variant of a record that a future version may write, and then restores the record.
		tryAll := func(table, data string, put func(data string)) {
			kind := table + kindIn([]byte(data))
			if seen[kind] {
				return
			}
			seen[kind] = true
			for _, v := range mutation.FutureVersions([]byte(data), errorNames([]byte(data))...) {
				put(string(v.Data))
				check(kind + ", " + v.Name)
			}
			put(data)
		}
		damage.Edit(t, path, id, func(d damage.Store) {
			messages, parts := d.Records()
			for _, r := range slices.Concat(messages, parts) {
				tryAll(r.Table, r.Data, func(data string) {
					r.Data = data
					d.Put(r)
				})
			}
		})
		if name == "tree" {
			files, err := filepath.Glob(filepath.Join(path, "session", "*", id+".json"))
			if err != nil || len(files) != 1 {
				t.Fatal(files, err)
			}
			data, err := os.ReadFile(files[0])
			if err != nil {
				t.Fatal(err)
			}
			tryAll("session", string(data), func(data string) {
				if err := os.WriteFile(files[0], []byte(data), 0o644); err != nil {
					t.Fatal(err)
				}
			})
			continue
		}
		for _, column := range []string{"permission", "revert", "summary_diffs", "model", "metadata"} {
			for _, row := range sql("SELECT " + column + " AS c FROM session WHERE " + column + " LIKE '{%' OR " + column + " LIKE '[%'") {
				tryAll("session "+column, row["c"].(string), func(data string) { sql("UPDATE session SET "+column+" = ?", data) })
			}
		}
		for _, table := range []string{"session", "message", "part"} {
			sql("ALTER TABLE " + table + " ADD COLUMN " + mutation.Unknown + " TEXT DEFAULT 'x'")
			check("a column of " + table)
		}
	}
}

// kindIn returns the values that determine the kind of a record.
func kindIn(data []byte) (kind string) {
	for _, n := range mutation.Nodes(data) {
		if slices.Contains([]string{"/type", "/role", "/state/status", "/error/name"}, n.Pointer) {
			kind += " " + n.Value(data)
		}
	}
	return kind
}

// errorNames returns the member with the name of an error, if the record has one.
func errorNames(data []byte) []string {
	if strings.Contains(string(data), `"error":{"name"`) {
		return []string{"name"}
	}
	return nil
}
