package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	stdhash "hash"
	"io"
	"reflect"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/fail"
)

// errExport says that an export is not what [Journal.Export] wrote.
var errExport error = fail.New(fail.Unusable, "it was cut, changed, or made by a later mend. Export it again", "it is not as mend exported it")

// VerifyExport checks an export, which needs no journal and no store: that the events are a chain from
// the beginning, that every entry follows from its events, texts and ops, that these have the hashes in the
// events, and that the digests of plans and the images are right. A head, unless it is "", must be in
// the chain. It reads one line at a time, and keeps a few bytes for each entry and each image.
//
// The error wraps errExport and names the first line that is wrong, or errHead.
func VerifyExport(ctx context.Context, r io.Reader, head string) (Report, error) {
	x := exportVerifier{want: strings.ToLower(strings.TrimSpace(head)), images: map[hash]bool{}}
	x.chain.pending = map[uint64]*event{}
	in := json.NewDecoder(r)
	for line := 1; !x.ended; line++ {
		var raw json.RawMessage
		err := ctx.Err()
		if err == nil {
			if err = in.Decode(&raw); errors.Is(err, io.EOF) {
				err = errors.New("the end is missing")
			}
		}
		if err == nil {
			err = x.line(raw)
		}
		if err := ctx.Err(); err != nil {
			return x.report, err
		}
		if err != nil {
			return x.report, fmt.Errorf("line %d: %w: %s", line, errExport, strings.TrimPrefix(err.Error(), ErrDamaged.Error()+": "))
		}
	}
	if _, err := in.Token(); err != io.EOF {
		return x.report, fmt.Errorf("%w: something follows the end", errExport)
	}
	if x.want != "" && !x.found {
		return x.report, fmt.Errorf("%w: %s", errHead, x.want)
	}
	return x.report, nil
}

type exportVerifier struct {
	want   string // the head that must be in the chain
	found  bool
	report Report
	ended  bool

	journal *exportedJournal
	before  hash
	chain   verifier        // the states that follow from the events
	begun   *event          // whose entry must follow
	claims  []exportedClaim // of entry 1 and so on
	images  map[hash]bool   // that are needed and did not come yet
	last    hash            // of the images that came, which are in the order of their hashes
	image   *exportedPiece  // of which more pieces must follow
	sum     stdhash.Hash    // of its image, so far
}

// An exportedClaim is what the line of an entry says, and only later events show.
type exportedClaim struct {
	state     change.State
	undoneBy  string
	resolved  string
	forgotten bool
	noText    bool // a text is missing: it must have been forgotten
	end       *hash
	undoers   []uint64
	how       string // as resolved, from the event
}

func (x *exportVerifier) line(raw []byte) error {
	var kind struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &kind); err != nil {
		return err
	}
	switch {
	case (x.journal == nil) != (kind.Type == "journal"):
		return fmt.Errorf("a line %q, where the line of the journal is wanted first, and once", kind.Type)
	case (x.begun != nil) != (kind.Type == "entry"):
		return fmt.Errorf("a line %q, where the entry of each beginning is wanted behind it", kind.Type)
	}
	switch kind.Type {
	case "journal":
		return x.header(raw)
	case "event":
		return x.event(raw)
	case "entry":
		return x.entry(raw)
	case "image":
		return x.piece(raw)
	case "end":
		return x.end(raw)
	}
	return fmt.Errorf("this mend does not know a line %q", kind.Type)
}

// decodeExact decodes a line that has exactly the members of v.
func decodeExact[T any](raw []byte) (v T, err error) {
	if err := json.Unmarshal(raw, &v); err != nil {
		return v, err
	}
	return v, sameJSON(raw, v)
}

// sameJSON returns an error unless the line is v in JSON.
func sameJSON(raw []byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	var got, want map[string]any
	if err := errors.Join(json.Unmarshal(raw, &got), json.Unmarshal(b, &want)); err != nil {
		return err
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			return fmt.Errorf("%q should not be there, or this mend does not know it", name)
		}
	}
	for name := range want {
		if v, ok := got[name]; !ok || !reflect.DeepEqual(v, want[name]) {
			return fmt.Errorf("%q is not what follows from the events", name)
		}
	}
	return nil
}

func (x *exportVerifier) header(raw []byte) error {
	h, err := decodeExact[exportedJournal](raw)
	if err != nil {
		return err
	}
	if h.Version != exportVersion || h.Format != format {
		return fmt.Errorf("export %d of format %d: this mend knows %d and %d", h.Version, h.Format, exportVersion, format)
	}
	x.journal, x.before = &h, genesis(h.ID)
	x.report.Head = x.before.String()
	x.found = x.want == x.report.Head
	return nil
}

func (x *exportVerifier) event(raw []byte) error {
	line, err := decodeExact[exportedEvent](raw)
	if err != nil {
		return err
	}
	x.report.Events++
	seq := uint64(x.report.Events)
	b := binary.BigEndian.AppendUint64([]byte{eventVersion}, line.Event)
	b = append(append(append(b, line.Before[:]...), line.Payload...), line.Hash[:]...)
	ev, before, sum, err := decodeEvent(seq, b)
	if err != nil {
		return err
	}
	if before != x.before || x.image != nil {
		return fmt.Errorf("event %d does not follow the one before it", seq)
	}
	x.before, x.report.Head = sum, sum.String()
	x.found = x.found || x.want == x.report.Head
	if err := x.chain.apply(ev); err != nil {
		return err
	}
	switch ev.Kind {
	case kindBegin:
		x.begun = ev
	case kindFinish:
		return x.finish(ev)
	case kindResolve:
		x.claims[ev.Entry-1].how = resolvedText(ev.Resolve)
	case kindGC, kindForget:
	}
	return nil
}

func (x *exportVerifier) finish(ev *event) error {
	claim := &x.claims[ev.Entry-1]
	switch want := ev.Finish.Text; {
	case want == nil && claim.end != nil, want != nil && claim.end != nil && *want != *claim.end:
		return fmt.Errorf("the text of the end of entry %d is another", ev.Entry)
	case want != nil && claim.end == nil:
		claim.noText = true
	}
	begin := x.chain.pending[ev.Entry]
	delete(x.chain.pending, ev.Entry)
	if ev.Finish.State == change.Committed {
		for _, of := range begin.revertedEntries() {
			if c := &x.claims[of-1]; !slices.Contains(c.undoers, ev.Entry) {
				c.undoers = append(c.undoers, ev.Entry)
			}
		}
	}
	return nil
}

// entry checks the line of an entry: it is made again from what the hashes in the event show to be right.
func (x *exportVerifier) entry(raw []byte) error {
	var line exportedEntry
	if err := json.Unmarshal(raw, &line); err != nil {
		return err
	}
	begin := x.begun
	x.begun = nil
	st := &entryState{seq: begin.Entry, begin: begin}
	e := newEntry(st)
	e.State, e.UndoneBy, e.Resolved, e.Forgotten = line.State, line.UndoneBy, line.Resolved, line.Forgotten
	claim := exportedClaim{state: line.State, undoneBy: line.UndoneBy, resolved: line.Resolved, forgotten: line.Forgotten}
	var err error
	if e.Ops, err = line.infos(begin.Begin); err != nil {
		return err
	}
	var cause causeText
	if claim.noText, err = decodeText(line.Text, begin.Begin.Text, &cause); err != nil {
		return err
	}
	cause.addTo(&e.Cause)
	if line.End != nil {
		claim.end = new(hash(sha256.Sum256([]byte(*line.End))))
		var end outcomeText
		if _, err := decodeText(line.End, claim.end, &end); err != nil {
			return err
		}
		e.Kept = toStrings(end.Kept)
		if e.Conflicts, err = end.conflicts(); err != nil {
			return err
		}
	}
	if x.journal.Bytes && !line.Forgotten {
		for _, o := range e.Ops {
			for _, d := range [...]*change.Digest{o.Pre, o.Post} {
				if d != nil {
					x.images[d.SHA256] = true
				}
			}
		}
	}
	x.claims = append(x.claims, claim)
	x.report.Entries++
	want := exportEntry(&e)
	want.Text, want.End = line.Text, line.End
	return sameJSON(raw, want)
}

// infos returns the ops, if they are those of the event.
func (e *exportedEntry) infos(begin *beginEvent) ([]change.OpInfo, error) {
	infos := make([]change.OpInfo, len(e.Ops))
	for i, o := range e.Ops {
		var err error
		if infos[i], err = o.info(); err != nil {
			return nil, err
		}
	}
	var lists []hash
	for part := range slices.Chunk(infos, maxOpsPerList) {
		lists = append(lists, sha256.Sum256(encodeOps(part)))
	}
	if len(infos) != begin.Count || !slices.Equal(lists, begin.Ops) {
		return nil, errors.New("the ops are not those of the event")
	}
	if begin.Digest != "" && begin.Digest != change.PlanDigest(infos) {
		return nil, errors.New("the digest is not that of the ops")
	}
	return infos, nil
}

// decodeText decodes a stored text, if it has that hash. It reports whether it is missing.
func decodeText(text *string, want *hash, into any) (missing bool, err error) {
	switch {
	case text == nil:
		return want != nil, nil
	case want == nil || sha256.Sum256([]byte(*text)) != *want:
		return false, errors.New("the text is not that of the event")
	}
	return false, json.Unmarshal([]byte(*text), into)
}

func (x *exportVerifier) piece(raw []byte) error {
	p, err := decodeExact[exportedPiece](raw)
	if err != nil {
		return err
	}
	switch {
	case x.image == nil && (!x.images[p.SHA256] || bytes.Compare(p.SHA256[:], x.last[:]) < 0):
		return fmt.Errorf("image %v is needed by no entry, came before, or is not in its place", p.SHA256)
	case x.image == nil:
		x.image, x.sum = &p, sha256.New()
	}
	at := x.image.At
	if p.SHA256 != x.image.SHA256 || p.Size != x.image.Size || p.At != at {
		return fmt.Errorf("a piece of image %v at %d is wanted", x.image.SHA256, at)
	}
	_, _ = x.sum.Write(p.Data)
	switch x.image.At += uint64(len(p.Data)); {
	case x.image.At < p.Size && len(p.Data) > 0:
		return nil
	case x.image.At != p.Size || !bytes.Equal(x.sum.Sum(nil), p.SHA256[:]):
		return fmt.Errorf("image %v holds other bytes", p.SHA256)
	}
	delete(x.images, p.SHA256)
	x.last = p.SHA256
	x.report.Images, x.report.Bytes, x.image = x.report.Images+1, x.report.Bytes+int64(p.Size), nil
	return nil
}

func (x *exportVerifier) end(raw []byte) error {
	line, err := decodeExact[exportedEnd](raw)
	if err != nil {
		return err
	}
	r := x.report
	switch {
	case line != exportedEnd{"end", r.Events, r.Entries, r.Images, r.Head}:
		return fmt.Errorf("it counts %d events, %d entries, %d images, head %s, want %d, %d, %d, %s", line.Events, line.Entries, line.Images, line.Head, r.Events, r.Entries, r.Images, r.Head)
	case len(x.images) > 0 || x.image != nil:
		return fmt.Errorf("%d images are missing", len(x.images))
	}
	x.ended = true
	undoneBy := make([]uint64, len(x.claims)+1)
	for i, c := range slices.Backward(x.claims) { // an undo comes after what it undoes
		for _, by := range slices.Backward(c.undoers) {
			if undoneBy[by] == 0 {
				undoneBy[i+1] = by
				break
			}
		}
		if err := c.check(x.chain.states[i], undoneBy[i+1]); err != nil {
			return fmt.Errorf("entry %d: %w", i+1, err)
		}
	}
	return nil
}

// check compares a claim with what follows from all events.
func (c *exportedClaim) check(is chainState, by uint64) error {
	undoneBy := ""
	if by != 0 {
		undoneBy = IDOf(by)
	}
	switch {
	case c.state != is.state:
		return fmt.Errorf("it is %s, not %s", is.state, c.state)
	case c.undoneBy != undoneBy:
		return fmt.Errorf("it is undone by %q, not by %q", undoneBy, c.undoneBy)
	case c.resolved != c.how:
		return fmt.Errorf("it was resolved with %q, not %q", c.how, c.resolved)
	case c.forgotten != is.imagesErased:
		return fmt.Errorf("its images were removed: %t, not %t", is.imagesErased, c.forgotten)
	case c.noText && !is.textsErased:
		return errors.New("a text is missing, and was not forgotten")
	}
	return nil
}
