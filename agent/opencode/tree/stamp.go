package tree

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"mend/change"
	"mend/internal/safedir"
)

// A stampHasher computes a stamp.
type stampHasher struct {
	data    []byte // name and file status of every entry
	newest  int64
	unknown bool // an entry could not be read, or has no inode
}

// add adds an entry, or the error of reading it.
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

// next returns the hash of the entries added since the last call.
func (h *stampHasher) next() [sha256.Size]byte {
	sum := sha256.Sum256(h.data)
	h.data = h.data[:0]
	return sum
}

// join adds the newest time of another hasher, and whether its stamp is unknown.
func (h *stampHasher) join(o *stampHasher) {
	h.unknown = h.unknown || o.unknown
	h.newest = max(h.newest, o.newest)
}

// sum returns the stamp, or the zero stamp if something was reported that it does not cover.
func (tr *treeReader) sum() change.Stamp {
	if tr.stamp.unknown || !change.OnlyFiles(tr.stray) {
		return change.Stamp{}
	}
	return change.Stamp{Sum: sha256.Sum256(tr.stamp.data), Newest: time.Unix(0, tr.stamp.newest)}
}

// State returns the zero stamp: only the files themselves show whether a tree changed.
func (s *Store) State(context.Context) (change.Stamp, error) { return change.Stamp{}, nil }
