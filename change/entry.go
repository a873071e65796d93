package change

import (
	"crypto/sha256"
	"slices"
	"time"
)

// An Entry is a change as the journal records it.
type Entry struct {
	Seq     uint64 // its number in the journal, from 1: the order of entries
	ID      string // the repair id, which follows from Seq
	Time    time.Time
	Version string // the version of mend
	Actor   *Actor // who made it; nil in the entries of older versions
	Digest  string // the [PlanDigest] of its ops; "" in the entries of older versions
	Store   StoreID
	Dir     string       // see [Staged]
	Append  *AppendPoint // see [Staged]
	Session string
	// Operation is the number of the first entry of the same run of mend: its own number if it is the first or the only
	// entry, and in entries of older versions.
	Operation uint64
	Cause     Cause
	Ops       []OpInfo

	State     State
	Conflicts []ConflictInfo // set if the entry is aborted or conflicted
	Kept      []string
	UndoneBy  string // the id of the newest committed undo that is not itself undone
	Resolved  string // how and by which entry a conflict was resolved
	Forgotten bool   // its images were removed: it cannot be undone
	Erased    bool   // its texts were removed, too
	Damage    string // its part that cannot be read; the State is then Unknown
}

// Staged returns the result of Prepare for the entry, with the ops from the journal and the current identity of the
// store.
func (e *Entry) Staged(store StoreID, ops []Op) Staged {
	return Staged{Store: store, Dir: e.Dir, Append: e.Append, Ops: ops}
}

// IsUndo reports whether the entry is an undo. A restore of an earlier state also reverts entries, but is not an undo:
// its cause has a text or, in entries of older versions of mend, its actor has the verb restore.
func (e *Entry) IsUndo() bool {
	return e.Cause.Kind == CauseUndo && e.Cause.Text == "" && (e.Actor == nil || e.Actor.Verb != "restore")
}

// Files returns the refs of the user's own files that the entry moved, in the order of its ops.
func (e *Entry) Files() (refs []Ref) {
	for _, o := range e.Ops {
		if o.Ref.Kind == KindFile {
			refs = append(refs, o.Ref)
		}
	}
	return refs
}

// KeepsFiles reports whether gc must keep the bytes of a change, because it removed one of the user's own files or a
// whole database. A clean is excluded: the user ran it to free space.
func KeepsFiles(cause CauseKind, ops []OpInfo) bool {
	return cause != CauseClean && slices.ContainsFunc(ops, func(o OpInfo) bool { return o.Ref.Kind.Own() })
}

// KeepsFiles reports whether gc must keep the bytes of the entry.
func (e *Entry) KeepsFiles() bool { return KeepsFiles(e.Cause.Kind, e.Ops) }

// Kind returns the kind of whole files or folders that the entry changed, the zero Kind if it changed records.
func (e *Entry) Kind() Kind {
	if len(e.Ops) == 0 || !e.Ops[0].Ref.Kind.WholeFiles() {
		return 0
	}
	return e.Ops[0].Ref.Kind
}

// Blocks reports whether the entry and the plan change the same session or record, or the entry changes the whole
// store.
func (e *Entry) Blocks(p Plan) bool {
	own := e.refs()
	return e.Kind().Whole() || e.Session == p.Session || slices.ContainsFunc(p.Ops, func(o Op) bool { return own[o.Ref] })
}

// Shares reports whether both entries change the same session or record, or e changes the whole store.
func (e *Entry) Shares(o Entry) bool {
	own := e.refs()
	return e.Kind().Whole() || e.Session == o.Session || slices.ContainsFunc(o.Ops, func(o OpInfo) bool { return own[o.Ref] })
}

// refs returns the set of the records that the entry changed.
func (e *Entry) refs() map[Ref]bool {
	refs := make(map[Ref]bool, len(e.Ops))
	for _, o := range e.Ops {
		refs[o.Ref] = true
	}
	return refs
}

// A StoreID identifies a store. Kind and Root are compared; Dev and Ino identify a store that was moved.
type StoreID struct {
	Agent string // the name of the agent that the store belongs to
	Kind  string // "json", "sqlite" or "lines"
	Root  string // the canonical absolute path; it need not be UTF-8
	Dev   uint64
	Ino   uint64
}

// Same reports whether both identify the same store.
func (s StoreID) Same(o StoreID) bool {
	return s.Kind == o.Kind && s.Root == o.Root
}

// An OpInfo is an op without the bytes of its images.
type OpInfo struct {
	Ref       Ref
	Pre, Post *Digest
}

// A Digest is an image without its bytes.
type Digest struct {
	SHA256 Hash   `json:"sha256"`
	Size   int64  `json:"size"`
	Mode   uint32 `json:"mode"` // the bits of [io/fs.FileMode]; 0 for a row
}

// DigestOf returns the digest of an image, or nil for nil.
func DigestOf(i *Image) *Digest {
	if i == nil {
		return nil
	}
	return &Digest{SHA256: sha256.Sum256(i.Data), Size: int64(len(i.Data)), Mode: uint32(i.Mode)}
}

// Equal reports whether both digests are of equal images, or both are nil.
func (d *Digest) Equal(o *Digest) bool {
	if d == nil || o == nil {
		return d == o
	}
	return *d == *o
}

// A ConflictInfo is a conflict without its images.
type ConflictInfo struct {
	Ref Ref    `json:"ref"`
	Why string `json:"why"`
}

// An Actor identifies who made a change, and through which channel. Unknown fields are empty: entries of
// older versions have no actor at all. The names are part of the journal's format.
type Actor struct {
	User         string  `json:"user,omitempty"`
	UID          int     `json:"uid"` // -1 where users have no numbers
	Host         string  `json:"host,omitempty"`
	PID          int     `json:"pid,omitempty"`
	Channel      Channel `json:"channel,omitempty"`
	Verb         string  `json:"verb,omitempty"`         // the verb of mend, such as fix
	Agent        string  `json:"agent,omitempty"`        // the agent that the store belongs to
	AgentVersion string  `json:"agentVersion,omitempty"` // the version of the agent that the change was made for
}

// A Channel is how mend was started.
type Channel string

// The channels. Their spelling is part of the journal's format.
const (
	ChannelCommand Channel = "command" // a person, or a script
	ChannelPlugin  Channel = "plugin"  // of OpenCode
	ChannelHook    Channel = "hook"    // of Claude Code
	ChannelWatch   Channel = "watch"
)

// Channels lists all channels.
var Channels = []Channel{ChannelCommand, ChannelPlugin, ChannelHook, ChannelWatch}
