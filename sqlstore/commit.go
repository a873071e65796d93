package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ncruces/go-sqlite3"

	"mend/change"
	"mend/internal/ownfile"
)

// Commit durably writes the Posts in one transaction. Any failure before its COMMIT ends as
// Aborted, with the conflicts or the cause; the cause wraps [change.ErrLocked], [ErrUnusable], the
// context's error or an error of the system. A crash before the COMMIT leaves nothing of the
// change, a crash after it the whole change.
//
// An error means that the COMMIT itself failed: call Settle.
func (s *Store) Commit(ctx context.Context, st change.Staged) (change.Outcome, error) {
	changes, err := s.changesOf(st)
	var progress commitState
	if err == nil {
		err = s.write(ctx, func(c *Conn) error { return s.apply(ctx, c, changes, &progress) })
	}
	switch progress {
	case committed: // even if side files are left
		return change.Outcome{State: change.Committed}, nil
	case commitSent:
		return change.Outcome{}, fmt.Errorf("committing to %s: %w", s.id.Root, err)
	case notCommitted:
	}
	if e, ok := errors.AsType[*change.ConflictError](err); ok {
		return change.Outcome{State: change.Aborted, Conflicts: e.Conflicts}, nil
	}
	return change.Outcome{State: change.Aborted, Cause: fmt.Errorf("writing to %s: %w", s.id.Root, err)}, nil
}

// A commitState is the progress of a transaction.
type commitState uint8

const (
	notCommitted commitState = iota // nothing has changed
	commitSent                      // COMMIT was sent, but not confirmed by SQLite
	committed
)

// changesOf decodes a change that was prepared for this store.
func (s *Store) changesOf(st change.Staged) (*rowChanges, error) {
	if !st.Store.Same(s.id) {
		return nil, fmt.Errorf("%w: it is for the store %s", change.ErrInvalid, st.Store.Root)
	}
	changes, err := newRowChanges(s.specs, st.Ops)
	if err == nil {
		changes.allowMissingParent = st.AllowMissingParent
	}
	return changes, err
}

// apply makes the change in the transaction of c, commits it, and stores its state in progress.
func (s *Store) apply(ctx context.Context, c *Conn, changes *rowChanges, progress *commitState) error {
	// 1. The write lock is held, so the result of the comparison stays valid.
	if err := c.comparePre(changes); err != nil {
		return err
	}
	if err := c.checkTables(changes); err != nil {
		return err
	}
	// 2. Write every row and read it back.
	for _, r := range changes.rows {
		if err := s.writeRow(c, r); err != nil {
			return fmt.Errorf("%v %s: %w", r.kind, r.ref, err)
		}
	}
	// 3. The agent may have added rows that the plan does not contain.
	if err := c.checkForeignKeys(changes.checkedRows(), nil); err != nil {
		return err
	}
	return s.commit(ctx, c, progress)
}

// commit ends the transaction, and stores its state in progress.
func (s *Store) commit(ctx context.Context, c *Conn, progress *commitState) error {
	// The -wal or -journal may be new, and the driver does not sync the folder
	// (v0.35.6 syncs the file twice instead).
	if err := s.opt.Step("sync folder"); err != nil {
		return err
	}
	if err := ownfile.SyncDir(filepath.Dir(s.id.Root)); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	// From here on the transaction must not be interrupted.
	c.db.SetInterrupt(context.Background())
	*progress = commitSent
	if err := s.opt.Step("commit"); err != nil {
		return err
	}
	err := c.db.Exec("COMMIT")
	switch {
	case err == nil:
		*progress = committed
	case errors.Is(err, sqlite3.BUSY) && !c.db.GetAutocommit():
		*progress = notCommitted // a reader of a database without a WAL blocked it; the transaction is still open
	default:
		// If the sync of the -wal failed, the whole transaction can be read there until the next start of the machine,
		// although the disk may lack it. Settle must not find it: another sync would prove nothing.
		if c.db.Exec("BEGIN IMMEDIATE") == nil {
			_ = s.overwrite(c) // err is the cause, and Settle decides
		}
	}
	return err
}

// writeRow writes one row and reads it back: it must equal the planned row.
func (s *Store) writeRow(c *Conn, r rowChange) error {
	verb := change.Op{Pre: r.preImage, Post: r.postImage}.Verb()
	if err := s.opt.Step(fmt.Sprintf("%s %v %s", verb, r.kind, r.ref)); err != nil {
		return err
	}
	t := c.Table(r.kind)
	sql, args := t.writeStatement(r)
	n, err := c.exec(sql, args)
	if err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("the database changed %d rows, want 1", n)
	}
	if err := c.writeWith(t, r.id, r.post()); err != nil {
		return err
	}
	same, err := c.rowEquals(t, r.id, r.post())
	if err != nil {
		return err
	}
	if !same {
		return errors.New("the database changed the row when it stored it")
	}
	return nil
}

// writeStatement returns the statement that turns Pre into Post. An update names only the columns
// that change, so that it does not touch indexes of other columns. OR ABORT overrides a constraint
// with ON CONFLICT REPLACE, which would delete other rows without counting them.
func (t *Table) writeStatement(r rowChange) (sql string, args []Value) {
	pre, post := r.pre(), r.post()
	name := sqlite3.QuoteIdentifier(t.Name)
	switch {
	case post == nil:
		return "DELETE FROM " + name + t.whereKey(), []Value{Text(r.id)}
	case pre == nil:
		for _, col := range t.Cols {
			args = append(args, t.valueOf(post, col))
		}
		return insertStatement(t.Name, t.Cols), args
	}
	var sets []string
	for _, col := range t.Cols {
		if v := t.valueOf(post, col); !v.Equal(t.valueOf(pre, col)) {
			sets = append(sets, sqlite3.QuoteIdentifier(col)+" = ?")
			args = append(args, v)
		}
	}
	if sets == nil { // only its data, in other tables, differs
		sets, args = []string{sqlite3.QuoteIdentifier(t.key()) + " = ?"}, []Value{Text(r.id)}
	}
	return "UPDATE OR ABORT " + name + " SET " + strings.Join(sets, ", ") + t.whereKey(), append(args, Text(r.id))
}

// insertStatement returns the statement that inserts a row with the given columns.
func insertStatement(table string, cols []string) string {
	marks := strings.TrimSuffix(strings.Repeat("?, ", len(cols)), ", ")
	return "INSERT OR ABORT INTO " + sqlite3.QuoteIdentifier(table) + " (" + quoteAll(cols) + ") VALUES (" + marks + ")"
}
