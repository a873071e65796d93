package database

import (
	"testing"

	"mend/change"
	"mend/internal/test/dbtest"
)

// bigStore has 100 sessions of 200 messages with 5 parts each: 100,000 parts of
// 2.5 KB, 270 MB.
func bigStore(b *testing.B) string {
	b.Helper()
	path, _ := dbtest.Unpack(b, "1.18.33")
	dbtest.Alter(b, path, "PRAGMA synchronous=OFF", "BEGIN", `
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 99)
		INSERT INTO session(id, project_id, slug, directory, title, version, time_created, time_updated)
		SELECT printf('ses_%06d', i), 'global', 's', '/x', 't', '1.18.33', i, i FROM n`, `
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 19999)
		INSERT INTO message SELECT printf('msg_%06d', i), printf('ses_%06d', i/200), i, i,
		json_object('role', 'assistant', 'time', json_object('created', i, 'completed', i)) FROM n`, `
		WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i < 99999)
		INSERT INTO part SELECT printf('prt_%06d', i), printf('msg_%06d', i/5), printf('ses_%06d', i/1000), i, i,
		json_object('type', 'text', 'text', hex(randomblob(iif(i%5=2, 5000, 60)))) FROM n`, "COMMIT")
	return path
}

// eachSession calls f for every session of a large store, in every round of a
// benchmark. f returns how many parts it saw, which must be so many in all.
func eachSession(b *testing.B, want int, f func(s *Store, h change.Head) (parts int)) {
	b.Helper()
	s := open(b, bigStore(b), Options{})
	heads, err := s.List(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		parts := 0
		for _, h := range heads {
			parts += f(s, h)
		}
		if parts < want {
			b.Fatalf("%d parts, want %d", parts, want)
		}
	}
}

// BenchmarkScan reads every session of a large store once.
func BenchmarkScan(b *testing.B) {
	eachSession(b, 100_000, func(s *Store, h change.Head) (parts int) {
		for _, m := range load(b, s, h.ID).Messages {
			parts += len(m.Parts)
		}
		return parts
	})
}

// BenchmarkStamp looks at every session of a large store.
func BenchmarkStamp(b *testing.B) {
	eachSession(b, 0, func(s *Store, h change.Head) int {
		if _, err := s.Stamp(b.Context(), h); err != nil {
			b.Fatal(err)
		}
		return 0
	})
}

// BenchmarkState looks at the files of a store.
func BenchmarkState(b *testing.B) {
	s := open(b, bigStore(b), Options{})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.State(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommit changes one part of a large store and takes it back.
func BenchmarkCommit(b *testing.B) {
	s := open(b, bigStore(b), Options{})
	before := load(b, s, "ses_000050")
	after := before.Clone()
	if err := after.Messages[3].Parts[0].Set([]byte(`"x"`), "text"); err != nil {
		b.Fatal(err)
	}
	ops := change.Diff(before.AllRecords, after.AllRecords)
	for b.Loop() {
		dbtest.Run(b, s, ops)
		dbtest.Run(b, s, change.Inverse(ops))
	}
}

// BenchmarkLoad reads one session of 1,000 parts.
func BenchmarkLoad(b *testing.B) {
	s := open(b, bigStore(b), Options{})
	for b.Loop() {
		if _, _, err := s.Load(b.Context(), change.Head{ID: "ses_000050"}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPages checks every page, as the first Prepare of a store does.
func BenchmarkPages(b *testing.B) {
	s := open(b, bigStore(b), Options{})
	for b.Loop() {
		err := s.read(b.Context(), func(c *conn) error {
			_, err := c.Strings("PRAGMA integrity_check")
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
