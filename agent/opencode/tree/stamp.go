package tree

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"time"

	"mend/change"
	"mend/internal/safedir"
)

type stampHasher struct {
	sum     hash.Hash // of the names and file status of all entries
	line    []byte    // the name and file status of one entry
	newest  int64
	unknown bool // an entry could not be read, or has no inode
}

func newStampHasher() *stampHasher { return &stampHasher{sum: sha256.New()} }

// add adds an entry, or the error of reading it.
func (h *stampHasher) add(name string, it *safedir.Entry, err error) {
	if err != nil || it.Exists && it.Ino == 0 {
		h.unknown = true
		return
	}
	h.newest = max(h.newest, it.Mtime, it.Ctime)
	h.line = append(append(h.line[:0], name...), 0)
	for _, n := range [...]uint64{it.Dev, it.Ino, uint64(it.Size), uint64(it.Mtime), uint64(it.Ctime), uint64(it.Mode)} {
		h.line = binary.LittleEndian.AppendUint64(h.line, n)
	}
	h.sum.Write(h.line)
}

// sum returns the stamp, or the zero stamp if the reader has reported an entry that the stamp does not cover.
func (tr *treeReader) sum() change.Stamp {
	if tr.stamp.unknown || !change.OnlyFiles(tr.stray) {
		return change.Stamp{}
	}
	return change.Stamp{Sum: [32]byte(tr.stamp.sum.Sum(nil)), Newest: time.Unix(0, tr.stamp.newest)}
}
