package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"mend/change"
	"mend/session"
)

// Freed is what GC or Forget removed.
type Freed struct {
	Entries int   // that lost their images now
	Images  int   // images, lists and texts that no other entry needs
	Bytes   int64 // what these took, compressed
	Shrunk  int64 // by how much the file became smaller; 0 if it was not compacted
	// SharedWith is the ids of other entries that need some of the same images, such
	// as the undo of a repair: those images are still there.
	SharedWith []string
	// Skipped is the ids of old entries that GC left as they were, since what they hold
	// are files of the user's own: only Forget drops those.
	Skipped []string
}

// GC removes the images of the entries begun before olderThan, except pending
// and conflicted ones, and those that hold files of the user's own. They can be told of afterwards, not undone. The space is
// used again; where more than half of the file is free, and more than 64 MiB,
// the file is made smaller.
//
// An entry counts as begun when the newest entry up to it was begun, times in
// the future left out, and where none is left as the first one after it: a clock
// that once stood wrong removes nothing early.
func (j *Journal) GC(ctx context.Context, olderThan time.Time) (Freed, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	freed, err := j.gc(ctx, olderThan)
	if err != nil {
		return freed, fmt.Errorf("removing images from the journal: %w", err)
	}
	return freed, nil
}

func (j *Journal) gc(ctx context.Context, olderThan time.Time) (Freed, error) {
	var freed Freed
	if err := j.prepareErasing(); err != nil {
		return freed, err
	}
	old, err := j.olderThan(olderThan)
	if err == nil {
		old, freed.Skipped, err = j.withoutFiles(old)
	}
	if err != nil {
		return freed, err
	}
	if len(old) > 0 {
		if err := j.erase(ctx, kindGC, old, &freed); err != nil {
			return freed, err
		}
	}
	free, err := j.snap.freeBytes()
	if err != nil || free <= j.opts.compactAbove || free <= int64(j.snap.high)*j.snap.pageSize/2 {
		return freed, err
	}
	return freed, j.compact(ctx, &freed)
}

// olderThan is the entries that GC takes.
func (j *Journal) olderThan(limit time.Time) ([]*history, error) {
	var old, waiting []*history
	var begun time.Time
	now := j.opts.Now()
	for seq := uint64(1); seq <= j.head.begun; seq++ {
		h, err := j.snap.history(seq)
		if err != nil {
			return nil, err
		}
		if t := h.begin.time(); t.After(begun) && !t.After(now) {
			begun = t
		}
		if h.settled() && !h.gone {
			waiting = append(waiting, h)
		}
		if begun.IsZero() {
			continue
		}
		if begun.Before(limit) {
			old = append(old, waiting...)
		}
		waiting = nil
	}
	return old, nil
}

// withoutFiles is the entries that hold no file of the user's own, and the ids of the
// others.
func (j *Journal) withoutFiles(all []*history) (left []*history, kept []string, err error) {
	for _, h := range all {
		ops, err := j.opInfos(h.begin.Begin)
		if err != nil {
			return nil, nil, err
		}
		if slices.ContainsFunc(ops, func(o change.OpInfo) bool { return o.Ref.Kind == session.KindFile }) {
			kept = append(kept, IDOf(h.seq))
			continue
		}
		left = append(left, h)
	}
	return left, kept, nil
}

// Forget removes the images of the entries, the texts of errors, diagnoses and
// conflicts, and makes these bytes leave the file, which is written anew. That
// the repairs were made stays on record, and the chain stays as it was. Nothing
// happens if one of the entries is pending or conflicted: the error is then a
// [*StateError].
//
// When it is cut, the entries are forgotten all the same, and the next Open for
// writing makes the bytes leave.
func (j *Journal) Forget(ctx context.Context, entries []change.Entry) (Freed, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	freed, err := j.forget(ctx, entries)
	if err != nil {
		return freed, fmt.Errorf("forgetting repairs: %w", err)
	}
	return freed, nil
}

func (j *Journal) forget(ctx context.Context, entries []change.Entry) (Freed, error) {
	var freed Freed
	if len(entries) == 0 {
		return freed, nil
	}
	if err := j.prepareErasing(); err != nil {
		return freed, err
	}
	var all []*history
	for _, e := range entries {
		h, err := j.known(e)
		if err != nil {
			return freed, err
		}
		if !h.settled() {
			return freed, &StateError{ID: e.ID, State: h.state(), Want: change.Committed}
		}
		if !h.silent {
			all = append(all, h)
		}
	}
	if len(all) > 0 {
		if err := j.erase(ctx, kindForget, all, &freed); err != nil {
			return freed, err
		}
	}
	return freed, j.compact(ctx, &freed)
}

// prepareErasing ends earlier work and checks every page: what follows moves
// pages about that bbolt takes on trust.
func (j *Journal) prepareErasing() error {
	if err := j.usable(); err != nil {
		return err
	}
	if err := j.tidy(); err != nil {
		return err
	}
	return j.snap.checkStructure()
}

// erase writes the event that the entries lost their images, and from then on
// they count as gone, whatever happens; then it removes what only they needed.
func (j *Journal) erase(ctx context.Context, kind eventKind, all []*history, freed *Freed) error {
	ev := &event{Kind: kind, Entries: spans(all)}
	var about []uint64
	for _, s := range ev.Entries {
		for seq := s[0]; seq <= s[1]; seq++ {
			about = append(about, seq)
		}
	}
	err := j.update(string(kind), func(w *writer) error {
		err := errors.Join(
			w.event(j, ev, about...),
			w.put(bucketMeta, []byte(markErasing), u64(w.head.seq)))
		if kind == kindForget {
			err = errors.Join(err, w.put(bucketMeta, []byte(markCompact), []byte{1}))
		}
		return err
	})
	if err != nil {
		return err
	}
	freed.Entries = len(about)
	return j.finishErasing(ctx, freed)
}

// finishErasing removes the blobs of the entries that the marked event names.
// It may be cut anywhere and starts over.
func (j *Journal) finishErasing(ctx context.Context, freed *Freed) error {
	seq, ok, err := j.markNumber(markErasing)
	if err != nil || !ok {
		return err
	}
	ev, err := j.snap.event(seq)
	if err != nil {
		return err
	}
	rel := releaser{ctx: ctx, j: j, freed: freed, held: map[uint64]bool{}}
	var claims []claim
	for _, s := range ev.Entries {
		for entry := s[0]; entry <= s[1]; entry++ {
			more, err := j.erasedClaims(entry, ev.Kind)
			if err != nil {
				return err
			}
			if claims = append(claims, more...); len(claims) < maxReleases {
				continue
			}
			if err := rel.release(claims); err != nil {
				return err
			}
			claims = nil
		}
	}
	if err := rel.release(claims); err != nil {
		return err
	}
	for entry := range rel.held {
		if !ev.touches(entry) {
			freed.SharedWith = append(freed.SharedWith, IDOf(entry))
		}
	}
	slices.Sort(freed.SharedWith)
	return j.unmark(markErasing)
}

// erasedClaims is the claims that an entry loses by an event of that kind: its
// lists of ops stay.
func (j *Journal) erasedClaims(entry uint64, kind eventKind) ([]claim, error) {
	h, err := j.snap.history(entry)
	if err != nil {
		return nil, err
	}
	refs, err := j.refsOf(h, true, kind == kindForget)
	if err != nil {
		return nil, err
	}
	var claims []claim
	for r := range refs {
		if r.kind != blobOps {
			claims = append(claims, claim{r, entry})
		}
	}
	slices.SortFunc(claims, func(a, b claim) int { return bytes.Compare(a.key(), b.key()) })
	return claims, nil
}
