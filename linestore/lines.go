package linestore

import (
	"bytes"
	"iter"
	"slices"

	"mend/change"
)

// A lineOp is an op with the key of its line.
type lineOp struct {
	change.Op
	key     string // key of the line; "" for the whole transcript
	newline string // for an op on a newline alone: the hash of the line after it; else ""
}

func (op *lineOp) whole() bool { return op.key == "" }

// A span is a byte range of the transcript.
type span struct{ start, end int }

// A transcript is the content of a file, with the lines that ops refer to.
type transcript struct {
	data  []byte
	lines map[string][]span // by key, in order, without newlines
}

// newTranscript finds the lines of the ops.
func (tx *transaction) newTranscript(data []byte) transcript {
	t := transcript{data, map[string][]span{}}
	wanted := map[string]bool{}
	for _, op := range tx.ops {
		wanted[op.key] = true
	}
	delete(wanted, "")
	if len(wanted) == 0 {
		return t
	}
	for s := range t.spans(0) {
		if key := tx.layout.Key(t.text(s)); wanted[key] {
			t.lines[key] = append(t.lines[key], s)
		}
	}
	return t
}

// spans yields the lines from an offset on, without newlines.
func (t *transcript) spans(start int) iter.Seq[span] {
	return func(yield func(span) bool) {
		for line := range bytes.Lines(t.data[start:]) {
			if !yield(span{start, start + len(bytes.TrimSuffix(line, []byte{'\n'}))}) {
				return
			}
			start += len(line)
		}
	}
}

// last returns the last line with a key, and whether it exists.
func (t *transcript) last(key string) (span, bool) {
	spans := t.lines[key]
	if len(spans) == 0 {
		return span{}, false
	}
	return spans[len(spans)-1], true
}

func (t *transcript) text(s span) []byte { return t.data[s.start:s.end] }

// image returns the content of an op's record, nil if it does not exist.
func (t *transcript) image(op *lineOp) *change.Image {
	if op.whole() {
		return &change.Image{Data: t.data, Mode: Mode}
	}
	s, ok := t.last(op.key)
	switch {
	case !ok, op.newline != "" && lineHash(t.text(s)) != op.newline:
		return nil
	case op.newline != "":
		return &change.Image{Data: []byte("\n"), Mode: Mode}
	}
	return &change.Image{Data: bytes.Clone(t.text(s)), Mode: Mode}
}

func lineHash(line []byte) string { return hash(line)[:16] }

// A state classifies the content of a record.
type state uint8

const (
	holdsPre state = iota
	holdsPost
	holdsOther
)

// state compares the record of an op with its images. Only the beginning of a whole transcript is
// compared: the rest was appended since.
func (t *transcript) state(op *lineOp) state {
	if op.whole() {
		first, second := holdsPre, holdsPost
		a, b := op.Pre.Data, op.Post.Data
		if len(b) > len(a) { // the longer one may begin with the other
			first, second, a, b = second, first, b, a
		}
		switch {
		case bytes.HasPrefix(t.data, a):
			return first
		case bytes.HasPrefix(t.data, b):
			return second
		}
		return holdsOther
	}
	switch now := t.image(op); {
	case now.Equal(op.Pre):
		return holdsPre
	case now.Equal(op.Post):
		return holdsPost
	}
	return holdsOther
}

// An edit is the effect of a change on a transcript: it removes spans, then appends a block.
type edit struct {
	cuts     []span
	block    []byte
	whole    []byte // the new beginning, for a change of the whole transcript
	keptFrom int    // if whole is set: the offset of the bytes that stay
}

// replaces reports whether appending alone cannot make the edit.
func (e *edit) replaces() bool { return len(e.cuts) > 0 || e.whole != nil }

// beginsWithNewline reports whether the appended block begins with a newline, because the last line has none.
func (e *edit) beginsWithNewline() bool { return bytes.HasPrefix(e.block, []byte{'\n'}) }

// edit returns the effect of the ops. If the previous line with the key of an op is its Post, the edit removes the line
// that mend wrote after it, unless appendOnly is set, and appends nothing. If an op cannot be carried out, bad is that
// op and why is the reason.
func (tx *transaction) edit(t transcript, appendOnly bool) (e edit, bad *lineOp, why string) {
	for i := range tx.ops {
		op := &tx.ops[i]
		switch {
		case op.whole():
			e.whole, e.keptFrom = op.Post.Data, len(op.Pre.Data)
		case op.newline != "":
		case op.Post == nil:
			s, _ := t.last(op.key)
			if len(t.lines[op.key]) != 1 {
				return e, op, "the transcript has earlier copies of the line"
			}
			e.cuts = append(e.cuts, span{s.start, min(s.end+1, len(t.data))})
		case op.Pre != nil && !appendOnly && t.isPostPrevious(op) && tx.mayOwnLines():
			s, _ := t.last(op.key)
			if !tx.isOwn(t, op) {
				if !tx.force {
					return e, op, "the transcript has the line several times, and it is unknown which copies mend wrote"
				}
				e.block = append(append(e.block, op.Post.Data...), '\n')
				continue
			}
			e.cuts = append(e.cuts, span{s.start, min(s.end+1, len(t.data))})
		default:
			e.block = append(append(e.block, op.Post.Data...), '\n')
		}
	}
	slices.SortFunc(e.cuts, func(a, b span) int { return a.start - b.start })
	tx.cutNewline(t, &e)
	if len(e.block) > 0 && !endsLine(e.apply(t.data, false)) {
		e.block = append([]byte{'\n'}, e.block...)
	}
	return e, nil, ""
}

// mayOwnLines reports whether a change that the plan reverts appended lines. Otherwise the last
// line of a record belongs to another program, and nothing is removed.
func (tx *transaction) mayOwnLines() bool {
	appended := func(p *change.AppendPoint) bool { return p != nil }
	return len(tx.reverts) == 0 || slices.ContainsFunc(tx.reverts, appended)
}

// isOwn reports whether a change that the plan reverts appended the last line of a record: it is the only line of the
// record with its content, or the only one after the offset of that append. If earlier lines were removed since, the
// offset is wrong.
func (tx *transaction) isOwn(t transcript, op *lineOp) bool {
	if len(tx.reverts) == 0 {
		return true
	}
	offset := int64(len(t.data))
	for _, p := range tx.reverts {
		if p != nil {
			offset = min(offset, p.Size)
		}
	}
	same, after := 0, 0
	for _, s := range t.lines[op.key] {
		if bytes.Equal(t.text(s), op.Pre.Data) {
			same++
			if int64(s.start) >= offset {
				after++
			}
		}
	}
	return same == 1 || after == 1
}

// isPostPrevious reports whether the second-to-last line with the key of op equals its Post.
func (t *transcript) isPostPrevious(op *lineOp) bool {
	n := len(t.lines[op.key])
	return n > 1 && bytes.Equal(t.text(t.lines[op.key][n-2]), op.Post.Data)
}

// cutNewline also removes the newline before the first removed line, if the same change wrote that
// newline and if nothing follows.
func (tx *transaction) cutNewline(t transcript, e *edit) {
	for i := range tx.ops {
		op := &tx.ops[i]
		if op.newline == "" || op.Post != nil {
			continue
		}
		s, ok := t.last(op.key)
		rest := s.start
		for _, c := range e.cuts {
			if c.start == rest {
				rest = c.end
			}
		}
		if ok && s.start > 0 && rest == len(t.data) {
			e.cuts = append(e.cuts, span{s.start - 1, s.start})
			slices.SortFunc(e.cuts, func(a, b span) int { return a.start - b.start })
		}
	}
}

// apply returns the transcript after the edit, with or without the appended block.
func (e *edit) apply(data []byte, block bool) []byte {
	out := make([]byte, 0, len(data)+len(e.whole)+len(e.block))
	at := 0
	if e.whole != nil {
		out, at = append(out, e.whole...), e.keptFrom
	}
	for _, c := range e.cuts {
		out, at = append(out, data[at:c.start]...), c.end
	}
	out = append(out, data[at:]...)
	if block {
		out = append(out, e.block...)
	}
	return out
}

// endsLine reports whether bytes appended to data begin a new line.
func endsLine(data []byte) bool { return len(data) == 0 || data[len(data)-1] == '\n' }
