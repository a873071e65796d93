package database

import (
	"strings"
	"testing"

	"mend/change"
	"mend/internal/test/dbtest"
)

// TestBinaryJSON: a row whose data is JSONB is not read, and keeps every byte.
func TestBinaryJSON(t *testing.T) {
	for name, statement := range map[string]string{
		"everything":  "UPDATE message SET data = jsonb(data); UPDATE part SET data = jsonb(data)",
		"a message":   "UPDATE message SET data = jsonb(data) WHERE id = (SELECT max(id) FROM message)",
		"a part":      "UPDATE part SET data = jsonb(data) WHERE id = (SELECT max(id) FROM part)",
		"a large one": "UPDATE part SET data = jsonb(json_set(data, '$.text', hex(zeroblob(40000)))) WHERE id = (SELECT max(id) FROM part)",
		"a small one": "UPDATE part SET data = jsonb('{}') WHERE id = (SELECT max(id) FROM part)",
	} {
		path, id := dbtest.Unpack(t, "1.18.33")
		dbtest.Alter(t, path, statement)
		before := dbtest.Files(t, path)
		s := open(t, path, Options{})
		stray := load(t, s, id).Stray
		if len(stray) == 0 || stray[0].Kind != change.StrayUnread || !strings.Contains(stray[0].Why, "binary JSON") {
			t.Errorf("%s: strays %+v, want a row that is not read", name, stray)
		}
		dbtest.WantSame(t, before, dbtest.Files(t, path))
	}
}
