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
	"mend/internal/damage"
	"mend/session"
)

// A filePen writes the tree.
type filePen struct {
	root string
	rng  *rand.Rand
}

func (p *filePen) path(r damage.Record) string {
	return filepath.Join(p.root, r.Table, r.Owner, r.ID+".json")
}

// write makes the folder if need be, opens the file, cuts it to nothing, and
// writes; or it writes another file and renames that.
func (p *filePen) write(records []damage.Record) ([]line, error) {
	var lines []line
	for _, r := range records {
		l := line{Record: r, digest: sha256.Sum256([]byte(r.Data))}
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

// writeInPlace reports whether the file was no longer there when the write was
// over.
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

func (p *filePen) digest(r damage.Record) ([sha256.Size]byte, error) {
	data, err := os.ReadFile(p.path(r))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return sha256.Sum256(data), err
}

func (p *filePen) drop(r damage.Record) error {
	if err := os.Remove(p.path(r)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (p *filePen) close() error { return nil }

// A rowPen writes the database, in transactions of its own.
type rowPen struct{ db *sqlite3.Conn }

func newRowPen(path string) (*rowPen, error) {
	db, err := sqlite3.Open(path)
	if err != nil {
		return nil, err
	}
	// What mend has deleted may be the message of a part that is written next.
	return &rowPen{db}, errors.Join(db.BusyTimeout(10*time.Second), db.Exec("PRAGMA foreign_keys=OFF"))
}

func (p *rowPen) write(records []damage.Record) (lines []line, err error) {
	if err := p.db.Exec("BEGIN IMMEDIATE"); err != nil {
		return nil, err
	}
	for _, r := range records {
		err := p.put(r)
		l := line{Record: r}
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

func (p *rowPen) put(r damage.Record) error {
	owner := map[string]string{"message": "session_id", "part": "message_id, session_id"}[r.Table]
	values := map[string]string{"message": "id", "part": "?2, id"}[r.Table]
	return p.run(`INSERT INTO `+r.Table+` (id, `+owner+`, time_created, time_updated, data)
		SELECT ?1, `+values+`, coalesce(CASE WHEN json_valid(?3) THEN json_extract(?3, '$.time.created') END, 1), 1, ?3 FROM session WHERE true
		ON CONFLICT (id) DO UPDATE SET data = excluded.data, time_updated = time_updated + 1`, r, nil)
}

func (p *rowPen) digest(r damage.Record) ([sha256.Size]byte, error) {
	var row session.Record
	err := p.run(`SELECT * FROM `+r.Table+` WHERE id = ?1`, r, func(st *sqlite3.Stmt) {
		for i := range st.ColumnCount() {
			switch name := st.ColumnName(i); {
			case name == "data":
				row.Data = []byte(st.ColumnText(i))
			case st.ColumnType(i) == sqlite3.INTEGER:
				row.Cols = append(row.Cols, session.IntCol(name, st.ColumnInt64(i)))
			default:
				row.Cols = append(row.Cols, session.TextCol(name, st.ColumnText(i)))
			}
		}
	})
	return sha256.Sum256(change.ImageOf(&row).Data), err
}

func (p *rowPen) drop(r damage.Record) error {
	return p.run(`DELETE FROM `+r.Table+` WHERE id = ?1`, r, nil)
}

// run runs one statement: ?1 is the record's id, ?2 its owner's, ?3 its data.
func (p *rowPen) run(sql string, r damage.Record, row func(*sqlite3.Stmt)) error {
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

func (p *rowPen) close() error { return p.db.Close() }
