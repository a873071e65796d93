package journal

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math"
	"os"
	"strings"

	"mend/change"
	"mend/internal/boltfile"
)

// VerifyExport checks an export without the journal or a store. It builds a journal from the export in a
// temporary folder, verifies it, and exports it again: each line must be byte-identical. head must be in the
// chain unless it is "". If the export has no images, images are not checked.
//
// The error wraps errHead, or it wraps ErrExport and, if a single line is wrong, names the line.
func VerifyExport(ctx context.Context, r io.Reader, head string) (report Report, err error) {
	dir, err := os.MkdirTemp("", "mend-verify-")
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return ReadExport(ctx, r, dir, head)
}

// ReadExport builds a journal from an export in an empty folder, and checks it as VerifyExport does.
func ReadExport(ctx context.Context, r io.Reader, dir, head string) (report Report, err error) {
	x := importer{chain: newChain(), seed: maphash.MakeSeed()}
	if x.j, err = Open(dir, Options{}); err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, x.j.Close()) }()
	if err = x.run(ctx, r); err == nil {
		report, err = x.verify(ctx, head)
	}
	if err == nil || ctx.Err() != nil || errors.Is(err, errHead) {
		return report, err
	}
	return report, fmt.Errorf("%w: %s", ErrExport, strings.Replace(err.Error(), ErrDamaged.Error()+": ", "", 1))
}

// An importer builds a journal from an export. It adds the values that follow from the events; the
// verification of the journal checks whether they are right and complete.
type importer struct {
	j      *Journal
	values []boltfile.Value // for the next transaction
	size   int

	chain
	header exportedJournal

	seed  maphash.Seed
	lines []uint64 // a hash of each line
}

// longestLine exceeds the longest line of an export: a text is at most as long as a record.
const longestLine = math.MaxInt32

// newLineScanner returns a scanner of lines, each with its line feed. It fails at the first byte of a line that is not
// a JSON object, so that it does not read a whole device to find the end of a line.
func newLineScanner(r io.Reader) *bufio.Scanner {
	s := bufio.NewScanner(r)
	s.Buffer(nil, longestLine)
	s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if len(data) > 0 && data[0] != '{' {
			return 0, nil, fmt.Errorf("a line begins with %q, not with {", data[0])
		}
		n := bytes.IndexByte(data, '\n') + 1
		if n == 0 && atEOF {
			n = len(data)
		}
		if n == 0 {
			return 0, nil, nil
		}
		return n, data[:n], nil
	})
	return s
}

func (x *importer) run(ctx context.Context, r io.Reader) error {
	in := newLineScanner(r)
	for in.Scan() {
		x.lines = append(x.lines, maphash.Bytes(x.seed, in.Bytes()))
		err := ctx.Err()
		if err == nil {
			err = x.line(in.Bytes())
		}
		if err == nil && x.size > x.j.opts.batchSize {
			err = x.flush()
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", len(x.lines), err)
		}
	}
	for entry := range x.pending {
		x.put(bucketPending, boltfile.U64(entry), nil)
	}
	if err := errors.Join(in.Err(), x.flush()); err != nil {
		return err
	}
	for entry := range x.begun {
		if err := x.refs(entry + 1); err != nil {
			return err
		}
	}
	return x.flush()
}

func (x *importer) put(bucket string, key, val []byte) {
	v := boltfile.Value{Bucket: bucket, Key: key, Val: val}
	x.values = append(x.values, v)
	x.size += v.Cost()
}

func (x *importer) flush() error {
	values := x.values
	x.values, x.size = nil, 0
	return x.j.update("import", func(w *writer) error { return w.PutAll(values) })
}

func (x *importer) line(raw []byte) error {
	kind, err := parse[struct{ Type string }](raw)
	switch {
	case err != nil:
		return err
	case (kind.Type == "journal") != (len(x.lines) == 1):
		return fmt.Errorf("a line of type %q: the first line, and only that, must have the type journal", kind.Type)
	}
	switch kind.Type {
	case "journal":
		x.header, err = parse[exportedJournal](raw)
		if h := x.header; err == nil && (h.Version != exportVersion || h.Format != format) {
			err = fmt.Errorf("export %d of format %d: this mend knows %d and %d", h.Version, h.Format, exportVersion, format)
		}
		x.put(bucketMeta, []byte(keyID), []byte(x.header.ID))
		x.put(bucketMeta, []byte(keyCreated), boltfile.U64(x.header.Created))
		return err
	case "event":
		return x.event(raw)
	case "ops":
		return x.ops(raw)
	case "text":
		line, err := parse[exportedText](raw)
		return cmp.Or(err, x.blob(bucketTexts, []byte(line.Text)))
	case "image":
		p, err := parse[exportedChunk](raw)
		key, val := boltfile.PackChunk(p.SHA256, p.Size, p.At/boltfile.ChunkSize, p.Data)
		x.put(bucketImages, key, val)
		return err
	case "end": // the second export ends with it, too
		return nil
	}
	return fmt.Errorf("this mend does not know a line %q", kind.Type)
}

func parse[Line any](raw []byte) (line Line, err error) {
	err = json.Unmarshal(raw, &line) // not in the return statement: that may read line first
	return line, err
}

// event adds an event, and indexes it as [writer.event] does.
func (x *importer) event(raw []byte) error {
	line, err := parse[exportedEvent](raw)
	if err != nil {
		return err
	}
	b := append(eventBytes(line.Event, line.Before, []byte(line.Payload)), line.Hash[:]...)
	ev, _, _, err := decodeEvent(line.Event, b)
	if err != nil {
		return err
	}
	x.put(bucketEvents, boltfile.U64(line.Event), b)
	begin, err := x.add(ev)
	if err != nil {
		return err
	}
	for _, k := range indexKeys(line.Event, ev, begin) {
		x.put(k.Bucket, k.Key, nil)
	}
	return nil
}

func (x *importer) ops(raw []byte) error {
	line, err := parse[exportedOps](raw)
	if err != nil {
		return err
	}
	infos := make([]change.OpInfo, len(line.Ops))
	for i, o := range line.Ops {
		infos[i].Pre, infos[i].Post = o.Pre, o.Post
		if infos[i].Ref, err = change.RefOfKey(o.Key); err != nil {
			return err
		}
	}
	return x.blob(bucketOps, encodeOps(infos))
}

func (x *importer) blob(bucket string, data []byte) error {
	return boltfile.WriteBlob(sha256.Sum256(data), data, func(key, val []byte) error {
		x.put(bucket, key, val)
		return nil
	})
}

// refs adds the references that an entry needs.
func (x *importer) refs(entry uint64) error {
	st, err := x.j.snap().entryState(entry)
	if err != nil {
		return err
	}
	blobs, err := x.j.neededBlobs(st, x.header.Bytes && !st.imagesErased, !st.textsErased)
	for id := range blobs {
		x.put(bucketRefs, id.key(entry), nil)
	}
	return err
}

// verify verifies the built journal, and exports it again.
func (x *importer) verify(ctx context.Context, head string) (Report, error) {
	if err := x.j.attach(); err != nil { // the id is another one now
		return Report{}, err
	}
	v := newVerifier(x.j, head)
	v.withoutImages = !x.header.Bytes
	if err := v.run(); err != nil {
		return v.report, err
	}
	r, w := io.Pipe()
	go func() {
		_, err := x.j.Export(ctx, w, x.header.Bytes)
		w.CloseWithError(err)
	}()
	defer func() { _ = r.Close() }()
	again, n := newLineScanner(r), 0
	for ; again.Scan(); n++ {
		if n >= len(x.lines) {
			return v.report, errors.New("the end is missing")
		}
		if maphash.Bytes(x.seed, again.Bytes()) != x.lines[n] {
			return v.report, fmt.Errorf("line %d differs", n+1)
		}
	}
	if again.Err() == nil && n < len(x.lines) {
		return v.report, errors.New("something follows the end")
	}
	return v.report, cmp.Or(again.Err(), v.checkHead())
}
