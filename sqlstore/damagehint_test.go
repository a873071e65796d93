package sqlstore

import (
	"strings"
	"testing"

	"mend/change"
)

func TestDamageHint(t *testing.T) {
	for _, r := range []struct {
		damage change.DamagedError
		want   string // a part
	}{
		{change.DamagedError{File: "/a/b.db"}, "opencode export SESSION > FILE"},
		{change.DamagedError{File: "/a/b.db", Indexes: []string{"i"}}, "in /a: sqlite3 b.db .dump | sqlite3 rebuilt.db"},
		{
			change.DamagedError{File: "/a/b c.db", Indexes: []string{"i'"}, Rebuild: []string{`CREATE INDEX "i'" ON t (a)`}},
			`sqlite3 'b c.db' ".backup rebuild.db" && sqlite3 rebuild.db "PRAGMA writable_schema=ON; DELETE FROM sqlite_schema WHERE name IN ('i''')" &&`,
		},
	} {
		if got := damageHint(&r.damage); !strings.Contains(got, r.want) {
			t.Errorf("%+v: %q, want %q in it", r.damage, got, r.want)
		}
	}
}
