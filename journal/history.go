package journal

import (
	"slices"

	"mend/change"
)

// A history is what the events say of an entry.
type history struct {
	seq     uint64
	begin   *event
	finish  *event
	resolve *event
	gone    bool // the images
	silent  bool // the texts too
	// undoers is the committed entries that took it back, oldest first.
	undoers []uint64
}

func (h *history) state() change.State {
	switch {
	case h.finish == nil:
		return change.Pending
	case h.resolve != nil:
		return change.Resolved
	}
	return h.finish.Finish.State
}

// settled reports whether nothing more can happen to the entry that would need
// its images but an undo.
func (h *history) settled() bool {
	return h.state() != change.Pending && h.state() != change.Conflicted
}

// history reads the events about an entry.
func (s *snapshot) history(seq uint64) (*history, error) {
	h := &history{seq: seq}
	err := s.scan(bucketEntries, u64(seq), nil, func(it item) error {
		n, ok := splitU64(it.key, 2)
		if !ok {
			return damaged("entries has a key %x", it.key)
		}
		if _, err := it.open(bucketEntries); err != nil {
			return err
		}
		ev, err := s.event(n[1])
		if err != nil {
			return err
		}
		return h.add(ev)
	})
	if err != nil {
		return nil, err
	}
	if h.begin == nil {
		return nil, damaged("entry %d has no beginning", seq)
	}
	if h.finish == nil {
		if _, ok, err := s.get(bucketPending, u64(seq)); err != nil {
			return nil, err
		} else if !ok {
			return nil, damaged("entry %d is pending, but not listed so", seq)
		}
	}
	return h, nil
}

// add takes the next event about the entry.
func (h *history) add(ev *event) error {
	own := ev.Entry == h.seq
	switch {
	case h.begin == nil && (!own || ev.Kind != kindBegin):
		return damaged("entry %d does not start with its beginning", h.seq)
	case own && ev.Kind == kindBegin && h.begin == nil:
		h.begin = ev
	case own && ev.Kind == kindFinish && h.finish == nil:
		h.finish = ev
	case own && ev.Kind == kindResolve && h.finish != nil && h.resolve == nil:
		h.resolve = ev
	case ev.Kind == kindGC && ev.touches(h.seq):
		h.gone = true
	case ev.Kind == kindForget && ev.touches(h.seq):
		h.gone, h.silent = true, true
	case !own && ev.Kind == kindBegin && slices.Contains(ev.reverts(), h.seq):
	case !own && ev.Kind == kindFinish && ev.Entry > h.seq:
		if ev.Finish.State == change.Committed {
			h.undoers = append(h.undoers, ev.Entry)
		}
	default:
		return damaged("entry %d has an event that is not about it", h.seq)
	}
	return nil
}

// A deriver answers which entries are undone, asking for each only once.
type deriver struct {
	s    *snapshot
	know map[uint64]uint64
}

// undoneBy is the newest committed entry that takes h back and was not itself
// taken back; 0 if there is none. It only ever asks about later entries, so it
// ends.
func (d *deriver) undoneBy(h *history) (uint64, error) {
	if by, ok := d.know[h.seq]; ok {
		return by, nil
	}
	undoers := slices.Sorted(slices.Values(h.undoers))
	for _, u := range slices.Backward(undoers) {
		by, ok := d.know[u]
		if !ok {
			uh, err := d.s.history(u)
			if err != nil {
				return 0, err
			}
			if by, err = d.undoneBy(uh); err != nil {
				return 0, err
			}
		}
		if by == 0 {
			d.know[h.seq] = u
			return u, nil
		}
	}
	d.know[h.seq] = 0
	return 0, nil
}

// refsOf is the blobs that an entry needs: the lists of ops always, the images
// and texts while they are not gone.
func (j *Journal) refsOf(h *history, images, texts bool) (map[blobRef]bool, error) {
	refs := map[blobRef]bool{}
	for _, list := range h.begin.Begin.Ops {
		refs[blobRef{blobOps, list}] = true
	}
	if images {
		ops, err := j.opInfos(h.begin.Begin)
		if err != nil {
			return nil, err
		}
		for _, o := range ops {
			for _, d := range [...]*change.Digest{o.Pre, o.Post} {
				if d != nil {
					refs[blobRef{blobImage, d.SHA256}] = true
				}
			}
		}
	}
	if texts {
		if t := h.begin.Begin.Text; t != nil {
			refs[blobRef{blobText, *t}] = true
		}
		if h.finish != nil && h.finish.Finish.Text != nil {
			refs[blobRef{blobText, *h.finish.Finish.Text}] = true
		}
	}
	return refs, nil
}
