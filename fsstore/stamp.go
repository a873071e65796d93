package fsstore

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"mend/internal/safedir"
	"mend/session"
)

// A tally is what a stamp is made of.
type tally struct {
	seen   []byte // of every thing its name and what the system tells of it
	newest int64
	vague  bool // something could not be looked at, or says too little
}

// add notes a thing, or that it could not be looked at.
func (t *tally) add(name string, it *safedir.Entry, err error) {
	if err != nil || it.Exists && it.Ino == 0 {
		t.vague = true
		return
	}
	t.newest = max(t.newest, it.Mtime, it.Ctime)
	t.seen = append(append(t.seen, name...), 0)
	for _, n := range [...]uint64{it.Dev, it.Ino, uint64(it.Size), uint64(it.Mtime), uint64(it.Ctime), uint64(it.Mode)} {
		t.seen = binary.LittleEndian.AppendUint64(t.seen, n)
	}
}

// take is the checksum of what was seen since the last time it was asked for.
func (t *tally) take() [sha256.Size]byte {
	sum := sha256.Sum256(t.seen)
	t.seen = t.seen[:0]
	return sum
}

// join notes what another tally has, but for what was seen.
func (t *tally) join(o *tally) {
	t.vague = t.vague || o.vague
	t.newest = max(t.newest, o.newest)
}

// stamp is the stamp of all that was looked at.
func (v *view) stamp() session.Stamp {
	if v.seen.vague || len(v.stray) > 0 {
		return session.Stamp{}
	}
	return session.Stamp{Sum: sha256.Sum256(v.seen.seen), Newest: time.Unix(0, v.seen.newest)}
}

// State is the zero stamp: that a tree has not changed takes a look at every file.
func (s *Store) State(context.Context) (session.Stamp, error) { return session.Stamp{}, nil }
