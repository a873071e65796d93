package tree

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"mend/internal/safedir"
	"mend/session"
)

// A tally is what a stamp is made of.
type stampHasher struct {
	data    []byte // of every thing its name and what the system tells of it
	newest  int64
	unknown bool // something could not be looked at, or says too little
}

// add notes a thing, or that it could not be looked at.
func (h *stampHasher) add(name string, it *safedir.Entry, err error) {
	if err != nil || it.Exists && it.Ino == 0 {
		h.unknown = true
		return
	}
	h.newest = max(h.newest, it.Mtime, it.Ctime)
	h.data = append(append(h.data, name...), 0)
	for _, n := range [...]uint64{it.Dev, it.Ino, uint64(it.Size), uint64(it.Mtime), uint64(it.Ctime), uint64(it.Mode)} {
		h.data = binary.LittleEndian.AppendUint64(h.data, n)
	}
}

// next is the checksum of what was seen since the last time it was asked for.
func (h *stampHasher) next() [sha256.Size]byte {
	sum := sha256.Sum256(h.data)
	h.data = h.data[:0]
	return sum
}

// join notes what another tally has, but for what was seen.
func (h *stampHasher) join(o *stampHasher) {
	h.unknown = h.unknown || o.unknown
	h.newest = max(h.newest, o.newest)
}

// sum is the stamp of all that was looked at.
func (tr *treeReader) sum() session.Stamp {
	if tr.stamp.unknown || len(tr.stray) > 0 {
		return session.Stamp{}
	}
	return session.Stamp{Sum: sha256.Sum256(tr.stamp.data), Newest: time.Unix(0, tr.stamp.newest)}
}

// State is the zero stamp: that a tree has not changed takes a look at every file.
func (s *Store) State(context.Context) (session.Stamp, error) { return session.Stamp{}, nil }
