package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/aside"
	"mend/internal/fail"
	"mend/internal/sqlite"
)

// One op of [change.KindRows] moves many rows to an archive: its Pre is the list of the archive that has them, its Post
// is empty. Rows are read and written one by one. The undo is the inverse op.
//
//	before    the archive is complete, in built/rows-HASH
//	1         the archive is moved to the owner's folder, durably
//	commit    one transaction compares each row of the archive with the row of the same key, and deletes it
//
// So each row that is not in the database is in an archive that was read back completely. A crash leaves all rows or
// none in the database, and Settle determines which.

// An ArchiveRequest selects rows for an archive.
type ArchiveRequest struct {
	Table    string                  // all rows of this table
	Sessions []string                // all rows of these sessions, and the rows that foreign keys delete with them
	DryRun   bool                    // write nothing
	Progress func(done, total int64) // in bytes; may be nil

	size int64 // size of the database
}

// Archived is an archive, with the change that deletes its rows.
type Archived struct {
	Ops     []change.Op // nil if no row was selected
	Rows    map[string]int64
	Content int64 // bytes of the rows
	Packed  int64 // bytes of the archive
	Discard func()
}

// errNoWAL is returned because without a WAL a transaction on many rows would be held in memory.
var errNoWAL = fail.New(fail.Refused, "", "the database is not in WAL mode, which its agent sets: mend changes many rows at once only in that mode")

// Archive writes rows into an archive, and returns the change that deletes them. The database is only read.
func (s *Store) Archive(ctx context.Context, r ArchiveRequest) (a Archived, err error) {
	area, err := s.area("")
	if err != nil {
		return a, err
	}
	defer area.Close()
	a.Discard = func() {}
	var built *aside.Built
	if !r.DryRun {
		if built, err = area.Build(); err != nil {
			return a, err
		}
		a.Discard = built.Discard
	}
	var list rowList
	r.size = s.filesSize()
	err = s.View(ctx, func(c *Conn) error {
		if built == nil {
			list, a.Rows, err = c.archive(ctx, io.Discard, r)
			return err
		}
		f, err := s.createArchive(area, built)
		if err != nil {
			return err
		}
		if list, a.Rows, err = c.archive(ctx, f, r); err == nil {
			err = errors.Join(s.opt.Step("sync "+archiveFile), f.Sync())
		}
		return errors.Join(err, f.Close())
	})
	if err == nil && built != nil && len(a.Rows) > 0 {
		err = built.Finish(area, list.name())
	}
	if err != nil {
		a.Discard()
		return a, fmt.Errorf("writing the archive of %s: %w", s.id.Root, err)
	}
	a.Content, a.Packed = list.content, list.size
	if len(a.Rows) > 0 {
		a.Ops = []change.Op{{Ref: change.Ref{Kind: change.KindRows, Part: list.name()}, Pre: list.image(), Post: noRows()}}
	}
	return a, nil
}

// createArchive creates the file of an archive. It does so again if a read is repeated.
func (s *Store) createArchive(area *aside.Area, built *aside.Built) (*os.File, error) {
	d, err := area.Root.Sub(built.Folder())
	if err != nil {
		return nil, err
	}
	defer d.Close()
	if err := errors.Join(area.Remove(d, archiveFile), s.opt.Step("create "+archiveFile)); err != nil {
		return nil, err
	}
	return d.Create(archiveFile, 0o600)
}

// archive writes the selected rows, and returns their list, and for each table the number of rows that are to be deleted.
func (c *Conn) archive(ctx context.Context, w io.Writer, r ArchiveRequest) (rowList, map[string]int64, error) {
	removed := []selection{{table: r.Table}}
	var parents []selection
	if len(r.Sessions) > 0 {
		var err error
		if removed, err = c.sessionRows(r.Sessions); err != nil {
			return rowList{}, nil, err
		}
		parents = c.parentRows(removed)
	}
	a, err := newArchiveWriter(w)
	for _, sel := range slices.Concat(removed, parents) {
		if err == nil {
			err = c.archiveRows(ctx, a, sel, r)
		}
	}
	if err != nil {
		return rowList{}, nil, err
	}
	err = a.close()
	rows := map[string]int64{}
	for _, t := range a.tables {
		if hasTable(removed, t.name) {
			rows[t.name] = t.rows
		}
	}
	return a.rowList, rows, err
}

func (c *Conn) archiveRows(ctx context.Context, a *archiveWriter, sel selection, r ArchiveRequest) error {
	t, err := c.rowTable(sel.table, nil)
	if err != nil {
		return err
	}
	var b RowBuffer
	n := 0
	return c.Query("SELECT "+quoteAll(t.cols)+" FROM "+sqlite3.QuoteIdentifier(t.name)+sel.where, sel.args, func(st *sqlite3.Stmt) error {
		if n == 0 {
			a.table(t.name, t.cols)
		}
		for _, i := range t.keys {
			if st.ColumnType(i) == sqlite3.NULL {
				return Unusable("a row of %s has no %s, and would not be found again", t.name, t.cols[i])
			}
		}
		err := a.begin()
		for i := range t.cols {
			err = errors.Join(err, a.value(sqlite.Column(st, i, &b.number)))
		}
		if n++; n%1024 == 0 && r.Progress != nil {
			r.Progress(a.content, r.size)
		}
		return cmp.Or(err, ctx.Err())
	})
}

// A selection is a set of rows of a table.
type selection struct {
	table, where string
	args         []Value
}

func hasTable(all []selection, name string) bool {
	return slices.ContainsFunc(all, func(s selection) bool { return strings.EqualFold(s.table, name) })
}

// whereIn returns the condition that columns equal the other columns of a selected row.
func whereIn(columns []string, sel selection, others []string) string {
	return "(" + quoteAll(columns) + ") IN (SELECT " + quoteAll(others) + " FROM " + sqlite3.QuoteIdentifier(sel.table) + sel.where + ")"
}

// sessionRows returns the rows that are deleted with sessions: rows of the tables of sessions and of event counters,
// and all rows that foreign keys with ON DELETE CASCADE delete with them. Parents come first.
func (c *Conn) sessionRows(ids []string) (all []selection, err error) {
	list, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	args := []Value{Text(string(list))}
	for _, kind := range []change.Kind{change.KindSession, change.KindEvents} {
		if t := c.Table(kind); t != nil {
			all = append(all, selection{t.Name, " WHERE " + sqlite3.QuoteIdentifier(t.key()) + " IN (SELECT value FROM json_each(?1))", args})
		}
	}
	for i := 0; i < len(all); i++ {
		for _, l := range c.schema.table(all[i].table).children {
			if hasTable(all, l.child) {
				continue // it is selected already, or refers to itself
			}
			if !l.cascades {
				return nil, Unusable("unknown schema: the foreign key of %s to %s does not define what happens to its rows", l.child, l.parent)
			}
			all = append(all, selection{l.child, " WHERE " + whereIn(l.columns, all[i], l.parentColumns), args})
		}
	}
	return all, nil
}

// parentRows returns the rows of other tables that the selected rows refer to, such as the projects of sessions. They
// stay in the database; the archive has them only so that an undo can restore them if they were deleted since.
func (c *Conn) parentRows(children []selection) (all []selection) {
	for _, child := range children {
		for _, l := range c.schema.table(child.table).parents {
			cond := whereIn(l.parentColumns, child, l.columns)
			switch i := slices.IndexFunc(all, func(s selection) bool { return s.table == l.parent }); {
			case hasTable(children, l.parent):
			case i >= 0:
				all[i].where += " OR " + cond
			default:
				all = append(all, selection{l.parent, " WHERE " + cond, child.args})
			}
		}
	}
	return all
}

// A rowTable has the statements for single rows of a table.
type rowTable struct {
	*tableInfo
	cols                   []string
	keys                   []int // indexes into cols of the primary key
	lookup, insert, remove string
	alone                  bool // the archive has no other table, so parents are in the database or do not exist
	parent                 bool // its rows are in the archive only for the rows that refer to them, see [Conn.parentRows]
}

// rowTable returns a table with the given columns, nil for all.
func (c *Conn) rowTable(name string, cols []string) (*rowTable, error) {
	info, err := c.plainTable(c.schema, name, cols)
	if err != nil {
		return nil, err
	}
	t := &rowTable{tableInfo: info, cols: cols}
	if cols == nil {
		t.cols = info.cols
	}
	for _, key := range info.keys {
		t.keys = append(t.keys, slices.Index(t.cols, key))
	}
	switch {
	case len(t.keys) == 0 || slices.Contains(t.keys, -1):
		return nil, Unusable("unknown schema: the table %s has no primary key by which a row is found again", name)
	case len(info.triggers) > 0:
		return nil, Unusable("table %s has the trigger %s, which might change more than is planned", name, info.triggers[0])
	}
	from := " FROM " + sqlite3.QuoteIdentifier(name) + " WHERE " + whereEqual(info.keys)
	t.lookup, t.insert, t.remove = "SELECT "+quoteAll(t.cols)+from, insertStatement(name, t.cols), "DELETE"+from
	return t, nil
}

// A rowState is the state of an archived row in the database.
type rowState uint8

const (
	rowAbsent rowState = iota
	rowSame            // present, with the same bytes
	rowOther           // another row has its key
	rowOrphan          // absent, and its parent was deleted since, too
)

// key returns the primary key of a row.
func (t *rowTable) key(row []Value) (key []Value) {
	for _, i := range t.keys {
		key = append(key, row[i])
	}
	return key
}

func (c *Conn) stateOf(t *rowTable, row []Value) (state rowState, err error) {
	var b RowBuffer
	err = c.Query(t.lookup, t.key(row), func(st *sqlite3.Stmt) error {
		state = rowSame
		for i, v := range row {
			if !v.Equal(sqlite.Column(st, i, &b.number)) {
				state = rowOther
			}
		}
		return nil
	})
	if err != nil || state != rowAbsent || !t.alone {
		return state, err
	}
	for _, l := range t.parents {
		key, null := valuesOf(l.columns, func(col string) Value {
			if i := slices.Index(t.cols, col); i >= 0 {
				return row[i]
			}
			return Value{Class: change.ClassNull} // the column is newer than the archive
		})
		if null {
			continue
		}
		if found, err := c.hasParent(l, key); err != nil || !found {
			return rowOrphan, err
		}
	}
	return rowAbsent, nil
}

// errNoArchive means that the archive does not exist.
var errNoArchive error = fail.New(fail.Refused, "", "the archive with the rows is no longer kept")

// readArchiveFile is [readArchive] for the archive at path, which must match the list want, unless that is nil.
func readArchiveFile(path string, want *rowList, begin func(table string, cols []string) error, each func(row []Value) error) (l rowList, err error) {
	f, err := openPlain(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, errNoArchive
	}
	if err != nil {
		return l, err
	}
	defer f.Close()
	l, err = readArchive(f, begin, each)
	if err == nil && want != nil && !l.image().Equal(want.image()) {
		err = errArchive
	}
	return l, err
}

// eachRow calls each for the rows of an archive, with their tables, like [readArchiveFile].
func (c *Conn) eachRow(ctx context.Context, path string, want *rowList, each func(t *rowTable, row []Value) error) (l rowList, err error) {
	var t *rowTable
	var own []selection // the tables with rows of sessions, if the archive has sessions: their own table comes first
	return readArchiveFile(path, want, func(table string, cols []string) (err error) {
		if sessions := c.Table(change.KindSession); sessions != nil && table == sessions.Name {
			own, err = c.sessionRows(nil)
		}
		if err == nil {
			t, err = c.rowTable(table, cols)
		}
		if err == nil {
			t.alone, t.parent = own == nil, own != nil && !hasTable(own, table)
		}
		return err
	}, func(row []Value) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return each(t, row)
	})
}

// A tally counts the rows of an archive by state.
type tally [4]int64

// countStates counts the rows of the archive at path by state. It checks that the archive matches want, unless that is
// nil, and returns its list.
func (c *Conn) countStates(ctx context.Context, path string, want *rowList) (n tally, l rowList, err error) {
	l, err = c.eachRow(ctx, path, want, func(t *rowTable, row []Value) error {
		if t.parent {
			return nil
		}
		state, err := c.stateOf(t, row)
		n[state]++
		return err
	})
	return n, l, err
}

// countArchived counts the rows of an archive of any journal by state.
func (s *Store) countArchived(ctx context.Context, archive change.Ref) (n tally, l rowList, err error) {
	path, err := s.findArchive(archive)
	if err != nil {
		return n, l, err
	}
	err = s.View(ctx, func(c *Conn) error {
		n, l, err = c.countStates(ctx, path, nil)
		return err
	})
	if err != nil {
		err = fmt.Errorf("reading %s: %w", s.id.Root, err)
	}
	return n, l, err
}

// findArchive returns the path of an archive of any journal.
func (s *Store) findArchive(ref change.Ref) (string, error) {
	a, err := s.area("")
	if err != nil {
		return "", err
	}
	defer a.Close()
	found, err := a.Find(ref.Part)
	if err == nil && len(found) == 0 {
		err = errNoArchive
	}
	if err != nil {
		return "", err
	}
	return filepath.Join(a.Path, found[0].Dir, found[0].Name, archiveFile), nil
}

// readRows returns the image of the rows of an archive: its list if all rows are in the database, an empty image if
// none are.
func (s *Store) readRows(ctx context.Context, ref change.Ref) (*change.Image, error) {
	n, l, err := s.countArchived(ctx, ref)
	switch {
	case err != nil:
		return nil, err
	case n[rowSame] == 0 && n[rowOther] == 0:
		return noRows(), nil
	case n[rowAbsent] == 0 && n[rowOther] == 0:
		return l.image(), nil
	}
	return &change.Image{Data: fmt.Appendf(nil, "%d of the rows are in the database, %d are not, and for %d it has another row\n", n[rowSame], n[rowAbsent], n[rowOther]), Mode: 0o600}, nil
}

// CountUnrestorable returns how many rows of an archive an undo cannot restore, because their session was deleted.
func (s *Store) CountUnrestorable(ctx context.Context, archive change.Ref) (int64, error) {
	n, _, err := s.countArchived(ctx, archive)
	return n[rowOrphan], err
}

// ArchivedSessions returns all sessions that rows of an archive belong to, and as removed those whose own row it has.
func (s *Store) ArchivedSessions(ctx context.Context, archive change.Ref) (all, removed map[string]bool, err error) {
	path, err := s.findArchive(archive)
	if err != nil {
		return nil, nil, err
	}
	var sessions, events *Table
	if err := s.View(ctx, func(c *Conn) error {
		sessions, events = c.Table(change.KindSession), c.Table(change.KindEvents)
		return nil
	}); err != nil {
		return nil, nil, err
	}
	all, removed = map[string]bool{}, map[string]bool{}
	at, own := -1, false
	_, err = readArchiveFile(path, nil, func(table string, cols []string) error {
		own = sessions != nil && table == sessions.Name
		if at = -1; own {
			at = slices.Index(cols, sessions.key())
		} else if events != nil {
			at = slices.Index(cols, events.key())
		}
		return nil
	}, func(row []Value) error {
		if at >= 0 {
			id := string(row[at].Bytes)
			if all[id] = true; own {
				removed[id] = true
			}
		}
		return ctx.Err()
	})
	return all, removed, err
}

// A rowsChange moves rows from the database to an archive, or back.
type rowsChange struct {
	*aside.Area
	*Store
	op     change.Op
	list   rowList
	remove bool
	dir    string // of the archive: a build, if it was made for this change
	state  commitState
	tried  bool  // this process has tried the transaction
	counts tally // the rows of a change that another process made
}

func (s *Store) newRows(a *aside.Area, st change.Staged) (*rowsChange, error) {
	x := &rowsChange{Area: a, Store: s, op: st.Ops[0], dir: st.Dir}
	list, err := x.op.Post, error(nil)
	if len(st.Ops) != 1 || x.op.Pre == nil || x.op.Post == nil {
		err = errors.New("rows can only be moved")
	} else if x.remove = len(x.op.Post.Data) == 0; x.remove {
		list = x.op.Pre
	}
	if err == nil {
		x.list, err = rowListOf(list)
	}
	if err == nil && x.list.name() != x.op.Ref.Part {
		err = errors.New("the name of the archive does not match its rows")
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", change.ErrInvalid, err)
	}
	return x, nil
}

// Stage implements [aside.Change].
func (x *rowsChange) Stage(_ context.Context, st *change.Staged) (err error) {
	x.dir, err = x.Dir(x.list.name())
	st.Dir = x.dir
	return err
}

func (x *rowsChange) path() string {
	return filepath.Join(x.Path, x.OwnerDir(), x.list.name(), archiveFile)
}

func (x *rowsChange) CheckKept(context.Context) error {
	_, err := readArchiveFile(x.path(), &x.list, func(string, []string) error { return nil }, func([]Value) error { return nil })
	return err
}

func (x *rowsChange) Check(ctx context.Context) error {
	files, err := inspectFiles(x.id.Root)
	if err == nil {
		err = errors.Join(x.CheckFree(ctx), x.CheckWritable(), x.checkWAL())
	}
	if err == nil && !files.walMode {
		err = errNoWAL
	}
	if len(x.MovesBeforeCommit()) == 0 && err == nil && !exists(x.path()) {
		err = errNoArchive
	}
	if err == nil && !x.remove {
		err = CheckSpace(x.Path, 2*x.list.content, "the rows need")
	}
	return err
}

func (x *rowsChange) MovesBeforeCommit() []aside.Move                        { return x.FromBuilt(x.dir, x.list.name()) }
func (x *rowsChange) MovesAfterCommit(context.Context) ([]aside.Move, error) { return nil, nil }

// Commit makes the change in one transaction.
func (x *rowsChange) Commit(ctx context.Context) error {
	x.tried = true
	err := x.CheckFree(ctx)
	if err == nil {
		err = x.write(ctx, func(c *Conn) error {
			change := x.insertRows
			if x.remove {
				change = x.removeRows
			}
			if err := change(ctx, c); err != nil {
				return err
			}
			return x.commit(ctx, c, &x.state)
		})
	}
	return err
}

// IsCommitted implements [aside.Change]. A removal is committed unless all rows are in the database, and an insertion
// if any is.
func (x *rowsChange) IsCommitted(ctx context.Context) (bool, error) {
	if x.tried && x.state != commitSent || len(x.MovesBeforeCommit()) > 0 && !exists(x.path()) {
		return x.state == committed, nil
	}
	err := x.syncFiles()
	if err == nil {
		err = x.write(ctx, func(c *Conn) (err error) {
			if x.counts, _, err = c.countStates(ctx, x.path(), &x.list); err == nil && c.shared {
				err = x.overwrite(c)
			}
			return err
		})
	}
	if errors.Is(err, errNoArchive) && x.remove {
		return false, nil // no row is deleted before the archive is in place
	}
	if n := x.counts; x.remove {
		return n[rowSame] == 0 || n[rowAbsent] > 0 || n[rowOther] > 0, err
	}
	return x.counts[rowSame] > 0, err
}

func (x *rowsChange) Outcome(_ context.Context, passed bool) (change.Outcome, error) {
	out := change.Outcome{State: change.Aborted}
	if passed {
		out.State = change.Committed
	}
	if n := x.counts; n[rowOther] > 0 || n[rowSame] > 0 && n[rowAbsent] > 0 {
		out.State = change.Conflicted
		why := fmt.Sprintf("%d rows are in the database, %d are not, and for %d it has another row", n[rowSame], n[rowAbsent], n[rowOther])
		out.Conflicts = []change.Conflict{{Ref: x.op.Ref, Pre: x.op.Pre, Post: x.op.Post, Why: why}}
	}
	return out, nil
}

func (x *rowsChange) conflict(format string, args ...any) error {
	return conflictError([]change.Conflict{{Ref: x.op.Ref, Pre: x.op.Pre, Post: x.op.Post, Why: fmt.Sprintf(format, args...)}})
}

// removeRows deletes the rows, if each equals its row in the archive. Rows of the table that were added since stay; of a
// session, they are a conflict.
func (x *rowsChange) removeRows(ctx context.Context, c *Conn) error {
	first := x.list.tables[0]
	n, err := c.Integer("SELECT count(*) FROM " + sqlite3.QuoteIdentifier(first.name))
	if err == nil {
		err = x.opt.Step("delete rows")
	}
	if err != nil {
		return err
	}
	whole := n == first.rows && len(x.list.tables) == 1 // SQLite empties a whole table without reading its rows
	var sessions []string
	_, err = c.eachRow(ctx, x.path(), &x.list, func(t *rowTable, row []Value) error {
		state, err := c.stateOf(t, row)
		switch {
		case err != nil || t.parent:
			return err
		case state == rowOther:
			return x.conflict("a row of %s was changed since", t.name)
		case state != rowSame:
			return x.conflict("a row of %s was deleted since", t.name)
		case !t.alone && t.tableInfo == c.Table(change.KindSession).tableInfo:
			sessions = append(sessions, string(row[t.keys[0]].Bytes))
		case t.alone && !whole:
			_, err = c.exec(t.remove, t.key(row))
		}
		return err
	})
	switch {
	case err != nil:
		return err
	case sessions != nil:
		return x.removeSessions(c, sessions)
	case whole:
		_, err = c.exec("DELETE FROM "+sqlite3.QuoteIdentifier(first.name), nil)
	}
	return err
}

// removeSessions deletes all rows of sessions. The archive must have all of them.
func (x *rowsChange) removeSessions(c *Conn, ids []string) error {
	removed, err := c.sessionRows(ids)
	if err != nil {
		return err
	}
	for _, sel := range removed {
		n, err := c.Integer("SELECT count(*) FROM "+sqlite3.QuoteIdentifier(sel.table)+sel.where, sel.args...)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(x.list.tables, func(t tableRows) bool { return t.name == sel.table })
		if i < 0 && n > 0 || i >= 0 && n != x.list.tables[i].rows {
			return x.conflict("rows of %s were added since", sel.table)
		}
	}
	for _, sel := range slices.Backward(removed) { // children first, because they are found through their parents
		if _, err := c.exec("DELETE FROM "+sqlite3.QuoteIdentifier(sel.table)+sel.where, sel.args); err != nil {
			return err
		}
	}
	return nil
}

// insertRows inserts the rows, none of which may exist yet. Existing parents, and events of a session that was deleted
// since, stay in the archive.
func (x *rowsChange) insertRows(ctx context.Context, c *Conn) error {
	if err := x.opt.Step("insert rows"); err != nil {
		return err
	}
	n := 0
	_, err := c.eachRow(ctx, x.path(), &x.list, func(t *rowTable, row []Value) error {
		switch state, err := c.stateOf(t, row); {
		case err != nil:
			return err
		case state == rowOrphan, t.parent && state != rowAbsent:
			return nil
		case state != rowAbsent:
			return x.conflict("a row of %s is there again", t.name)
		}
		n++
		if _, err := c.exec(t.insert, row); err != nil {
			return fmt.Errorf("a row of %s: %w", t.name, err)
		}
		state, err := c.stateOf(t, row)
		if err == nil && state != rowSame {
			err = errors.New("the database changed a row when it stored it")
		}
		return err
	})
	if err == nil && n == 0 {
		err = fail.New(fail.Refused, "", "all sessions of these rows were deleted since")
	}
	return err
}
