package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"time"

	"mend/change"
	"mend/internal/boltfile"
)

// A hash is a SHA-256; in JSON it is hexadecimal.
type hash = boltfile.Hash

// eventVersion is the first byte of every event. Frozen.
const eventVersion = 1

// An event is one link of the chain. Fields of type []byte need not be UTF-8 and are stored
// in base64. The names are frozen.
type event struct {
	Kind  eventKind `json:"kind"`
	Sec   int64     `json:"sec"` // time, in seconds and nanoseconds since 1970
	Nsec  int64     `json:"nsec"`
	Entry uint64    `json:"entry,omitempty"` // for begin, finish and resolve

	// Added later, like Digest: older versions of mend ignore it, and their events lack it.
	Actor *change.Actor `json:"actor,omitempty"` // the user and program that appended the event

	Begin   *beginEvent   `json:"begin,omitempty"`
	Finish  *finishEvent  `json:"finish,omitempty"`
	Resolve *resolveEvent `json:"resolve,omitempty"`
	Entries []span        `json:"entries,omitempty"` // for gc and forget, ascending

	// Totals after this event. The derived buckets must agree with them.
	Begun   uint64 `json:"begun"`
	Pending uint64 `json:"pending"`
}

// An eventKind is the kind of an event. Frozen.
type eventKind string

const (
	kindBegin   eventKind = "begin"
	kindFinish  eventKind = "finish"
	kindResolve eventKind = "resolve"
	kindGC      eventKind = "gc"     // the images of the entries are removed
	kindForget  eventKind = "forget" // and also their texts
)

type beginEvent struct {
	Version string           `json:"version"` // version of mend
	Store   storeID          `json:"store"`
	Dir     []byte           `json:"dir,omitempty"`
	Session []byte           `json:"session,omitempty"`
	Cause   change.CauseKind `json:"cause"`
	Of      []uint64         `json:"of,omitempty"`      // the entries that an undo, redo or decision is about
	Partial bool             `json:"partial,omitempty"` // the entries in Of do not count as undone
	Text    *hash            `json:"text,omitempty"`    // the cause's text and diagnoses
	Ops     []hash           `json:"ops"`               // lists of ops, in order
	Count   int              `json:"count"`             // number of ops
	Digest  string           `json:"digest,omitempty"`  // the [change.PlanDigest] of the ops

	Operation uint64  `json:"operation,omitempty"` // the first entry of its operation; 0: this one
	Times     []int64 `json:"times,omitempty"`     // mtime of the file before each op, 0 for none; nil if all are 0

	Append *change.AppendPoint `json:"append,omitempty"` // see [change.Staged]
}

// appendPoint returns where the entry appends, nil if it does not. Events of earlier versions have it in the name of
// the folder, append-{size}-{mtime}.
func (b *beginEvent) appendPoint() *change.AppendPoint {
	if b.Append != nil {
		return b.Append
	}
	var p change.AppendPoint
	name := path.Base(string(b.Dir))
	if _, err := fmt.Sscanf(name, "append-%d-%d", &p.Size, &p.Mtime); err != nil || b.Store.Kind != "lines" {
		return nil
	}
	return &p
}

// isUndo reports whether the entry is an undo or a redo.
func (b *beginEvent) isUndo() bool {
	return b.Cause == change.CauseUndo || b.Cause == change.CauseRedo
}

type storeID struct {
	Kind string `json:"kind"`
	Root []byte `json:"root"`
	Dev  uint64 `json:"dev"`
	Ino  uint64 `json:"ino"`
}

type finishEvent struct {
	State change.State `json:"state"`
	Text  *hash        `json:"text,omitempty"` // conflicts and files kept
}

type resolveEvent struct {
	How string `json:"how"`
	By  uint64 `json:"by,omitempty"` // the entry that carried it out
}

// A span is a range of entries, from the first to the last number, both included.
type span [2]uint64

func (ev *event) time() time.Time { return time.Unix(ev.Sec, ev.Nsec).UTC() }

// erases reports whether a gc or forget event names the entry.
func (ev *event) erases(entry uint64) bool {
	return slices.ContainsFunc(ev.Entries, func(s span) bool { return s[0] <= entry && entry <= s[1] })
}

// erasedEntries returns the entries that a gc or forget event names.
func (ev *event) erasedEntries() (entries []uint64) {
	for _, s := range ev.Entries {
		for entry := s[0]; entry <= s[1]; entry++ {
			entries = append(entries, entry)
		}
	}
	return entries
}

// revertedEntries returns the entries that a begin event reverts completely.
func (ev *event) revertedEntries() []uint64 {
	if b := ev.Begin; b != nil && !b.Partial && b.isUndo() {
		return b.Of
	}
	return nil
}

// encodeEvent returns the stored form of an event, and its hash: version | number u64 | hash of the event before | JSON
// | SHA-256 of everything before it.
func encodeEvent(seq uint64, before hash, ev *event) ([]byte, hash, error) {
	payload, err := json.Marshal(ev)
	if err != nil {
		return nil, hash{}, fmt.Errorf("writing event %d: %w", seq, err)
	}
	b := eventBytes(seq, before, payload)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...), sum, nil
}

// eventBytes returns the stored form of an event without its hash.
func eventBytes(seq uint64, before hash, payload []byte) []byte {
	return slices.Concat([]byte{eventVersion}, boltfile.U64(seq), before[:], payload)
}

// eventHead is the size of the bytes before the JSON of an event.
const eventHead = 1 + 8 + sha256.Size

// checkEvent verifies the hash of event seq, and returns its JSON and the hash.
func checkEvent(seq uint64, b []byte) (payload []byte, sum hash, err error) {
	n := len(b) - sha256.Size
	if n < eventHead || b[0] != eventVersion || binary.BigEndian.Uint64(b[1:]) != seq {
		return nil, sum, damageError("event %d is not an event", seq)
	}
	if sum = sha256.Sum256(b[:n]); !bytes.Equal(sum[:], b[n:]) {
		return nil, sum, damageError("event %d has a wrong hash", seq)
	}
	return b[eventHead:n], sum, nil
}

// decodeEvent decodes event seq. It also returns the hash of the previous event and its own hash.
func decodeEvent(seq uint64, b []byte) (ev *event, before, sum hash, err error) {
	payload, sum, err := checkEvent(seq, b)
	if err != nil {
		return nil, before, sum, err
	}
	copy(before[:], b[eventHead-sha256.Size:])
	ev = new(event)
	if err := json.Unmarshal(payload, ev); err != nil {
		return nil, before, sum, damageError("event %d: %v", seq, err)
	}
	if !ev.valid() {
		return nil, before, sum, damageError("event %d (%q) lacks a field", seq, ev.Kind)
	}
	return ev, before, sum, nil
}

// valid reports whether the event has the fields that its kind requires.
func (ev *event) valid() bool {
	if ev.Nsec < 0 || ev.Nsec >= int64(time.Second) || ev.Entry > ev.Begun || ev.Pending > ev.Begun {
		return false
	}
	switch ev.Kind {
	case kindBegin:
		return ev.Begin != nil && ev.Begin.valid(ev.Entry)
	case kindFinish:
		return ev.Entry > 0 && ev.Finish != nil && ev.Finish.valid()
	case kindResolve:
		return ev.Entry > 0 && ev.Resolve != nil && ev.Resolve.By <= ev.Begun
	case kindGC, kindForget:
		last := uint64(0)
		for _, s := range ev.Entries {
			if s[0] <= last || s[1] < s[0] || s[1] > ev.Begun {
				return false
			}
			last = s[1]
		}
		return last > 0
	}
	return false
}

func (b *beginEvent) valid(entry uint64) bool {
	for _, id := range b.Of {
		if id == 0 || id >= entry { // so that undoResolver terminates
			return false
		}
	}
	return b.Count > 0 && len(b.Ops) > 0 && b.Operation < entry
}

func (e *finishEvent) valid() bool {
	return e.State == change.Committed || e.State == change.Aborted || e.State == change.Conflicted
}

// A chain has what follows from the events up to one of them.
type chain struct {
	begun   uint64            // number of entries
	pending map[uint64]*event // begin events of the pending entries
}

func newChain() chain { return chain{pending: map[uint64]*event{}} }

// add adds the next event and checks its totals. It returns the begin event of the entry of a begin or finish event.
func (c *chain) add(ev *event) (begin *event, err error) {
	if ev.Kind == kindBegin {
		if c.begun++; ev.Entry != c.begun {
			return nil, damageError("it begins entry %d, want %d", ev.Entry, c.begun)
		}
		c.pending[ev.Entry] = ev
	}
	begin = c.pending[ev.Entry]
	if ev.Kind == kindFinish {
		if begin == nil {
			return nil, damageError("entry %d is not %s", ev.Entry, change.Pending)
		}
		delete(c.pending, ev.Entry)
	}
	if pending := uint64(len(c.pending)); ev.Begun != c.begun || ev.Pending != pending {
		return nil, damageError("it counts %d entries, %d pending, want %d and %d", ev.Begun, ev.Pending, c.begun, pending)
	}
	return begin, nil
}

// genesis returns the hash that the first event has in place of the hash of a previous event.
func genesis(id string) hash {
	return sha256.Sum256([]byte("mend journal 1\x00" + id))
}

// spans returns the numbers of the entries as ranges, each number once.
func spans(all []uint64) []span {
	slices.Sort(all)
	var list []span
	for _, seq := range slices.Compact(all) {
		if n := len(list); n > 0 && list[n-1][1] == seq-1 {
			list[n-1][1] = seq
		} else {
			list = append(list, span{seq, seq})
		}
	}
	return list
}
