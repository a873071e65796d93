package journal

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"time"

	"mend/change"
	"mend/internal/boltfile"
)

// An export is JSON Lines: one "journal"; the events in their order, each "event" that begins an
// entry followed by that "entry"; with bytes the "image"s, each in pieces; and one "end".
// docs/audit.md says what an auditor does with it.

// exportVersion is raised if a member is removed or changes its meaning.
const exportVersion = 1

type exportedJournal struct {
	Type    string `json:"type"` // journal
	Version int    `json:"exportVersion"`
	Format  int    `json:"format"` // of the journal
	ID      string `json:"id"`     // the hash before the first event follows from it
	Bytes   bool   `json:"bytes"`  // the images follow
}

type exportedEvent struct {
	Type    string `json:"type"` // event
	Event   uint64 `json:"event"`
	Before  hash   `json:"before"`  // of the event before
	Hash    hash   `json:"hash"`    // of 1 | event u64 | before | payload
	Payload string `json:"payload"` // the event as it is stored
}

// An exportedEntry is an entry as it is at the time of the export. All of it follows from the events
// and from Text, End and Ops, whose hashes are in the events.
type exportedEntry struct {
	Type      string          `json:"type"` // entry
	Entry     uint64          `json:"entry"`
	ID        string          `json:"id"`
	State     change.State    `json:"state"`
	UndoneBy  string          `json:"undoneBy,omitempty"`
	Resolved  string          `json:"resolved,omitempty"`
	Forgotten bool            `json:"forgotten,omitempty"` // its images were removed
	Time      string          `json:"time"`
	Version   string          `json:"version"`
	Actor     *change.Actor   `json:"actor,omitempty"`
	Agent     string          `json:"agent"`
	Store     string          `json:"store"`
	Session   string          `json:"session"`
	Operation uint64          `json:"operation,omitempty"` // the entry that began its operation; missing if that is this one
	Cause     change.Cause    `json:"cause"`
	Conflicts []exportedClash `json:"conflicts,omitempty"`
	Kept      []string        `json:"kept,omitempty"`
	Digest    string          `json:"digest,omitempty"`
	Ops       []exportedOp    `json:"ops"`
	Text      *string         `json:"text,omitempty"` // the text of its beginning as it is stored; missing if it has none, or it was forgotten
	End       *string         `json:"end,omitempty"`  // that of its end
}

type exportedClash struct {
	Record string `json:"record"`
	Why    string `json:"why"`
}

type exportedOp struct {
	Key    string         `json:"key"` // see [change.Key]
	Record string         `json:"record"`
	Kind   string         `json:"kind"`
	Pre    *exportedImage `json:"pre"`
	Post   *exportedImage `json:"post"`
}

type exportedImage struct {
	SHA256 hash   `json:"sha256"`
	Size   int64  `json:"size"`
	Mode   uint32 `json:"mode"`           // the bits of [fs.FileMode]
	Perm   string `json:"perm,omitempty"` // the same for a person, "" for a row
}

// An exportedPiece is a part of an image.
type exportedPiece struct {
	Type   string `json:"type"` // image
	SHA256 hash   `json:"sha256"`
	Size   uint64 `json:"size"`
	At     uint64 `json:"at"`
	Data   []byte `json:"data"`
}

type exportedEnd struct {
	Type    string `json:"type"` // end
	Events  int    `json:"events"`
	Entries int    `json:"entries"`
	Images  int    `json:"images"`
	Head    string `json:"head"`
}

// Export writes the whole journal to w, with bytes also the images that were not removed. It reads
// one entry and one piece of an image at a time. The error wraps [ErrDamaged] if the journal is
// damaged; what was written is then no export.
func (j *Journal) Export(ctx context.Context, w io.Writer, withBytes bool) (Report, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	x := exporter{j: j, ctx: ctx, out: json.NewEncoder(w), undos: newUndoResolver(j.snap())}
	x.out.SetEscapeHTML(false)
	err := errors.Join(j.file.CheckReadable(), j.damage)
	if err == nil && j.file.Snap == nil {
		err = errors.New("there is no journal yet")
	}
	if err == nil {
		err = x.run(withBytes)
	}
	return x.report, err
}

type exporter struct {
	j      *Journal
	ctx    context.Context
	out    *json.Encoder
	undos  *undoResolver
	report Report
}

func (x *exporter) run(withBytes bool) error {
	if err := x.out.Encode(exportedJournal{"journal", exportVersion, format, x.j.id, withBytes}); err != nil {
		return err
	}
	x.report.Head = genesis(x.j.id).String()
	if err := x.j.snap().Scan(bucketEvents, nil, nil, x.event); err != nil {
		return err
	}
	if withBytes {
		if err := x.j.snap().Scan(bucketImages, nil, nil, x.image); err != nil {
			return err
		}
	}
	r := x.report
	return x.out.Encode(exportedEnd{"end", r.Events, r.Entries, r.Images, r.Head})
}

func (x *exporter) event(it boltfile.Item) error {
	if err := x.ctx.Err(); err != nil {
		return err
	}
	seq := uint64(x.report.Events) + 1
	b, err := it.Open(bucketEvents)
	if err != nil {
		return err
	}
	ev, before, sum, err := decodeEvent(seq, b)
	if err != nil {
		return err
	}
	if before.String() != x.report.Head {
		return damaged("event %d does not follow the one before it", seq)
	}
	x.report.Events, x.report.Head = int(seq), sum.String()
	payload := b[eventHead : len(b)-len(sum)]
	if err := x.out.Encode(exportedEvent{"event", seq, before, sum, string(payload)}); err != nil || ev.Kind != kindBegin {
		return err
	}
	x.report.Entries++
	return x.entry(ev)
}

func (x *exporter) entry(begin *event) error {
	st, err := x.j.snap().entryState(begin.Entry)
	if err != nil {
		return err
	}
	e, err := x.j.buildEntry(st, x.undos)
	if err != nil {
		return err
	}
	line := exportEntry(&e)
	if !st.textsErased {
		if line.Text, err = x.text(st.begin.Begin.Text); err != nil {
			return err
		}
		if st.finish != nil {
			if line.End, err = x.text(st.finish.Finish.Text); err != nil {
				return err
			}
		}
	}
	return x.out.Encode(line)
}

func (x *exporter) text(h *hash) (*string, error) {
	if h == nil {
		return nil, nil
	}
	b, err := x.j.file.Codec.Read(x.j.snap().Snapshot, blobText.bucket(), *h)
	return new(string(b)), err
}

// image writes an image. it is the key that makes it complete, or a piece of it.
func (x *exporter) image(it boltfile.Item) error {
	if err := x.ctx.Err(); err != nil || len(it.Key) != len(hash{}) {
		return err
	}
	id := blobID{blobImage, hash(it.Key)}
	needed, err := x.isNeeded(id)
	if err != nil || !needed {
		return err
	}
	head, err := it.Open(bucketImages)
	if err != nil {
		return err
	}
	size, err := x.j.file.Codec.Copy(&pieceWriter{x.out, exportedPiece{Type: "image", SHA256: id.hash, Size: boltfile.BlobSize(head)}}, x.j.snap().Snapshot, id.kind.bucket(), id.hash)
	x.report.Images, x.report.Bytes = x.report.Images+1, x.report.Bytes+int64(size)
	return err
}

// isNeeded reports whether an entry has the image whose images were not removed: a crash may have
// left it.
func (x *exporter) isNeeded(id blobID) (needed bool, err error) {
	err = x.j.snap().Scan(bucketRefs, id.key(), nil, func(it boltfile.Item) error {
		_, entry, err := splitRef(it.Key)
		if err != nil || entry > x.j.head.begun {
			return err
		}
		st, err := x.j.snap().entryState(entry)
		if err == nil && !st.imagesErased {
			needed, err = true, boltfile.ErrStop
		}
		return err
	})
	return needed, err
}

// A pieceWriter writes each piece as a line.
type pieceWriter struct {
	out  *json.Encoder
	next exportedPiece
}

func (w *pieceWriter) Write(b []byte) (int, error) {
	w.next.Data = b
	err := w.out.Encode(w.next)
	w.next.At += uint64(len(b))
	return len(b), err
}

// exportEntry returns an entry as an export has it, without the stored texts.
func exportEntry(e *change.Entry) exportedEntry {
	x := exportedEntry{
		Type: "entry", Entry: e.Seq, ID: e.ID, State: e.State, UndoneBy: e.UndoneBy, Resolved: e.Resolved, Forgotten: e.Forgotten,
		Time: e.Time.UTC().Format(time.RFC3339Nano), Version: e.Version, Actor: e.Actor, Agent: e.Store.Agent,
		Store: e.Store.Root, Session: e.Session, Operation: e.Operation, Cause: e.Cause, Kept: e.Kept, Digest: e.Digest, Ops: []exportedOp{},
	}
	if e.Operation != e.Seq {
		x.Operation = e.Operation
	}
	for _, o := range e.Ops {
		x.Ops = append(x.Ops, exportOp(o))
	}
	for _, c := range e.Conflicts {
		x.Conflicts = append(x.Conflicts, exportedClash{c.Ref.String(), c.Why})
	}
	return x
}

func exportOp(o change.OpInfo) exportedOp {
	return exportedOp{change.Key(o.Ref), o.Ref.String(), o.Ref.Kind.String(), exportImage(o.Pre), exportImage(o.Post)}
}

func exportImage(d *change.Digest) *exportedImage {
	if d == nil {
		return nil
	}
	x := &exportedImage{SHA256: d.SHA256, Size: d.Size, Mode: d.Mode}
	if d.Mode != 0 {
		x.Perm = fs.FileMode(d.Mode).String()
	}
	return x
}

// info is the inverse of exportOp.
func (o exportedOp) info() (change.OpInfo, error) {
	ref, err := change.RefOfKey(o.Key)
	return change.OpInfo{Ref: ref, Pre: o.Pre.digest(), Post: o.Post.digest()}, err
}

func (x *exportedImage) digest() *change.Digest {
	if x == nil {
		return nil
	}
	return &change.Digest{SHA256: x.SHA256, Size: x.Size, Mode: x.Mode}
}
