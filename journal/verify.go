package journal

import (
	"fmt"
	"strings"

	"mend/change"
)

// A Report is what Verify went through and found to be in order.
type Report struct {
	Entries int
	Events  int
	Images  int
	Bytes   int64  // of the images, uncompressed
	Head    string // hash of the newest event: a later VerifyHead with it finds a removed tail
	// Unfinished says that a crash cut something, and that the file may hold
	// bytes that were to leave it. The next Open for writing ends it.
	Unfinished bool
}

// Verify goes through the whole journal: every page, every checksum, the chain
// of events from the first to the last, every derived bucket, and the hash of
// every image that was not removed. The error wraps [ErrDamaged] and says what
// it found first. A chain that somebody made anew, hashes and all, needs
// VerifyHead to be found.
func (j *Journal) Verify() (Report, error) {
	return j.VerifyHead("")
}

// VerifyHead is Verify, and also gives an error that wraps [ErrHead] if head, the
// Head of an earlier Report, is not in the chain: then entries were removed from
// its end, or it was made anew. An empty head is none.
func (j *Journal) VerifyHead(head string) (Report, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	v := newVerifier(j, strings.ToLower(strings.TrimSpace(head)))
	err := j.readable()
	if err == nil && j.snap != nil {
		err = v.run()
	}
	if err == nil && v.want != "" && !v.met {
		err = fmt.Errorf("%w: %s", ErrHead, v.want)
	}
	if err != nil {
		return v.report, fmt.Errorf("verifying journal %s: %w", j.path(fileName), err)
	}
	return v.report, nil
}

type verifier struct {
	j      *Journal
	s      *snapshot
	want   string
	met    bool
	report Report

	states  []entryState      // by entry, the first at 0
	pending map[uint64]*event // their begin events
	expect  map[string]int    // how many keys each derived bucket must have

	staging uint64 // the entry whose blobs are unfinished, 0 if none
	erasing *event // the event whose blobs are, nil if none
	claims  int    // in refs, that entries justify
}

// An entryState is what the chain has said of an entry so far.
type entryState struct {
	state        change.State
	gone, silent bool
}

func newVerifier(j *Journal, head string) *verifier {
	return &verifier{j: j, s: j.snap, want: head, expect: map[string]int{}}
}

func (v *verifier) run() error {
	for _, check := range []func() error{
		v.s.checkStructure, v.meta, v.chain, v.derived, v.entries, v.refs, v.blobs,
	} {
		if err := check(); err != nil {
			return err
		}
	}
	v.report.Entries = len(v.states)
	return nil
}

// meta checks that the meta bucket holds what it may.
func (v *verifier) meta() error {
	known := map[string]bool{
		keyFormat: true, keyID: true, keyCreated: true,
		markNew: true, markStaging: true, markErasing: true, markCompact: true,
	}
	err := v.s.scan(bucketMeta, nil, nil, func(it item) error {
		name := string(it.key)
		if !known[name] {
			return damaged("meta has a key %q", it.key)
		}
		v.report.Unfinished = v.report.Unfinished || name == markStaging || name == markErasing || name == markCompact
		_, err := it.open(bucketMeta)
		return err
	})
	if err != nil {
		return err
	}
	if v.staging, _, err = v.j.markNumber(markStaging); err != nil {
		return err
	}
	seq, ok, err := v.j.markNumber(markErasing)
	if err != nil || !ok {
		return err
	}
	if v.erasing, err = v.s.event(seq); err == nil && len(v.erasing.Entries) == 0 {
		err = damaged("event %d removes nothing, but is marked so", seq)
	}
	return err
}

// chain walks the events and checks each against those before it.
func (v *verifier) chain() error {
	before := genesis(v.j.id)
	v.pending = map[uint64]*event{}
	v.met = v.want == before.String()
	v.report.Head = before.String()
	return v.s.scan(bucketEvents, nil, nil, func(it item) error {
		v.report.Events++
		seq := uint64(v.report.Events)
		if n, ok := splitU64(it.key, 1); !ok || n[0] != seq {
			return damaged("events has key %x, want event %d", it.key, seq)
		}
		b, err := it.open(bucketEvents)
		if err != nil {
			return err
		}
		ev, link, sum, err := decodeEvent(seq, b)
		if err != nil {
			return err
		}
		if link != before {
			return damaged("event %d does not follow the one before it", seq)
		}
		before = sum
		v.report.Head = sum.String()
		v.met = v.met || v.want == v.report.Head
		if err := v.apply(ev); err != nil {
			return fmt.Errorf("event %d: %w", seq, err)
		}
		return v.listed(seq, ev)
	})
}

// apply checks that the event may follow, and keeps what it says.
func (v *verifier) apply(ev *event) error {
	switch ev.Kind {
	case kindBegin:
		if ev.Entry != uint64(len(v.states))+1 {
			return damaged("it begins entry %d, want %d", ev.Entry, len(v.states)+1)
		}
		v.states = append(v.states, entryState{state: change.Pending})
		v.pending[ev.Entry] = ev
	case kindFinish:
		if err := v.move(ev.Entry, change.Pending, ev.Finish.State); err != nil {
			return err
		}
	case kindResolve:
		if err := v.move(ev.Entry, change.Conflicted, change.Resolved); err != nil {
			return err
		}
	default:
		if err := v.erased(ev); err != nil {
			return err
		}
	}
	pending := uint64(len(v.pending))
	if ev.Kind == kindFinish {
		pending-- // listed still needs it
	}
	if ev.Begun != uint64(len(v.states)) || ev.Pending != pending {
		return damaged("it counts %d entries, %d pending, want %d and %d", ev.Begun, ev.Pending, len(v.states), pending)
	}
	return nil
}

func (v *verifier) move(entry uint64, from, to change.State) error {
	if entry > uint64(len(v.states)) || v.states[entry-1].state != from {
		return damaged("entry %d is not %s", entry, from)
	}
	v.states[entry-1].state = to
	return nil
}

func (v *verifier) erased(ev *event) error {
	for _, s := range ev.Entries {
		for entry := s[0]; entry <= s[1]; entry++ {
			if entry > uint64(len(v.states)) {
				return damaged("it removes images of entry %d of %d", entry, len(v.states))
			}
			e := &v.states[entry-1]
			if e.state == change.Pending || e.state == change.Conflicted {
				return damaged("it removes images of entry %d, which is %s", entry, e.state)
			}
			e.gone, e.silent = true, e.silent || ev.Kind == kindForget
		}
	}
	return nil
}
