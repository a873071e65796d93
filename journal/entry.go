package journal

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"

	"mend/change"
)

// event reads one event.
func (s *snapshot) event(seq uint64) (*event, error) {
	v, ok, err := s.get(bucketEvents, u64(seq))
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, damaged("event %d is missing", seq)
	}
	ev, _, _, err := decodeEvent(seq, v)
	return ev, err
}

// head reads the newest event.
func (s *snapshot) head() (head, error) {
	t, err := s.tree(bucketEvents)
	if err != nil {
		return head{}, err
	}
	it, ok, err := t.last()
	if err != nil || !ok {
		return head{}, err
	}
	seq, ok := splitU64(it.key, 1)
	if !ok {
		return head{}, damaged("events has a key %x", it.key)
	}
	v, err := it.open(bucketEvents)
	if err != nil {
		return head{}, err
	}
	ev, _, sum, err := decodeEvent(seq[0], v)
	if err != nil {
		return head{}, err
	}
	return head{seq: seq[0], hash: sum, begun: ev.Begun, pending: ev.Pending}, nil
}

// lastEntry is the number of the newest entry, 0 if there is none.
func (s *snapshot) lastEntry() (uint64, error) {
	t, err := s.tree(bucketEntries)
	if err != nil {
		return 0, err
	}
	it, ok, err := t.last()
	if err != nil || !ok {
		return 0, err
	}
	n, ok := splitU64(it.key, 2)
	if !ok {
		return 0, damaged("entries has a key %x", it.key)
	}
	return n[0], nil
}

// sessionKey is a key of bysession. The session stands in it as a hash, since
// its name may be anything, and the entry backwards: the newest comes first.
func sessionKey(name []byte, entry uint64) []byte {
	return append(sessionPrefix(name), u64(^entry)...)
}

const sessionPrefixSize = 16

func sessionPrefix(name []byte) []byte {
	sum := sha256.Sum256(name)
	return sum[:sessionPrefixSize:sessionPrefixSize]
}

// entry reads an entry as a caller sees it.
func (j *Journal) entry(seq uint64) (change.Entry, error) {
	h, err := j.snap.history(seq)
	if err != nil {
		return change.Entry{}, err
	}
	return j.describe(h, &deriver{s: j.snap, know: map[uint64]uint64{}})
}

func (j *Journal) describe(h *history, d *deriver) (change.Entry, error) {
	b := h.begin.Begin
	e := change.Entry{
		Seq: h.seq, ID: IDOf(h.seq), Time: h.begin.time(), Version: b.Version,
		Store:   change.StoreID{Kind: b.Store.Kind, Root: string(b.Store.Root), Dev: b.Store.Dev, Ino: b.Store.Ino},
		Dir:     string(b.Dir),
		Session: string(b.Session),
		Cause:   change.Cause{Kind: b.Cause, Entries: b.Of, Partial: b.Partial},
		State:   h.state(), Forgotten: h.gone,
	}
	if r := h.resolve; r != nil {
		e.Resolved = r.Resolve.How
		if by := r.Resolve.By; by != 0 {
			e.Resolved += " by " + IDOf(by)
		}
	}
	by, err := d.undoneBy(h)
	if err != nil {
		return change.Entry{}, err
	}
	if by != 0 {
		e.UndoneBy = IDOf(by)
	}
	if e.Ops, err = j.opInfos(b); err != nil {
		return change.Entry{}, err
	}
	return e, j.addTexts(&e, h)
}

// opInfos reads the lists of ops of an entry.
func (j *Journal) opInfos(b *beginning) ([]change.OpInfo, error) {
	var all []change.OpInfo
	for _, h := range b.Ops {
		list, err := j.codec.readBlob(j.snap, blobRef{blobOps, h})
		if err != nil {
			return nil, err
		}
		ops, err := decodeOps(list)
		if err != nil {
			return nil, err
		}
		all = append(all, ops...)
	}
	if len(all) != b.Count {
		return nil, damaged("an entry has %d ops, want %d", len(all), b.Count)
	}
	return all, nil
}

// addTexts reads what was kept beside the events, unless it was forgotten.
func (j *Journal) addTexts(e *change.Entry, h *history) error {
	if h.silent {
		return nil
	}
	var cause causeText
	if err := j.readText(h.begin.Begin.Text, &cause); err != nil {
		return err
	}
	e.Cause.Text, e.Cause.Diagnoses = string(cause.Text), toStrings(cause.Diagnoses)
	if h.finish == nil {
		return nil
	}
	var end endText
	err := j.readText(h.finish.Finish.Text, &end)
	if err == nil {
		e.Kept = toStrings(end.Kept)
		e.Conflicts, err = end.conflicts()
	}
	return err
}

func (j *Journal) readText(h *hash, into any) error {
	if h == nil {
		return nil
	}
	b, err := j.codec.readBlob(j.snap, blobRef{blobText, *h})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return damaged("text %v: %v", *h, err)
	}
	return nil
}

// entryOfSessionKey is the entry in a key of bysession.
func entryOfSessionKey(key []byte) (uint64, error) {
	if len(key) != sessionPrefixSize+8 {
		return 0, damaged("bysession has a key %x", key)
	}
	return ^binary.BigEndian.Uint64(key[sessionPrefixSize:]), nil
}
