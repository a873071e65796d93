package journal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"

	"mend/change"
	"mend/internal/boltfile"
)

// An export is JSON Lines: one "journal"; each "event", followed by its "ops" and "text", whose hashes it
// contains; optionally the "image"s, in chunks; and one "end". Everything else follows from these.
// docs/audit.md describes its use.

// exportVersion is raised when a member is added, removed, or gets another meaning.
const exportVersion = 2

type exportedJournal struct {
	Type    string `json:"type"` // journal
	Version int    `json:"exportVersion"`
	Format  int    `json:"format"`  // of the journal's file
	ID      string `json:"id"`      // of the journal; the hash before the first event follows from it
	Created uint64 `json:"created"` // in seconds since 1970
	Bytes   bool   `json:"bytes"`   // whether images follow
}

type exportedEvent struct {
	Type    string `json:"type"` // event
	Event   uint64 `json:"event"`
	Before  hash   `json:"before"`  // hash of the previous event
	Hash    hash   `json:"hash"`    // of 1 | event u64 | before | payload
	Payload string `json:"payload"` // the stored form of the event
}

type exportedOps struct {
	Type string       `json:"type"` // ops
	Ops  []exportedOp `json:"ops"`
}

type exportedOp struct {
	Key  string         `json:"key"` // see [change.Key]
	Pre  *change.Digest `json:"pre"`
	Post *change.Digest `json:"post"`
}

type exportedText struct {
	Type string `json:"type"` // text
	Text string `json:"text"` // in its stored form
}

type exportedChunk struct {
	Type   string `json:"type"` // image
	SHA256 hash   `json:"sha256"`
	Size   uint64 `json:"size"` // size of the image
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

// Export writes the whole journal to w, optionally with the images that were not removed. It reads one event
// and one chunk of an image at a time. The error wraps [ErrDamaged] if the journal is damaged; the output is
// then not a valid export.
func (j *Journal) Export(ctx context.Context, w io.Writer, withBytes bool) (Report, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	x := exporter{j: j, ctx: ctx, out: json.NewEncoder(w)}
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
	report Report
	last   blobID // the image that was written last
}

func (x *exporter) run(withBytes bool) error {
	created, _, err := x.j.snap().Get(bucketMeta, []byte(keyCreated))
	if n, ok := boltfile.SplitU64(created, 1); ok && err == nil {
		err = x.out.Encode(exportedJournal{"journal", exportVersion, format, x.j.id, n[0], withBytes})
	} else if err == nil {
		err = damageError("it has no creation time")
	}
	if err != nil {
		return err
	}
	x.report.Head = genesis(x.j.id).String()
	if err := x.j.snap().Scan(bucketEvents, nil, nil, x.event); err != nil {
		return err
	}
	if withBytes {
		if err := x.j.snap().Scan(bucketRefs, []byte{byte(blobImage)}, nil, x.image); err != nil {
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
		return damageError("event %d does not follow the one before it", seq)
	}
	x.report.Events, x.report.Head = int(seq), sum.String()
	if err := x.out.Encode(exportedEvent{"event", seq, before, sum, string(b[eventHead : len(b)-len(sum)])}); err != nil {
		return err
	}
	switch ev.Kind {
	case kindBegin:
		x.report.Entries++
		for _, list := range ev.Begin.Ops {
			if err := x.ops(list); err != nil {
				return err
			}
		}
		return x.text(ev.Entry, ev.Begin.Text)
	case kindFinish:
		return x.text(ev.Entry, ev.Finish.Text)
	case kindResolve, kindGC, kindForget:
	}
	return nil
}

func (x *exporter) ops(list hash) error {
	b, err := x.j.snap().Blob(bucketOps, list)
	if err != nil {
		return err
	}
	ops, err := decodeOps(b)
	if err != nil {
		return err
	}
	line := exportedOps{"ops", make([]exportedOp, len(ops))}
	for i, o := range ops {
		line.Ops[i] = exportedOp{change.Key(o.Ref), o.Pre, o.Post}
	}
	return x.out.Encode(line)
}

// text writes a text of an entry, unless it is empty or was forgotten.
func (x *exporter) text(entry uint64, h *hash) error {
	if h == nil {
		return nil
	}
	st, err := x.j.snap().entryState(entry)
	if err != nil || st.textsErased {
		return err
	}
	b, err := x.j.snap().Blob(bucketTexts, *h)
	if err != nil {
		return err
	}
	return x.out.Encode(exportedText{"text", string(b)})
}

// image writes the image of a reference, if it is the first one of an entry that still has its images. A crash may have
// left references without an entry.
func (x *exporter) image(it boltfile.Item) error {
	id, entry, err := splitRef(it.Key)
	if err = cmp.Or(err, x.ctx.Err()); err != nil || id == x.last || entry > x.j.head.begun {
		return err
	}
	st, err := x.j.snap().entryState(entry)
	if err != nil || st.imagesErased {
		return err
	}
	x.last = id
	head, _, err := x.j.snap().Get(bucketImages, id.hash[:])
	if err != nil {
		return err
	}
	size, err := x.j.snap().CopyBlob(&chunkWriter{x.out, exportedChunk{Type: "image", SHA256: id.hash, Size: boltfile.BlobSize(head)}}, bucketImages, id.hash)
	x.report.Images, x.report.Bytes = x.report.Images+1, x.report.Bytes+int64(size)
	return err
}

// A chunkWriter writes each chunk of an image as a line.
type chunkWriter struct {
	out  *json.Encoder
	next exportedChunk
}

func (w *chunkWriter) Write(b []byte) (int, error) {
	w.next.Data = b
	err := w.out.Encode(w.next)
	w.next.At += uint64(len(b))
	return len(b), err
}
