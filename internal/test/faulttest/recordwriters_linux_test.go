package faulttest_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/test/damage"
)

// A fileWriter writes the files of a tree.
type fileWriter struct {
	root string
	rng  *rand.Rand
}

func (p *fileWriter) path(r damage.Record) string {
	return filepath.Join(p.root, r.Table, r.Owner, r.ID+".json")
}

// write writes each record. It creates or truncates the file, or it writes another file and renames that.
func (p *fileWriter) write(records []damage.Record) ([]writtenRecord, error) {
	var lines []writtenRecord
	for _, r := range records {
		l := writtenRecord{Record: r, digest: sha256.Sum256([]byte(r.Data))}
		err := os.MkdirAll(filepath.Dir(p.path(r)), 0o755)
		switch {
		case err != nil:
		case p.rng.IntN(4) > 0:
			l.late, err = writeInPlace(p.path(r), r.Data)
		default:
			aside := filepath.Join(filepath.Dir(p.root), "aside")
			err = errors.Join(os.WriteFile(aside, []byte(r.Data), 0o644), os.Rename(aside, p.path(r)))
		}
		if err != nil {
			return lines, err
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// writeInPlace writes data to the file, and reports whether another file has its name after the write.
func writeInPlace(path, data string) (late bool, err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if _, err := f.WriteString(data); err != nil {
		return false, err
	}
	mine, err := f.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(path)
	return err != nil || !os.SameFile(mine, there), nil
}

func (p *fileWriter) digest(r damage.Record) ([sha256.Size]byte, error) {
	data, err := os.ReadFile(p.path(r))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return sha256.Sum256(data), err
}

func (p *fileWriter) drop(r damage.Record) error {
	if err := os.Remove(p.path(r)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (p *fileWriter) close() error { return nil }

// A rowWriter writes rows of a database, in its own transactions.
type rowWriter struct{ db *sqlite3.Conn }

func newRowWriter(path string) (*rowWriter, error) {
	db, err := sqlite3.Open(path)
	if err != nil {
		return nil, err
	}
	// mend may have deleted the message of the next part.
	return &rowWriter{db}, errors.Join(db.BusyTimeout(10*time.Second), db.Exec("PRAGMA foreign_keys=OFF"))
}

func (p *rowWriter) write(records []damage.Record) (lines []writtenRecord, err error) {
	if err := p.db.Exec("BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	for _, r := range records {
		err := p.put(r)
		l := writtenRecord{Record: r}
		if err == nil {
			l.digest, err = p.digest(r)
		}
		if err != nil {
			return nil, errors.Join(err, p.db.Exec("ROLLBACK"))
		}
		lines = append(lines, l)
	}
	return lines, p.db.Exec("COMMIT")
}

func (p *rowWriter) put(r damage.Record) error {
	owner := map[string]string{"message": "session_id", "part": "message_id, session_id"}[r.Table]
	values := map[string]string{"message": "id", "part": "?2, id"}[r.Table]
	return p.run(`INSERT INTO `+r.Table+` (id, `+owner+`, time_created, time_updated, data)
		SELECT ?1, `+values+`, coalesce(CASE WHEN json_valid(?3) THEN json_extract(?3, '$.time.created') END, 1), 1, ?3 FROM session WHERE true
		ON CONFLICT (id) DO UPDATE SET data = excluded.data, time_updated = time_updated + 1`, r, nil)
}

func (p *rowWriter) digest(r damage.Record) ([sha256.Size]byte, error) {
	var row change.Record
	err := p.run(`SELECT * FROM `+r.Table+` WHERE id = ?1`, r, func(st *sqlite3.Stmt) {
		var cols []change.Col
		for i := range st.ColumnCount() {
			switch name := st.ColumnName(i); {
			case name == "data":
				row.Data = []byte(st.ColumnText(i))
			case st.ColumnType(i) == sqlite3.INTEGER:
				cols = append(cols, change.IntCol(name, st.ColumnInt64(i)))
			default:
				cols = append(cols, change.TextCol(name, st.ColumnText(i)))
			}
		}
		row.Cols = change.NewCols(cols...)
	})
	return sha256.Sum256(change.ImageOf(&row).Data), err
}

func (p *rowWriter) drop(r damage.Record) error {
	return p.run(`DELETE FROM `+r.Table+` WHERE id = ?1`, r, nil)
}

// run runs one statement: ?1 is the record's id, ?2 its owner's, ?3 its data.
func (p *rowWriter) run(sql string, r damage.Record, row func(*sqlite3.Stmt)) error {
	st, _, err := p.db.Prepare(sql)
	if err != nil {
		return fmt.Errorf("%s: %w", sql, err)
	}
	defer func() { _ = st.Close() }()
	for i, v := range []string{r.ID, r.Owner, r.Data}[:st.BindCount()] {
		if err := st.BindText(i+1, v); err != nil {
			return err
		}
	}
	for st.Step() {
		row(st)
	}
	return st.Err()
}

func (p *rowWriter) close() error { return p.db.Close() }
