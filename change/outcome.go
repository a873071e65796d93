package change

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"mend/session"
)

// A StoreID says which store a change belongs to. Kind and Root decide; Dev and
// Inode are for display.
type StoreID struct {
	Kind string // "json" or "sqlite"
	Root string // the canonical absolute path, as bytes: it need not be UTF-8
	Dev  uint64
	Ino  uint64
}

// Same reports whether both name one store.
func (s StoreID) Same(o StoreID) bool {
	return s.Kind == o.Kind && s.Root == o.Root
}

// Staged is what a store's Prepare made ready: everything that Commit, Settle
// and Discard need, also in another process after a crash.
type Staged struct {
	Store StoreID
	Dir   string // the private place of the new contents, below Root; "" where the store needs none
	Ops   []Op   // the plan's, and those that the store added: folders that new files need
}

// A State is how far an entry came. The zero State is invalid.
type State string

// The states of an entry. Their spelling is part of the journal's format.
const (
	Pending    State = "pending"    // begun; the store holds any mixture until it is recovered
	Committed  State = "committed"  // the store held every Post
	Aborted    State = "aborted"    // the store holds what it held before, or what others wrote
	Conflicted State = "conflicted" // others wrote too; what is theirs was left, the rest was put back
	Resolved   State = "resolved"   // a conflict that the user decided
)

// An Outcome is what became of a staged change.
type Outcome struct {
	State     State
	Cause     error // of an Aborted without conflicts: what kept the change from being applied
	Conflicts []Conflict
	Kept      []string // files, below the root, with bytes that another writer put into a file already replaced
}

// A Conflict is a record that does not hold what it should.
type Conflict struct {
	Ref   session.Ref
	Pre   *Image // before the change; nil where the record did not exist
	Post  *Image // what the change wrote, or would have written
	Now   *Image // what the record holds
	Why   string
	Later []string // ids of later repairs that touched the record
}

// A ConflictError says that records do not hold what a plan expects. Nothing
// was changed, or all of it was put back.
type ConflictError struct {
	Conflicts []Conflict
}

func (e *ConflictError) Error() string {
	if len(e.Conflicts) == 0 {
		return "the store changed meanwhile"
	}
	var b strings.Builder
	c := e.Conflicts[0]
	fmt.Fprintf(&b, "%s %s: %s", c.Ref.Kind, c.Ref, c.Why)
	if n := len(e.Conflicts) - 1; n > 0 {
		fmt.Fprintf(&b, " (and %d more)", n)
	}
	return b.String()
}

// An Entry is a change as the journal knows it.
type Entry struct {
	Seq     uint64 // its place in the journal: the order of entries
	ID      string // the repair id, one-to-one with Seq
	Time    time.Time
	Version string // of mend
	Store   StoreID
	Dir     string // of [Staged]
	Session string
	Cause   Cause
	Ops     []OpInfo

	State     State
	Conflicts []ConflictInfo // of an aborted or conflicted entry
	Kept      []string
	UndoneBy  string // the id of the newest committed undo that is in force
	Resolved  string // how and by which entry a conflict was decided
	Forgotten bool   // its images are gone: it can be told of, not undone
}

// Files are the files of the user's own that the entry moved, in the order of its ops.
func (e *Entry) Files() (refs []session.Ref) {
	for _, o := range e.Ops {
		if o.Ref.Kind == session.KindFile {
			refs = append(refs, o.Ref)
		}
	}
	return refs
}

// An OpInfo is an op without the bytes.
type OpInfo struct {
	Ref       session.Ref
	Pre, Post *Digest
}

// A Digest is an image without the bytes.
type Digest struct {
	SHA256 [32]byte
	Size   int64
	Mode   uint32
}

// A ConflictInfo is a conflict without the bytes.
type ConflictInfo struct {
	Ref session.Ref `json:"ref"`
	Why string      `json:"why"`
}

// DigestOf is the digest of an image, nil for none.
func DigestOf(i *Image) *Digest {
	if i == nil {
		return nil
	}
	return &Digest{SHA256: sha256.Sum256(i.Data), Size: int64(len(i.Data)), Mode: uint32(i.Mode)}
}
