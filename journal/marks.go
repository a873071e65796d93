package journal

import (
	"context"

	"mend/internal/boltfile"
)

// markNumber returns the number in a mark, and whether the mark is set.
func (j *Journal) markNumber(name string) (uint64, bool, error) {
	v, ok, err := j.file.Mark(name)
	if err != nil || !ok {
		return 0, false, err
	}
	n, ok := boltfile.SplitU64(v, 1)
	if !ok {
		return 0, false, damageError("mark %s is %x", name, v)
	}
	return n[0], true, nil
}

func (j *Journal) unmark(name string) error {
	return j.update("unmark "+name, func(w *writer) error { return w.Del(bucketMeta, []byte(name)) })
}

// cleanUp finishes interrupted work: it removes the blobs of an entry without a begin event and the
// blobs that a gc or forget has released, and compacts the file after a forget.
func (j *Journal) cleanUp() error {
	ctx := context.Background()
	if err := j.cleanUpStaging(); err != nil {
		return err
	}
	if _, ok, err := j.file.Mark(markErasing); err != nil {
		return err
	} else if ok {
		if err := j.snap().CheckStructure(buckets); err != nil {
			return err
		}
		if err := j.finishErasing(ctx, new(Freed)); err != nil {
			return err
		}
	}
	if _, ok, err := j.file.Mark(markCompact); err != nil || !ok {
		return err
	}
	return j.file.Compact(ctx, markCompact)
}

// cleanUpStaging removes the blobs of an entry without a begin event.
func (j *Journal) cleanUpStaging() error {
	entry, ok, err := j.markNumber(markStaging)
	if err != nil || !ok {
		return err
	}
	if err := j.snap().CheckStructure(buckets); err != nil {
		return err
	}
	rel := releaser{ctx: context.Background(), j: j, freed: new(Freed)}
	var refs []blobRef
	err = j.snap().Scan(bucketRefs, nil, nil, func(it boltfile.Item) error {
		r, e, err := splitRef(it.Key)
		if err == nil && e == entry {
			refs = append(refs, blobRef{r, e})
		}
		return err
	})
	if err == nil {
		err = rel.release(refs)
	}
	if err != nil {
		return err
	}
	return j.unmark(markStaging)
}
