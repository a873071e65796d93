package journal

import "context"

// mark is a mark's value, and whether it is there.
func (j *Journal) mark(name string) ([]byte, bool, error) {
	return j.snap.get(bucketMeta, []byte(name))
}

// markNumber is the number in a mark.
func (j *Journal) markNumber(name string) (uint64, bool, error) {
	v, ok, err := j.mark(name)
	if err != nil || !ok {
		return 0, false, err
	}
	n, ok := splitU64(v, 1)
	if !ok {
		return 0, false, damaged("mark %s is %x", name, v)
	}
	return n[0], true, nil
}

func (j *Journal) unmark(name string) error {
	return j.update("unmark "+name, func(w *writer) error { return w.del(bucketMeta, []byte(name)) })
}

// tidy ends what was cut: removes the blobs of an entry that was never begun and
// those of a gc or forget, and writes the file anew for a forget.
func (j *Journal) tidy() error {
	ctx := context.Background()
	if err := j.tidyStaging(); err != nil {
		return err
	}
	if _, ok, err := j.mark(markErasing); err != nil {
		return err
	} else if ok {
		if err := j.snap.checkStructure(); err != nil {
			return err
		}
		if err := j.finishErasing(ctx, new(Freed)); err != nil {
			return err
		}
	}
	if _, ok, err := j.mark(markCompact); err != nil || !ok {
		return err
	}
	return j.compact(ctx, new(Freed))
}

// tidyStaging removes the blobs of an entry that was never begun.
func (j *Journal) tidyStaging() error {
	entry, ok, err := j.markNumber(markStaging)
	if err != nil || !ok {
		return err
	}
	if err := j.snap.checkStructure(); err != nil {
		return err
	}
	rel := releaser{ctx: context.Background(), j: j, freed: new(Freed)}
	var claims []claim
	err = j.snap.scan(bucketRefs, nil, nil, func(it item) error {
		r, e, err := splitRef(it.key)
		if err == nil && e == entry {
			claims = append(claims, claim{r, e})
		}
		return err
	})
	if err == nil {
		err = rel.release(claims)
	}
	if err != nil {
		return err
	}
	return j.unmark(markStaging)
}

// A claim is an entry's need of a blob.
type claim struct {
	blobRef
	entry uint64
}

// A releaser takes claims away, and removes the blobs that nobody claims then.
type releaser struct {
	ctx   context.Context
	j     *Journal
	freed *Freed
	held  map[uint64]bool // entries that still claim one of the blobs
}

// release takes the claims away in transactions of bounded size; blobs and
// claims agree after each.
func (r *releaser) release(claims []claim) error {
	for len(claims) > 0 {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		now, left := Freed{}, claims
		err := r.j.update("release", func(w *writer) error {
			for n := 0; len(left) > 0 && n < maxReleases && w.wrote < r.j.opts.batchSize; n++ {
				if err := r.one(w, left[0], &now); err != nil {
					return err
				}
				left = left[1:]
			}
			return nil
		})
		if err != nil {
			return err
		}
		claims = left
		r.freed.Images += now.Images
		r.freed.Bytes += now.Bytes
	}
	return nil
}

// maxReleases is how many claims a transaction takes away.
const maxReleases = 10_000

func (r *releaser) one(w *writer, c claim, freed *Freed) error {
	if err := w.del(bucketRefs, c.key(c.entry)); err != nil {
		return err
	}
	others, err := w.keys(bucketRefs, c.key(), 10)
	if err != nil {
		return err
	}
	for _, key := range others {
		_, other, err := splitRef(key)
		if err != nil {
			return err
		}
		if r.held != nil {
			r.held[other] = true
		}
	}
	if len(others) > 0 {
		return nil
	}
	before := w.wrote
	keys, err := w.keys(c.kind.bucket(), c.hash[:], maxReleases)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := w.del(c.kind.bucket(), key); err != nil {
			return err
		}
	}
	if len(keys) > 0 {
		freed.Images++
		freed.Bytes += int64(w.wrote - before)
	}
	return nil
}
