package bigstore

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/ncruces/go-sqlite3"

	"mend/testdata"
)

// Database writes a database below dir, which becomes a data folder: dir/opencode/opencode.db. It has the
// tables of a real one.
func Database(dir string, mix Mix) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	like, err := testdata.Unpack(testdata.OpenCode1227, dir)
	if err != nil {
		return err
	}
	db, err := sqlite3.Open(filepath.Join(dir, "opencode", "opencode.db"))
	if err != nil {
		return err
	}
	err = fill(db, like, mix)
	return errors.Join(err, db.Close())
}

// fill adds sessions beside the existing one.
func fill(db *sqlite3.Conn, like string, mix Mix) error {
	if err := db.Exec("PRAGMA synchronous=OFF; PRAGMA foreign_keys=OFF; BEGIN"); err != nil {
		return err
	}
	stmts := map[kind]*sqlite3.Stmt{}
	for kind, sql := range map[kind]string{
		// Values: id, session, message, time, data, folder; a statement uses some of them.
		sessionRecord: `INSERT INTO session (id, project_id, slug, directory, title, version, time_created, time_updated)
			SELECT ?1, project_id, slug, ifnull(nullif(?6, ''), directory), title, version, ?4, ?4 FROM session WHERE id = '` + like + `' AND ?2 || ?3 || ?5 <> ''`,
		messageRecord: `INSERT INTO message SELECT ?1, ?2, ?4, ?4, ?5 WHERE ?3 <> ''`,
		partRecord:    `INSERT INTO part VALUES (?1, ?3, ?2, ?4, ?4, ?5)`,
	} {
		st, _, err := db.Prepare(sql)
		if err != nil {
			return err
		}
		defer func() { _ = st.Close() }() // it repeats the last error
		stmts[kind] = st
	}
	if err := mix(func(r record) error { return insert(stmts[r.kind], r) }); err != nil {
		return err
	}
	return db.Exec("COMMIT")
}

func insert(st *sqlite3.Stmt, r record) error {
	for _, name := range []string{"id", "sessionID", "messageID"} {
		delete(r.data, name)
	}
	data, err := r.text(false)
	if err != nil {
		return err
	}
	err = errors.Join(st.BindText(1, r.id), st.BindText(2, r.session), st.BindText(3, r.message),
		st.BindInt64(4, r.created), st.BindRawText(5, data))
	if r.kind == sessionRecord {
		err = errors.Join(err, st.BindText(6, r.folder))
	}
	if err != nil {
		return err
	}
	return st.Exec()
}
