package linestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"mend/change"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// Settle determines from the contents how far a change came, and finishes or reverts it. It may be interrupted at any
// point and called again. An append is committed if all its lines are present; otherwise the lines that are present are
// removed. A replacement is committed if the new transcript is in place. An error means that the change is still
// undecided.
func (s *Store) Settle(ctx context.Context, st change.Staged) (out change.Outcome, err error) {
	defer stage.Describe(&err, "settling the change")
	tx, err := s.resume(st)
	if err != nil {
		return out, err
	}
	defer tx.close()
	if err := ctx.Err(); err != nil {
		return out, err
	}
	if err := tx.settleExchange(st.Dir); err != nil {
		return out, err
	}
	if st.Append == nil {
		return tx.settleByContent()
	}
	return tx.settleAppend(st.Dir, *st.Append)
}

// settleExchange finishes an exchange that took effect.
func (tx *transaction) settleExchange(folder string) error {
	d, staged, err := tx.openStaged(folder)
	if err != nil || d == nil {
		return err
	}
	defer d.Close()
	e, err := tx.readTarget()
	if err != nil || !e.IsFile() {
		return err
	}
	if v, _ := staged.classify(e.Data); !staged.isNew(v) {
		return nil
	}
	return tx.finishExchange(d, staged)
}

func (tx *transaction) settleByContent() (change.Outcome, error) {
	e, err := tx.readTarget()
	if err != nil {
		return change.Outcome{}, err
	}
	t := tx.newTranscript(e.Data)
	var out change.Outcome
	post := 0
	for i := range tx.ops {
		op := &tx.ops[i]
		switch t.state(op) {
		case holdsPre:
		case holdsPost:
			post++
		case holdsOther:
			out.Conflicts = append(out.Conflicts, tx.conflict(op, t.image(op), ""))
		}
	}
	switch {
	case post == len(tx.ops):
		out.State = change.Committed
	case post == 0:
		out.State = change.Aborted
	default:
		out.State = change.Conflicted
		for i := range tx.ops {
			if op := &tx.ops[i]; t.state(op) != holdsOther {
				out.Conflicts = append(out.Conflicts, tx.conflict(op, t.image(op), changedMeanwhile))
			}
		}
	}
	if !e.IsFile() {
		return out, nil
	}
	return out, tx.syncTarget()
}

// syncTarget makes the transcript durable: the process that wrote to it may have died before its
// sync.
func (tx *transaction) syncTarget() error {
	f, err := tx.dir.OpenToSync(tx.name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return tx.sync(f, path.Dir(tx.path))
}

// settleAppend finishes an append, or removes its lines by a replacement.
func (tx *transaction) settleAppend(folder string, before change.AppendPoint) (change.Outcome, error) {
	e, err := tx.readTarget()
	if err != nil {
		return change.Outcome{}, err
	}
	t := tx.newTranscript(e.Data)
	rest, ours := tx.dropOwnLines(t, int(before.Size))
	if !ours {
		return tx.settleByContent()
	}
	if all := !slices.ContainsFunc(tx.ops, func(op lineOp) bool { return t.state(&op) != holdsPost }); all {
		plan, _, _ := tx.edit(tx.newTranscript(rest), true)
		size := before.Size + int64(len(plan.block))
		if err := tx.writeAgain(folder, t.data, e, before.Mtime, size); err != nil {
			return change.Outcome{}, err
		}
		tx.restoreTime(before.Mtime, size)
		out, err := tx.settleByContent()
		if err != nil { // perhaps of a sync
			err = errors.Join(err, tx.markUnsynced(folder))
		}
		return out, err
	}
	if len(rest) == int(before.Size) {
		e.Mtime = before.Mtime
	}
	if err := tx.putBack(folder, t.data, rest, e); err != nil {
		return change.Outcome{}, err
	}
	return tx.settleByContent()
}

// dropOwnLines returns the transcript without the lines that the change appended after size, and
// whether there were any. The last one may be incomplete.
func (tx *transaction) dropOwnLines(t transcript, size int) (rest []byte, ours bool) {
	if len(t.data) <= size {
		return t.data, false
	}
	cut := edit{}
	newline := tx.hasNewline() && t.data[size] == '\n'
	at := size
	if newline {
		at++
	}
	for s := range t.spans(at) {
		if tx.wrote(t.text(s)) {
			cut.cuts = append(cut.cuts, span{s.start, min(s.end+1, len(t.data))})
		}
	}
	if newline && len(cut.apply(t.data, false)) == at { // nothing else is left after the newline
		cut.cuts = append([]span{{size, at}}, cut.cuts...)
	}
	return cut.apply(t.data, false), len(cut.cuts) > 0
}

// wrote reports whether a line past the old end of the transcript is a line of the change, or the
// beginning of one.
func (tx *transaction) wrote(line []byte) bool {
	return len(line) > 0 && slices.ContainsFunc(tx.ops, func(op lineOp) bool {
		return op.newline == "" && op.Post != nil && bytes.HasPrefix(op.Post.Data, line)
	})
}

// writeAgain replaces the transcript by a new file with the same content if the sync of appended lines failed, which the
// folder of the change shows. Another sync of the old file would prove nothing, see [atomicfile.Barrier]. If the
// transcript still has the given size, it gets its mtime from before the change.
func (tx *transaction) writeAgain(folder string, data []byte, e safedir.Entry, mtime, size int64) error {
	d, err := tx.root.Sub(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	d.Close()
	if e.Size == size {
		e.Mtime = mtime
	}
	return tx.putBack(folder, data, data, e)
}

// putBack replaces the transcript, which has the content before, by a new file with the content after.
func (tx *transaction) putBack(folder string, before, after []byte, e safedir.Entry) error {
	if err := tx.removeStage(folder); err != nil {
		return err
	}
	if err := tx.stageAt(folder, before, after, e); err != nil {
		return err
	}
	d, staged, err := tx.openStaged(folder)
	if err != nil {
		return err
	}
	if d == nil {
		return fmt.Errorf("the staging folder %s no longer exists", folder)
	}
	defer d.Close()
	return tx.exchange(d, staged)
}
