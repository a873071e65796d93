package database

import (
	"errors"
	"strings"
	"testing"

	"mend/internal/dbtest"
	"mend/session"
	"mend/sqlstore"
)

// TestBinaryJSON refuses a session whose data is JSONB, and leaves every byte.
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
		_, err := s.Load(t.Context(), session.Head{ID: id})
		if !errors.Is(err, sqlstore.ErrUnusable) || !strings.Contains(err.Error(), "binary JSON") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: Load = %v, want one line about binary JSON", name, err)
		}
		dbtest.WantSame(t, before, dbtest.Files(t, path))
	}
	for text, want := range map[string]bool{
		"": false, "{}": false, `{"a":1}`: false, "\x0c": true, "\x0c\x00": false, "\x1c": false, "\xcc": false, "\xcc\x01\x00": true, "\xfc\xff\xff\xff\xff\xff\xff\xff\xff": false,
	} {
		if got := isBinaryObject([]byte(text)); got != want {
			t.Errorf("isBinaryObject(%q) = %t, want %t", text, got, want)
		}
	}
}
