package journal

import (
	"errors"
	"fmt"
	"math"

	"mend/change"
)

// Begin writes a new entry, pending, with everything that recovery and undo
// need: the ops are those of s, session and cause those of p. When it returns
// without an error the entry is durable. After an error there is no entry, unless
// it wraps [ErrUnsure]: then the next Open may show one, as pending, and the id
// that it would have comes with the error.
func (j *Journal) Begin(p change.Plan, s change.Staged) (change.Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, err := j.begin(p, s)
	if err != nil {
		return e, fmt.Errorf("beginning a repair: %w", err)
	}
	return e, nil
}

func (j *Journal) begin(p change.Plan, s change.Staged) (change.Entry, error) {
	if err := j.usable(); err != nil {
		return change.Entry{}, err
	}
	if err := change.Validate(s.Ops); err != nil {
		return change.Entry{}, err
	}
	for _, of := range p.Cause.Entries {
		if of == 0 || of > j.head.begun {
			return change.Entry{}, fmt.Errorf("entry %d: %w", of, ErrNotFound)
		}
	}
	if err := j.tidyStaging(); err != nil {
		return change.Entry{}, err
	}
	b := j.newBatch(j.head.begun+1, j.opts.batchSize)
	ev, err := b.beginning(p, s)
	if err == nil {
		err = b.commit("begin", ev, about(ev)...)
	}
	switch {
	case errors.Is(err, ErrUnsure):
		return change.Entry{Seq: b.entry, ID: IDOf(b.entry)}, err
	case err != nil:
		return change.Entry{}, errors.Join(err, b.drop())
	}
	return j.entry(ev.Entry)
}

// beginning adds the blobs of a begin event to the batch and makes the event.
func (b *batch) beginning(p change.Plan, s change.Staged) (*event, error) {
	ops, err := b.ops(s.Ops)
	if err != nil {
		return nil, err
	}
	text, err := b.text(encodeCause(p.Cause))
	if err != nil {
		return nil, err
	}
	return &event{Kind: kindBegin, Entry: b.entry, Begin: &beginning{
		Version: b.j.opts.Version,
		Store:   storeID{Kind: s.Store.Kind, Root: []byte(s.Store.Root), Dev: s.Store.Dev, Ino: s.Store.Ino},
		Dir:     []byte(s.Dir),
		Session: []byte(p.Session),
		Cause:   p.Cause.Kind,
		Of:      p.Cause.Entries,
		Partial: p.Cause.Partial,
		Text:    text,
		Ops:     ops,
		Count:   len(s.Ops),
	}}, nil
}

// about is the entries in whose lists a begin event stands: its own, and those
// that it takes back. A finish event stands in the same.
func about(begin *event) []uint64 {
	entries := []uint64{begin.Entry}
	seen := map[uint64]bool{}
	for _, of := range begin.reverts() {
		if !seen[of] {
			seen[of] = true
			entries = append(entries, of)
		}
	}
	return entries
}

// Finish writes what became of a pending entry: committed, aborted or
// conflicted. The error is a [*StateError] if the entry is not pending.
func (j *Journal) Finish(e change.Entry, o change.Outcome) (change.Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, err := j.finish(e, o)
	if err != nil {
		return change.Entry{}, fmt.Errorf("finishing a repair: %w", err)
	}
	return e, nil
}

func (j *Journal) finish(e change.Entry, o change.Outcome) (change.Entry, error) {
	h, err := j.stateOf(e, change.Pending)
	if err != nil {
		return change.Entry{}, err
	}
	ev := &event{Kind: kindFinish, Entry: h.seq, Finish: &ending{State: o.State}}
	if !ev.Finish.valid() {
		return change.Entry{}, fmt.Errorf("%q is no state to finish in", o.State)
	}
	b := j.newBatch(h.seq, math.MaxInt)
	if ev.Finish.Text, err = b.text(encodeEnd(o)); err != nil {
		return change.Entry{}, err
	}
	if err := b.commit("finish", ev, about(h.begin)...); err != nil {
		return change.Entry{}, err
	}
	return j.entry(h.seq)
}

// Resolve writes how the user decided a conflicted entry: keep, back or
// forward, and the id of the entry that did it, which keep has not. The error is
// a [*StateError] if the entry is not conflicted.
func (j *Journal) Resolve(e change.Entry, how, by string) (change.Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	e, err := j.resolve(e, how, by)
	if err != nil {
		return change.Entry{}, fmt.Errorf("resolving a repair: %w", err)
	}
	return e, nil
}

func (j *Journal) resolve(e change.Entry, how, by string) (change.Entry, error) {
	h, err := j.stateOf(e, change.Conflicted)
	if err != nil {
		return change.Entry{}, err
	}
	d := &decision{How: how}
	switch how {
	case "keep", "back", "forward":
	default:
		return change.Entry{}, fmt.Errorf("%q is no decision", how)
	}
	if by != "" {
		seq, ok := SeqOf(by)
		if !ok || seq <= h.seq || seq > j.head.begun {
			return change.Entry{}, fmt.Errorf("by %q: %w", by, ErrNotFound)
		}
		d.By = seq
	}
	err = j.update("resolve", func(w *writer) error {
		return w.event(j, &event{Kind: kindResolve, Entry: h.seq, Resolve: d}, h.seq)
	})
	if err != nil {
		return change.Entry{}, err
	}
	return j.entry(h.seq)
}

// stateOf reads the history of e anew and checks its state.
func (j *Journal) stateOf(e change.Entry, want change.State) (*history, error) {
	if err := j.usable(); err != nil {
		return nil, err
	}
	h, err := j.known(e)
	if err != nil {
		return nil, err
	}
	if h.state() != want {
		return nil, &StateError{ID: IDOf(h.seq), State: h.state(), Want: want}
	}
	return h, nil
}
