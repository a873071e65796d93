package journal

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"io"
	"slices"

	"mend/change"
)

// A batch collects the blobs of one entry and what refers to them, and writes
// them in transactions of bounded size. All but the last leave the mark that
// the entry is being staged, so that a crash leaves nothing for good.
type batch struct {
	j      *Journal
	entry  uint64
	limit  int
	puts   []put
	size   int
	staged bool             // a transaction was written
	have   map[blobRef]bool // what was added
}

type put struct {
	bucket      string
	key, sealed []byte
}

func (j *Journal) newBatch(entry uint64, limit int) *batch {
	return &batch{j: j, entry: entry, limit: limit, have: map[blobRef]bool{}}
}

// putCost is about what a key costs beside its bytes. It also bounds the number
// of keys in a transaction, which bbolt wants below 100,000.
const putCost = 200

// put adds a value, after a flush where the batch would become too large.
func (b *batch) put(bucket string, key, val []byte) error {
	size := len(key) + len(val) + putCost
	if b.size > 0 && b.size+size > b.limit {
		if err := b.flush(); err != nil {
			return err
		}
	}
	b.puts = append(b.puts, put{bucket: bucket, key: key, sealed: seal(bucket, key, val)})
	b.size += size
	return nil
}

// blob adds a blob, unless it is in the journal already; then what is there is
// read once more, since it is about to be all that is left of the record.
func (b *batch) blob(kind blobKind, data []byte) (hash, error) {
	r := blobRef{kind: kind, hash: sha256.Sum256(data)}
	if b.have[r] {
		return r.hash, nil
	}
	b.have[r] = true
	_, stored, err := b.j.snap.get(kind.bucket(), r.hash[:])
	if err != nil {
		return r.hash, err
	}
	if err := b.put(bucketRefs, r.key(b.entry), nil); err != nil { // first: it leads the clean-up to the rest
		return r.hash, err
	}
	if stored {
		_, err = b.j.codec.copyBlob(io.Discard, b.j.snap, r)
		return r.hash, err
	}
	return r.hash, b.j.codec.writeBlob(r.hash, data, func(key, val []byte) error {
		return b.put(kind.bucket(), key, val)
	})
}

// flush writes what was collected, marked as not begun.
func (b *batch) flush() error {
	err := b.j.update("blobs", func(w *writer) error {
		if err := w.put(bucketMeta, []byte(markStaging), u64(b.entry)); err != nil {
			return err
		}
		return b.writeTo(w)
	})
	b.staged = b.staged || err == nil
	b.puts, b.size = nil, 0
	return err
}

// writeTo puts everything in the order of the keys, which suits bbolt.
func (b *batch) writeTo(w *writer) error {
	slices.SortFunc(b.puts, func(x, y put) int {
		return cmp.Or(cmp.Compare(x.bucket, y.bucket), bytes.Compare(x.key, y.key))
	})
	for _, p := range b.puts {
		if err := w.putSealed(p.bucket, p.key, p.sealed); err != nil {
			return err
		}
	}
	return nil
}

// commit writes the rest together with the event.
func (b *batch) commit(what string, ev *event, about ...uint64) error {
	return b.j.update(what, func(w *writer) error {
		if err := b.writeTo(w); err != nil {
			return err
		}
		if b.staged {
			if err := w.del(bucketMeta, []byte(markStaging)); err != nil {
				return err
			}
		}
		return w.event(b.j, ev, about...)
	})
}

// drop removes what was written of an entry that could not be begun.
func (b *batch) drop() error {
	if !b.staged || b.j.dead != nil {
		return nil
	}
	return b.j.clean(b.j.tidyStaging)
}

// ops adds the images and the lists of ops, and returns the hashes of the lists.
func (b *batch) ops(ops []change.Op) ([]hash, error) {
	var lists []hash
	for part := range slices.Chunk(ops, opsInList) {
		infos := make([]change.OpInfo, len(part))
		for i, o := range part {
			pre, err := b.image(o.Pre)
			if err != nil {
				return nil, err
			}
			post, err := b.image(o.Post)
			if err != nil {
				return nil, err
			}
			infos[i] = change.OpInfo{Ref: o.Ref, Pre: pre, Post: post}
		}
		h, err := b.blob(blobOps, encodeOps(infos))
		if err != nil {
			return nil, err
		}
		lists = append(lists, h)
	}
	return lists, nil
}

func (b *batch) image(i *change.Image) (*change.Digest, error) {
	if i == nil {
		return nil, nil
	}
	h, err := b.blob(blobImage, i.Data)
	return digest(i, h), err
}

// text adds free text, where there is any.
func (b *batch) text(data []byte) (*hash, error) {
	if data == nil {
		return nil, nil
	}
	h, err := b.blob(blobText, data)
	return &h, err
}
