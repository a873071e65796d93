package journal

import "mend/change"

// Ahead begins with the work of the Begin for p that is about to follow, and
// returns at once: it reads what is there and compresses what is not, and writes
// nothing. Until that is done the other methods wait. The images must stay as they
// are.
func (j *Journal) Ahead(p change.Plan) {
	j.mu.Lock()
	go func() {
		defer j.mu.Unlock()
		j.ahead = j.batchAhead(p)
	}()
}

// batchAhead is as much of a batch for the plan as surely goes into one transaction,
// nil where Begin has to see for itself.
func (j *Journal) batchAhead(p change.Plan) *batch {
	if j.usable() != nil {
		return nil
	}
	if _, staged, err := j.mark(markStaging); err != nil || staged {
		return nil
	}
	b := j.newBatch(j.head.begun+1, j.opts.batchSize)
	if b.addAhead(p) != nil {
		return nil
	}
	for r := range b.have {
		b.have[r] = false
	}
	return b
}

func (b *batch) addAhead(p change.Plan) error {
	if text := encodeCause(p.Cause); b.fits(text) {
		if _, err := b.text(text); err != nil {
			return err
		}
	}
	for _, o := range p.Ops {
		for _, i := range []*change.Image{o.Pre, o.Post} {
			if i == nil {
				continue
			}
			if !b.fits(i.Data) {
				return nil
			}
			if _, err := b.image(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// fits reports whether a blob goes into the transaction, however it compresses.
func (b *batch) fits(data []byte) bool {
	keys := int(chunks(uint64(len(data)))) + 1
	return b.size+len(data)+2*keys*putCost <= b.limit
}

// idle reports whether something was added ahead that the entry does not need.
func (b *batch) idle() bool {
	for _, needed := range b.have {
		if !needed {
			return true
		}
	}
	return false
}

// takeAhead is the batch that Ahead made, if the journal is as it was then, and
// else an empty one.
func (j *Journal) takeAhead() *batch {
	b := j.ahead
	j.ahead = nil
	if b == nil || b.since != j.snap.txid {
		return j.newBatch(j.head.begun+1, j.opts.batchSize)
	}
	return b
}
