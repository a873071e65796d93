package journal

import (
	"bytes"
	"io"
)

// listed checks that the derived buckets have the keys that follow from the
// event, and counts them.
func (v *verifier) listed(seq uint64, ev *event) error {
	var list []uint64
	switch ev.Kind {
	case kindBegin:
		list = about(ev)
		v.expect[bucketBySession]++
		if err := v.has(bucketBySession, sessionKey(ev.Begin.Session, ev.Entry)); err != nil {
			return err
		}
	case kindFinish:
		list = about(v.pending[ev.Entry])
		delete(v.pending, ev.Entry)
	case kindResolve:
		list = []uint64{ev.Entry}
	default:
		for _, s := range ev.Entries {
			for entry := s[0]; entry <= s[1]; entry++ {
				list = append(list, entry)
			}
		}
	}
	for _, entry := range list {
		v.expect[bucketEntries]++
		if err := v.has(bucketEntries, u64(entry, seq)); err != nil {
			return err
		}
	}
	return nil
}

// has checks that the bucket has the key, with an empty value.
func (v *verifier) has(bucket string, key []byte) error {
	val, ok, err := v.s.get(bucket, key)
	if err == nil && (!ok || len(val) > 0) {
		err = damaged("%s lacks the key %x", bucket, key)
	}
	return err
}

// derived checks that the derived buckets have no other keys.
func (v *verifier) derived() error {
	v.expect[bucketPending] = len(v.pending)
	for entry := range v.pending {
		if err := v.has(bucketPending, u64(entry)); err != nil {
			return err
		}
	}
	for _, name := range []string{bucketPending, bucketEntries, bucketBySession} {
		n, err := v.s.count(name)
		if err != nil {
			return err
		}
		if n != v.expect[name] {
			return damaged("%s has %d keys, want %d", name, n, v.expect[name])
		}
	}
	return nil
}

// entries reads every entry as a caller would, and checks that it claims the
// blobs it needs.
func (v *verifier) entries() error {
	d := &deriver{s: v.s, know: map[uint64]uint64{}}
	for i, state := range v.states {
		h, err := v.s.history(uint64(i) + 1)
		if err != nil {
			return err
		}
		if h.state() != state.state || h.gone != state.gone || h.silent != state.silent {
			return damaged("entry %d is %s, want %s", h.seq, h.state(), state.state)
		}
		if _, err := v.j.describe(h, d); err != nil {
			return err
		}
		refs, err := v.j.refsOf(h, !h.gone, !h.silent)
		if err != nil {
			return err
		}
		v.claims += len(refs)
		for r := range refs {
			if err := v.has(bucketRefs, r.key(h.seq)); err != nil {
				return err
			}
		}
	}
	return nil
}

// refs checks that nothing else is claimed, and that what is claimed is there.
func (v *verifier) refs() error {
	if n := uint64(len(v.states)) + 1; v.staging != 0 && v.staging != n {
		return damaged("entry %d is being staged, want %d", v.staging, n)
	}
	var last blobRef
	err := v.s.scan(bucketRefs, nil, nil, func(it item) error {
		r, entry, err := splitRef(it.key)
		if err != nil {
			return err
		}
		if _, err := it.open(bucketRefs); err != nil {
			return err
		}
		if v.unfinished(r, entry) {
			return nil
		}
		v.claims--
		if r == last {
			return nil
		}
		last = r
		size, err := v.j.codec.copyBlob(io.Discard, v.s, r)
		if err == nil && r.kind == blobImage {
			v.report.Images++
			v.report.Bytes += int64(size)
		}
		return err
	})
	if err == nil && v.claims != 0 {
		err = damaged("refs has %d keys too many", -v.claims)
	}
	return err
}

// unfinished reports whether a claim is one that cut work has still to remove.
func (v *verifier) unfinished(r blobRef, entry uint64) bool {
	if entry == v.staging && entry != 0 {
		return true
	}
	if v.erasing == nil || !v.erasing.touches(entry) {
		return false
	}
	return r.kind == blobImage || r.kind == blobText && v.erasing.Kind == kindForget
}

// blobs checks that every blob is claimed and has no chunks too many.
func (v *verifier) blobs() error {
	for _, kind := range []blobKind{blobImage, blobOps, blobText} {
		var last []byte
		var left uint64
		err := v.s.scan(kind.bucket(), nil, nil, func(it item) error {
			if len(it.key) != len(hash{}) && len(it.key) != len(hash{})+4 {
				return damaged("%s has a key %x", kind.bucket(), it.key)
			}
			r := blobRef{kind: kind, hash: hash(it.key)}
			claims, staged, err := v.claimed(r)
			switch {
			case err != nil:
				return err
			case claims == 0:
				return damaged("%s %v is needed by no entry", kind.bucket(), r.hash)
			case staged:
				return nil
			}
			if len(it.key) == len(hash{}) { // the head: copyBlob found its chunks
				head, err := it.open(kind.bucket())
				last, left = it.key, chunks(blobSize(head))-1
				return err
			}
			if !bytes.Equal(last, r.hash[:]) || left == 0 {
				return damaged("%s has a chunk %x too many", kind.bucket(), it.key)
			}
			left--
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// claimed is how many entries claim the blob, and whether it is only the one
// that is being staged.
func (v *verifier) claimed(r blobRef) (n int, staged bool, err error) {
	staged = true
	err = v.s.scan(bucketRefs, r.key(), nil, func(it item) error {
		_, entry, err := splitRef(it.key)
		n++
		if staged = staged && entry == v.staging && entry != 0; !staged {
			return errStop
		}
		return err
	})
	return n, staged, err
}
