package fsstore

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"mend/session"
)

// A tally is what a stamp is made of.
type tally struct {
	seen   []byte // of every thing its name and what the system tells of it
	newest int64
	vague  bool // something could not be looked at, or says too little
}

// add notes a thing, or that it could not be looked at.
func (t *tally) add(name string, it *thing, err error) {
	if err != nil || it.there && it.ino == 0 {
		t.vague = true
		return
	}
	t.newest = max(t.newest, it.mtime, it.ctime)
	t.seen = append(append(t.seen, name...), 0)
	for _, n := range [...]uint64{it.dev, it.ino, uint64(it.size), uint64(it.mtime), uint64(it.ctime), uint64(it.mode)} {
		t.seen = binary.LittleEndian.AppendUint64(t.seen, n)
	}
}

// join notes what another tally has.
func (t *tally) join(o *tally) {
	t.vague = t.vague || o.vague
	t.newest = max(t.newest, o.newest)
	t.seen = append(binary.LittleEndian.AppendUint64(t.seen, uint64(len(o.seen))), o.seen...)
}

// stamp is the stamp of all that was looked at.
func (v *view) stamp() session.Stamp {
	if v.seen.vague || len(v.stray) > 0 {
		return session.Stamp{}
	}
	return session.Stamp{Sum: sha256.Sum256(v.seen.seen), Newest: time.Unix(0, v.seen.newest)}
}
