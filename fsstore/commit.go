package fsstore

import (
	"context"
	"errors"
	"fmt"

	"mend/change"
	"mend/internal/safedir"
)

// Commit puts every Post in place, one exchange after the other, and returns when
// all of it is durable. If a record holds something else by now, or ctx ends, or
// a call fails, everything is put back, durably: the Outcome is Aborted, and has
// either the conflicts or the cause.
//
// An error means undecided: call Settle.
func (s *Store) Commit(ctx context.Context, st change.Staged) (change.Outcome, error) {
	j, err := s.resume(st)
	if err != nil {
		return change.Outcome{}, fmt.Errorf("applying the change: %w", err)
	}
	defer j.close()
	out, err := j.commit(ctx)
	if err != nil {
		return change.Outcome{}, fmt.Errorf("applying the change: %w", err)
	}
	return out, nil
}

func (j *job) commit(ctx context.Context) (change.Outcome, error) {
	if j.lost {
		return change.Outcome{}, fmt.Errorf("the staging folder %s is gone", j.stageDir)
	}
	for i, it := range j.items {
		err := ctx.Err()
		if err == nil {
			err = j.put(it)
		}
		if err != nil {
			return j.takeBack(i+1, fmt.Errorf("%v %s: %w", it.op.Ref.Kind, it.op.Ref, err))
		}
	}
	// All names are as they shall be; a power cut now may still bring back any of
	// the old ones, and Settle then finishes.
	if err := j.barrier(j.items); err != nil {
		return change.Outcome{}, err
	}
	if err := j.lastLook(); err != nil {
		return change.Outcome{}, err
	}
	return change.Outcome{State: change.Committed, Kept: j.keptAll()}, nil
}

// put is the op done.
func (j *job) put(it item) error {
	switch {
	case !it.isFolder():
		return j.swap(it, it.op)
	case it.op.Post == nil:
		return j.removeFolder(it)
	}
	return j.makeFolder(it, it.op.Post)
}

// takeBack reverses the first n ops, of which the last may not have taken effect,
// because of cause.
func (j *job) takeBack(n int, cause error) (change.Outcome, error) {
	out, err := j.allBack(context.Background(), j.items[:n])
	if err != nil {
		return out, errors.Join(cause, err)
	}
	if out.State != change.Aborted {
		// Another program wrote over what was just put in place. Settle tells
		// what to do about it, and whether that is still so.
		return out, cause
	}
	if len(out.Conflicts) == 0 {
		out.Cause = cause
	}
	return out, nil
}

// lastLook keeps what a writer put into a file that was already exchanged: it
// had the file open since before. Discard looks again, at each file just before it
// is removed; what is found here is in the journal, too. After an error of a read
// nothing is known of that file, so it stays where it is.
func (j *job) lastLook() error {
	written := make([]bool, len(j.items))
	err := j.share(len(j.items), func(b *safedir.Buffer, i int) error {
		it := j.items[i]
		if it.isFolder() || it.op.Pre == nil {
			return nil
		}
		t, err := j.stage.Read(b, it.slot, it.limit())
		written[i] = err == nil && t.Exists && !matches(&t, it.op.Pre) // nothing is there where nothing could be exchanged
		return err
	})
	_, kerr := j.keepWritten(written)
	return errors.Join(err, kerr)
}
