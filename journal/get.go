package journal

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"mend/change"
	"mend/session"
)

// Get is the entry whose id begins with prefix. The error wraps [ErrNotFound],
// or is an [*AmbiguousError] where several do and none is equal to it.
func (j *Journal) Get(prefix string) (change.Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.readable(); err != nil {
		return change.Entry{}, err
	}
	seq, err := j.resolveID(prefix)
	if err != nil {
		return change.Entry{}, err
	}
	e, err := j.entry(seq)
	if err != nil {
		return change.Entry{}, fmt.Errorf("reading repair %s: %w", IDOf(seq), err)
	}
	return e, nil
}

func (j *Journal) resolveID(prefix string) (uint64, error) {
	if seq, ok := SeqOf(prefix); ok && seq > 0 && seq <= j.head.begun {
		return seq, nil
	}
	var found []uint64
	for seq := j.head.begun; seq > 0 && prefix != ""; seq-- {
		if strings.HasPrefix(IDOf(seq), prefix) {
			found = append(found, seq)
		}
	}
	switch len(found) {
	case 0:
		return 0, fmt.Errorf("%q: %w", prefix, ErrNotFound)
	case 1:
		return found[0], nil
	}
	ids := make([]string, len(found))
	for i, seq := range found {
		ids[i] = IDOf(seq)
	}
	return 0, &AmbiguousError{Prefix: prefix, IDs: ids}
}

// known reads the history of an entry that a caller has.
func (j *Journal) known(e change.Entry) (*history, error) {
	if err := j.readable(); err != nil {
		return nil, err
	}
	if e.Seq == 0 || e.Seq > j.head.begun || e.ID != IDOf(e.Seq) {
		return nil, fmt.Errorf("%q: %w", e.ID, ErrNotFound)
	}
	return j.snap.history(e.Seq)
}

// ListByRecord is the committed entries after entry number after that changed the
// record, newest first; where that number is an entry's, only those of its store.
func (j *Journal) ListByRecord(ref session.Ref, after uint64) ([]change.Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	all, err := j.touching(ref, after)
	if err != nil {
		return nil, fmt.Errorf("looking for repairs of %s: %w", ref, err)
	}
	return all, nil
}

func (j *Journal) touching(ref session.Ref, after uint64) ([]change.Entry, error) {
	q := Query{State: change.Committed}
	if err := j.readable(); err != nil {
		return nil, err
	}
	if after > 0 && after <= j.head.begun {
		h, err := j.snap.history(after)
		if err != nil {
			return nil, err
		}
		s := h.begin.Begin.Store
		q.Store = &change.StoreID{Kind: s.Kind, Root: string(s.Root)}
	}
	var all []change.Entry
	d := &deriver{s: j.snap, know: map[uint64]uint64{}}
	for seq := j.head.begun; seq > after; seq-- {
		h, err := j.snap.history(seq)
		if err != nil {
			return nil, err
		}
		if !q.chooses(h) {
			continue
		}
		e, err := j.describe(h, d)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(e.Ops, func(o change.OpInfo) bool { return o.Ref == ref }) {
			all = append(all, e)
		}
	}
	return all, nil
}

// Ops is the ops of an entry with their images, byte for byte. The error wraps
// [ErrForgotten] where they were removed, and [ErrDamaged] where one does not
// match its hash.
func (j *Journal) Ops(e change.Entry) ([]change.Op, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	ops, err := j.ops(e)
	if err != nil {
		return nil, fmt.Errorf("reading the images of repair %s: %w", e.ID, err)
	}
	return ops, nil
}

func (j *Journal) ops(e change.Entry) ([]change.Op, error) {
	h, err := j.known(e)
	if err != nil {
		return nil, err
	}
	if h.gone {
		return nil, ErrForgotten
	}
	infos, err := j.opInfos(h.begin.Begin)
	if err != nil {
		return nil, err
	}
	r := imageReader{j: j, have: map[hash][]byte{}}
	ops := make([]change.Op, len(infos))
	for i, o := range infos {
		ops[i].Ref = o.Ref
		if ops[i].Pre, err = r.image(o.Pre); err != nil {
			return nil, err
		}
		if ops[i].Post, err = r.image(o.Post); err != nil {
			return nil, err
		}
	}
	return ops, nil
}

// An imageReader reads images, each content once.
type imageReader struct {
	j    *Journal
	have map[hash][]byte
}

func (r imageReader) image(d *change.Digest) (*change.Image, error) {
	if d == nil {
		return nil, nil
	}
	data, ok := r.have[d.SHA256]
	if !ok {
		var err error
		if data, err = r.j.codec.readBlob(r.j.snap, blobRef{blobImage, d.SHA256}); err != nil {
			return nil, err
		}
		r.have[d.SHA256] = data
	}
	if int64(len(data)) != d.Size {
		return nil, damaged("an image has %d bytes, want %d", len(data), d.Size)
	}
	return &change.Image{Data: data, Mode: fs.FileMode(d.Mode)}, nil
}
