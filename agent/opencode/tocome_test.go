package opencode

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"mend/agent"
	"mend/internal/test/mutation"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// moreParts are of types that the stores of tests do not have.
var moreParts = []string{
	`{"type":"retry","attempt":1,"time":{"created":1},"error":{"name":"APIError","data":{"message":"x","isRetryable":true,"statusCode":429}}}`,
	`{"type":"patch","hash":"x","files":["/a"]}`,
	`{"type":"agent","name":"build","source":{"value":"@build","start":0,"end":6}}`,
	`{"type":"file","mime":"text/plain","url":"data:text/plain;base64,eA==","filename":"x","source":{"type":"file","path":"/x","text":{"value":"x","start":0,"end":1}}}`,
	`{"type":"snapshot","snapshot":"x"}`,
}

// TestVersionToCome writes an unknown kind and an unknown field at every place of each kind of record, as a version that is
// newer than all known ones may: that is at most a note, and no repair changes it.
func TestVersionToCome(t *testing.T) {
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
		m, err := mutation.Open(path, id)
		if err != nil {
			t.Fatal(err)
		}
		opened, err := Agent{}.Open(agent.Located{Path: filepath.Join(dir, "opencode")}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := opened.(*store)
		apply := func(words ...string) {
			t.Helper()
			if err := m.Apply([]mutation.Mutation{words}); err != nil {
				t.Fatal(err)
			}
		}
		last := len(m.Records["message"]) - 1
		apply("json", "message", strconv.Itoa(last), "", "add", "error", `{"name":"APIError","data":{"message":"x","isRetryable":false}}`)
		n := len(m.Records["part"]) - 1
		if name == "database" {
			apply("sql", "UPDATE session SET directory = '"+dir+"'")
		}
		for i, part := range moreParts {
			apply("record", "part", strconv.Itoa(n-i), "insert", part)
		}
		if m, err = mutation.Open(path, id); err != nil { // with what was inserted
			t.Fatal(err)
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
		check("as it is")
		seen := map[string]bool{}
		for _, table := range []string{"session", "message", "part"} {
			for i := range m.Records[table] {
				data := slices.Clone(m.Records[table][i].Data)
				kind := table + kindIn(data)
				if seen[kind] {
					continue
				}
				seen[kind] = true
				for _, v := range mutation.ToCome(data, errorNames(data)...) {
					if err := m.Apply([]mutation.Mutation{{"text", table, strconv.Itoa(i), "put", string(v.Data)}}); err != nil {
						continue // a column that the table does not have
					}
					check(kind + ", " + v.Name)
				}
				_ = m.Apply([]mutation.Mutation{{"text", table, strconv.Itoa(i), "put", string(data)}})
			}
		}
		if name == "database" {
			for _, table := range []string{"session", "message", "part"} {
				apply("sql", "ALTER TABLE "+table+" ADD COLUMN "+mutation.Unknown+" TEXT DEFAULT 'x'")
				check("a column of " + table)
			}
		}
	}
}

// kindIn returns the type and the status of a record.
func kindIn(data []byte) (kind string) {
	for _, n := range mutation.Nodes(data) {
		if slices.Contains([]string{"/type", "/role", "/state/status", "/error/name"}, n.Pointer) {
			kind += " " + n.Value(data)
		}
	}
	return kind
}

// errorNames returns the member that is the name of an error, if the record has one.
func errorNames(data []byte) []string {
	if strings.Contains(string(data), `"error":{"name"`) {
		return []string{"name"}
	}
	return nil
}
