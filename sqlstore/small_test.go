package sqlstore

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// TestFresh: files are fresh if the database or its -wal was just written.
func TestFresh(t *testing.T) {
	now, old := time.Now(), time.Now().Add(-time.Minute)
	for name, c := range map[string]struct {
		files fileState
		want  bool
	}{
		"just written":        {fileState{db: fileStamp{mtime: now}}, true},
		"log just written":    {fileState{db: fileStamp{mtime: old}, wal: fileStamp{mtime: now}}, true},
		"written long before": {fileState{db: fileStamp{mtime: old}, wal: fileStamp{mtime: old}}, false},
		"without a log":       {fileState{db: fileStamp{mtime: old}}, false},
	} {
		if got := c.files.isFresh(); got != c.want {
			t.Errorf("%s: isFresh = %t, want %t", name, got, c.want)
		}
	}
}

// TestDamageLines: lines about the structure are damage; lines about values in rows are not.
func TestDamageLines(t *testing.T) {
	failed := errors.New("malformed")
	for _, c := range []struct {
		found []string
		err   error
		want  []string
	}{
		{[]string{"ok"}, nil, nil},
		{nil, failed, []string{"malformed"}},
		{[]string{"*** in database main ***\nTree 3 page 4: a", "b"}, failed, []string{"Tree 3 page 4: a", "b"}},
		{[]string{"NULL value in part.data", "non-unique entry"}, nil, nil},
	} {
		if got := damageLines(c.found, c.err); !slices.Equal(got, c.want) {
			t.Errorf("damageLines(%q, %v) = %q, want %q", c.found, c.err, got, c.want)
		}
	}
}
