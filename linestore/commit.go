package linestore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"mend/change"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// errForeign means that another program changed the transcript other than by appending. Its content is in place.
var errForeign = errors.New("changed by another program")

// Commit appends the new lines, or exchanges the transcript with the staged one, and returns when that is durable. If a
// record holds something else, or ctx ended, nothing is changed and the Outcome is Aborted.
//
// An error means that the change is undecided: call Settle.
func (s *Store) Commit(ctx context.Context, st change.Staged) (out change.Outcome, err error) {
	defer stage.Describe(&err, "applying the change")
	tx, err := s.resume(st)
	if err != nil {
		return out, err
	}
	defer tx.close()
	if err := ctx.Err(); err != nil {
		return change.Outcome{State: change.Aborted, Cause: err}, nil
	}
	if st.Append != nil {
		return tx.append(st.Dir, st.Append.Size)
	}
	return tx.commitReplace(st.Dir)
}

// resume continues a change that was prepared before, possibly by another process.
func (s *Store) resume(st change.Staged) (*transaction, error) {
	if err := stage.Check(st, s.id, isStage); err != nil {
		return nil, err
	}
	return s.begin(st.Ops)
}

// aborted returns the outcome of a change that met another content.
func (tx *transaction) aborted() (change.Outcome, error) {
	e, err := tx.readTarget()
	if err != nil {
		return change.Outcome{}, err
	}
	t, conflicts := tx.conflicts(&e)
	if len(conflicts) == 0 { // the transcript changed, but not in the lines of the ops
		op := &tx.ops[0]
		conflicts = []change.Conflict{tx.conflict(op, t.image(op), changedMeanwhile)}
	}
	return change.Outcome{State: change.Aborted, Conflicts: conflicts}, nil
}

// append makes the change with one write. size is the size of the transcript when the change was prepared.
//
// A crash or an error during or after the write leaves all, a part or none of the block at the end of the transcript. If
// the sync fails, append makes the folder of the change: until the next start of the machine the lines can be read
// although the disk may lack them, so Settle must not take them for durable.
func (tx *transaction) append(folder string, size int64) (change.Outcome, error) {
	e, err := tx.readTarget()
	if err != nil {
		return change.Outcome{}, err
	}
	t, conflicts := tx.conflicts(&e)
	if len(conflicts) > 0 {
		return tx.aborted()
	}
	plan, _, _ := tx.edit(t, true)
	if int64(len(e.Data)) < size || plan.beginsWithNewline() != tx.hasNewline() {
		return tx.aborted()
	}
	f, err := tx.dir.OpenAppend(tx.name)
	if err != nil {
		return change.Outcome{State: change.Aborted, Cause: err}, nil
	}
	defer f.Close()
	if err := tx.reserve(f, int64(len(plan.block))); err != nil {
		return change.Outcome{State: change.Aborted, Cause: err}, nil
	}
	if err := tx.opt.Step("append " + tx.path); err != nil {
		return change.Outcome{}, err
	}
	if same, err := tx.isUnchanged(f, e); err != nil {
		return change.Outcome{State: change.Aborted, Cause: err}, nil
	} else if !same {
		return tx.aborted()
	}
	if _, err = f.Write(plan.block); err != nil {
		return change.Outcome{}, err
	}
	tx.restoreTime(e.Mtime, e.Size+int64(len(plan.block)))
	if err = tx.sync(f); err == nil {
		return change.Outcome{State: change.Committed}, nil
	}
	return change.Outcome{}, errors.Join(err, tx.markUnsynced(folder))
}

// markUnsynced makes the folder of an append, so that Settle writes its lines again.
func (tx *transaction) markUnsynced(folder string) error {
	d, err := tx.own.Make(folder)
	if err == nil {
		d.Close()
	}
	return err
}

// isUnchanged reports whether f is still the transcript and still as long as e, the entry that was compared with the
// ops. Another program may have written to the transcript or replaced it since.
func (tx *transaction) isUnchanged(f *os.File, e safedir.Entry) (bool, error) {
	open, err := safedir.StatFile(f)
	if err != nil {
		return false, err
	}
	named, err := tx.dir.Stat(tx.name)
	return open.Size == e.Size && open.Ino == e.Ino && named.Ino == e.Ino, err
}

// hasNewline reports whether an op adds a newline before the block.
func (tx *transaction) hasNewline() bool {
	return slices.ContainsFunc(tx.ops, func(op lineOp) bool { return op.newline != "" && op.Post != nil })
}

// restoreTime restores the transcript's mtime if its size shows that no other program has written since. An error is
// only a note: the lines are already written.
func (tx *transaction) restoreTime(mtime, size int64) {
	e, err := tx.dir.Stat(tx.name)
	if err == nil && (e.Size != size || e.Mtime == mtime) {
		return
	}
	if err == nil {
		err = tx.opt.Step("time " + tx.path)
	}
	if err == nil {
		err = tx.dir.SetMtime(tx.name, mtime)
	}
	if err != nil {
		tx.opt.Note(fmt.Sprintf("%v: the agent shows the session as used just now", err))
	}
}

func (tx *transaction) commitReplace(folder string) (change.Outcome, error) {
	d, staged, err := tx.openStaged(folder)
	if err != nil {
		return change.Outcome{}, err
	}
	if d == nil {
		return change.Outcome{}, fmt.Errorf("the staging folder %s no longer exists", folder)
	}
	defer d.Close()
	e, err := tx.readTarget()
	if err != nil {
		return change.Outcome{}, err
	}
	_, conflicts := tx.conflicts(&e)
	if v, _ := staged.classify(e.Data); len(conflicts) > 0 || v != oldVersion {
		return tx.aborted()
	}
	if err = tx.exchange(d, staged); errors.Is(err, errForeign) {
		return tx.aborted()
	}
	if err != nil {
		return change.Outcome{}, err
	}
	return change.Outcome{State: change.Committed}, nil
}

// openStaged opens the staging folder and returns the name of its staged file. The folder is nil if it does not exist
// or has no staged file.
func (tx *transaction) openStaged(folder string) (*safedir.Dir, copyName, error) {
	d, err := tx.root.Sub(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, copyName{}, nil
	}
	if err != nil {
		return nil, copyName{}, err
	}
	err = tx.own.FinishExchanges(d)
	var names []string
	if err == nil {
		names, err = d.Names()
	}
	for _, name := range names {
		if staged, ok := parseCopyName(name); ok {
			return d, staged, nil
		}
	}
	d.Close()
	return nil, copyName{}, err
}

// exchange puts the staged file in place of the transcript, carries over the lines that were appended since, and
// returns when everything is durable. The error is errForeign if the transcript held something else; it is then back in
// place.
//
// A kill before the exchange leaves the old transcript in place; a kill after it, the new one, while the staged file
// still has the lines that were not carried over. A power cut before the sync leaves either.
func (tx *transaction) exchange(d *safedir.Dir, staged copyName) error {
	if err := tx.opt.Step("exchange " + tx.path); err != nil {
		return err
	}
	if err := tx.own.Exchange(tx.dir, tx.name, d, staged.String()); err != nil {
		return err
	}
	out, err := d.Read(staged.String(), change.MaxText)
	if err != nil {
		return err
	}
	if v, _ := staged.classify(out.Data); v == oldVersion {
		return tx.finishExchange(d, staged)
	}
	if err := tx.opt.Step("exchange back " + tx.path); err != nil {
		return err
	}
	if err := tx.own.Exchange(tx.dir, tx.name, d, staged.String()); err != nil {
		return err
	}
	return cmp.Or(tx.sync(nil, path.Dir(tx.path), d.Path), errForeign)
}

// finishExchange makes the exchange durable, and then carries over lines appended to the old transcript, now the staged
// file, until no more come or after maxRounds.
//
// If the sync fails, Settle calls finishExchange again. A second sync proves nothing about the content of a file, see
// [atomicfile.Barrier], but here it only has to write the two names: Prepare has made the content durable.
func (tx *transaction) finishExchange(d *safedir.Dir, staged copyName) error {
	if err := tx.sync(nil, path.Dir(tx.path), d.Path); err != nil {
		return err
	}
	carried := 0
	for range maxRounds {
		out, err := d.Read(staged.String(), change.MaxText)
		if err != nil {
			return err
		}
		v, tail := staged.classify(out.Data)
		if v != oldVersion || len(tail) <= carried {
			return nil
		}
		if more, err := tx.carryOver(staged, tail, carried, out.Mtime); err != nil || !more {
			return err
		}
		carried = len(tail)
	}
	return nil
}

// maxRounds limits how often finishExchange looks for more lines. A program that writes faster than the disk would keep
// it busy forever; Discard keeps later lines.
const maxRounds = 8

// carryOver appends the part of tail that the transcript lacks, and reports whether it appended anything. carried is
// the number of bytes of tail that earlier calls have appended.
func (tx *transaction) carryOver(c copyName, tail []byte, carried int, mtime int64) (bool, error) {
	e, err := tx.readTarget()
	if err != nil {
		return false, err
	}
	v, appended := c.classify(e.Data)
	if !c.isNew(v) || carried == 0 && contains(appended, tail) {
		return false, nil
	}
	missing := tail[carried:]
	if carried == 0 && len(appended) > 0 && bytes.HasPrefix(tail, appended) {
		missing = tail[len(appended):] // an earlier call was cut off here by a crash
	} else if !endsLine(e.Data) && missing[0] != '\n' && (carried == 0 || !bytes.HasSuffix(appended, tail[:carried])) {
		missing = append([]byte{'\n'}, missing...)
	}
	f, err := tx.dir.OpenAppend(tx.name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err = tx.opt.Step("carry over " + tx.path); err == nil {
		_, err = f.Write(missing)
	}
	if err != nil {
		return false, err
	}
	tx.restoreTime(mtime, e.Size+int64(len(missing)))
	return true, tx.sync(f)
}
