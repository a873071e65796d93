package mend_test

import (
	"os"
	"path/filepath"
	"testing"

	"mend/agent"
	"mend/agent/opencode"
	"mend/internal/mend"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/testdata"
)

// generations are the fixtures, by the version of OpenCode that wrote them.
var generations = map[string][]byte{"1.1.53": testdata.OpenCode1153, "1.2.27": testdata.OpenCode1227, "1.18.33": testdata.OpenCode11833}

// benchOf returns the fixture of any generation, after apply has damaged it.
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
