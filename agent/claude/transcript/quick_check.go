package transcript

import (
	"cmp"
	"hash/maphash"
	"io"
	"slices"
	"sync"
	"time"

	"mend/jsonedit"
)

// IsUsual reports whether a transcript has the usual form, in which no rule finds anything: each
// line is a record whose members and blocks are those of the tables of this package, with usual
// values, and all records are in the conversation, in the order of the file. Each answer follows
// a prompt or the results of all its calls, and ends with a text or with calls. Most transcripts
// are so, and to see that is many times faster than to load them (BenchmarkScanTranscripts). A
// transcript that is not so need not be broken.
//
// version is that of the program that will load it, "" for the one that wrote last. agent is the
// id of the subagent whose transcript it is. It reports false if r cannot be read.
func IsUsual(r io.Reader, version, agent string) bool {
	q := quickChecks.Get().(*quickCheck)
	if len(q.records) > keptRecords {
		q = newQuickCheck()
	}
	defer quickChecks.Put(q)
	q.reset(version, agent)
	whole, err := eachLine(r, q.line)
	return whole && err == nil && q.usual()
}

// keptRecords is the number of records for which memory is kept between two checks.
const keptRecords = 1 << 12

var quickChecks = sync.Pool{New: func() any { return newQuickCheck() }}

// mostCalls limits the calls of a usual answer: each result is looked for among them.
const mostCalls = 256

// A quickCheck is the state of [IsUsual] between two lines.
type quickCheck struct {
	form   *jsonedit.Pattern // of a record
	texts  [captures][]byte  // captured from the line
	blocks []quickBlock      // of the line
	seed   maphash.Seed

	agent   string
	version []byte // of the last record, if it is not given
	given   bool

	records []quickRecord
	// ids has the indexes of records by the hashes of their ids, and -1 for ids of answers and
	// calls. Two ids with one hash are taken for a repeated id.
	ids    map[uint64]int32
	last   uint64 // the id of the last record
	leaf   uint64 // the id that the last last-prompt record names
	named  bool   // there is such a record
	answer answerState
}

// A quickRecord is what is kept of a record of the chain.
type quickRecord struct {
	parent int32 // an index; -1 for the first record
	answer int32 // the answer that it is part of, or a result for; 0 for none
	time   int64 // in transcripts of subagents
}

// An answerState is what the last record leaves to be answered.
type answerState struct {
	n        int32 // counts answers
	id       uint64
	closed   bool     // a prompt or some context came after it
	prompted bool     // the last message is the user's
	calling  bool     // it has calls
	thinking bool     // its last block is thinking
	open     []uint64 // its calls without a result
}

// A quickBlock is a block of a usual record.
type quickBlock struct {
	kind blockKind
	id   uint64 // of the call
}

type blockKind uint8

const (
	blockOther blockKind = iota // a text, an image or a document
	blockThinking
	blockCall
	blockResult
)

func newQuickCheck() *quickCheck {
	q := &quickCheck{seed: maphash.MakeSeed(), ids: map[uint64]int32{}}
	message := &jsonedit.Pattern{Open: true, Fields: []jsonedit.PatternField{
		{Name: "id", Pattern: plain, Capture: captureMessageID},
		{Name: "role", Pattern: &jsonedit.Pattern{}},
		{Name: "model", Pattern: plain, Capture: captureModel},
		{Name: "content", Pattern: &jsonedit.Pattern{
			OrText: true, Elements: &jsonedit.Pattern{By: "type", Cases: blockCases(), Accept: q.addBlock},
			Accept: func(raw []byte) bool { return raw[0] != '"' || isVisible(raw) },
		}, Capture: captureContent},
	}}
	q.form = &jsonedit.Pattern{Open: true}
	for _, f := range recordFields {
		p := cmp.Or(f.usual, &jsonedit.Pattern{})
		if f.name == "message" {
			p = message
		}
		q.form.Fields = append(q.form.Fields, jsonedit.PatternField{Name: f.name, Pattern: p, Capture: f.capture})
	}
	return q
}

func (q *quickCheck) reset(version, agent string) {
	q.agent, q.version, q.given = agent, append(q.version[:0], version...), version != ""
	q.records, q.leaf, q.last, q.named = q.records[:0], 0, 0, false
	q.answer = answerState{open: q.answer.open[:0], closed: true}
	clear(q.ids)
}

// text returns a captured string without its quotes, "" for none and for null.
func (q *quickCheck) text(capture int) []byte {
	if raw := q.texts[capture]; len(raw) > 0 && raw[0] == '"' {
		return raw[1 : len(raw)-1]
	}
	return nil
}

func (q *quickCheck) hash(capture int) uint64 { return maphash.Bytes(q.seed, q.text(capture)) }

// addBlock adds a block whose form is usual. Of equal blocks without an id one is enough.
func (q *quickCheck) addBlock([]byte) bool {
	b := quickBlock{}
	switch string(q.text(captureKind)) {
	case "thinking", "redacted_thinking":
		b.kind = blockThinking
	case "tool_use":
		b = quickBlock{blockCall, q.hash(captureToolID)}
	case "tool_result":
		b = quickBlock{blockResult, q.hash(captureToolID)}
	}
	if n := len(q.blocks); n == 0 || b.id != 0 || b != q.blocks[n-1] {
		q.blocks = append(q.blocks, b)
	}
	return true
}

// line reads a line. It returns false if the transcript is not usual.
func (q *quickCheck) line(line []byte, ended bool) bool {
	clear(q.texts[:])
	q.blocks = q.blocks[:0]
	if _, ok := q.form.Match(line, q.texts[:]); !ok || !ended {
		return false
	}
	if raw := q.texts[captureContent]; len(raw) > 0 && raw[0] == '"' {
		q.blocks = append(q.blocks, quickBlock{})
	}
	kind, uuid := q.text(captureType), q.text(captureUUID)
	switch {
	case string(kind) == "last-prompt":
		if leaf := q.text(captureLeaf); len(leaf) > 0 {
			q.leaf, q.named = q.hash(captureLeaf), true
		}
		return true
	case len(uuid) == 0:
		return true
	case string(kind) == Progress:
		at, known := q.parent()
		return !known || q.addID(q.hash(captureUUID), at)
	}
	r := quickRecord{}
	switch string(kind) {
	case User:
		if !q.addUser(&r) {
			return false
		}
	case Assistant:
		if !q.addAssistant(&r) {
			return false
		}
	case Attachment:
		q.answer.closed = true
	case System:
	default:
		return true
	}
	return q.addRecord(r)
}

// parent returns the index of the parent that the record names, and whether that is known.
func (q *quickCheck) parent() (int32, bool) {
	id := q.hash(captureParent)
	if n := len(q.records); n > 0 && id == q.last {
		return int32(n - 1), true
	}
	at, ok := q.ids[id]
	return at, ok && at >= 0
}

// addID notes an id. It returns false if it was there before.
func (q *quickCheck) addID(id uint64, at int32) bool {
	if _, again := q.ids[id]; again {
		return false
	}
	q.ids[id] = at
	return true
}

// addRecord adds a record of the chain.
func (q *quickCheck) addRecord(r quickRecord) bool {
	side := string(q.texts[captureSide]) == "true"
	if side != (q.agent != "") || side && string(q.text(captureAgent)) != q.agent {
		return false
	}
	switch string(q.text(captureSubtype)) {
	case "compact_boundary", "file_snapshot":
		return false
	}
	first := len(q.records) == 0
	parent, known := q.parent()
	if first != (len(q.text(captureParent)) == 0) || !first && !known {
		return false
	}
	if r.parent = parent; first {
		r.parent = -1
	}
	if r.answer < 0 { // a result
		r.answer = q.records[parent].answer
	}
	if side {
		at, err := time.Parse(time.RFC3339, string(q.text(captureTime)))
		if err != nil {
			return false
		}
		r.time = at.UnixMilli()
	}
	if v := q.text(captureVersion); len(v) > 0 && !q.given {
		q.version = append(q.version[:0], v...)
	}
	q.last = q.hash(captureUUID)
	q.records = append(q.records, r)
	return q.addID(q.last, int32(len(q.records)-1))
}

// addUser checks a prompt, or results: those come first, and a prompt follows the last one.
func (q *quickCheck) addUser(r *quickRecord) bool {
	a := &q.answer
	if len(q.blocks) == 0 || string(q.texts[captureAPIError]) == "true" {
		return false
	}
	prompt := false
	for _, b := range q.blocks {
		if b.kind != blockResult {
			prompt = true
			if b.kind != blockOther {
				return false
			}
			continue
		}
		at := slices.Index(a.open, b.id)
		if prompt || at < 0 {
			return false
		}
		a.open = slices.Delete(a.open, at, at+1)
	}
	a.prompted = true
	if !prompt {
		r.answer = -1
		return len(q.records) > 0
	}
	a.closed = true
	return len(a.open) == 0
}

// addAssistant checks a record of an answer: thinking and texts, then calls.
func (q *quickCheck) addAssistant(r *quickRecord) bool {
	a := &q.answer
	if string(q.text(captureModel)) == synthetic || string(q.texts[captureAPIError]) == "true" { // not sent
		a.closed = true
		return len(a.open) == 0 && !slices.ContainsFunc(q.blocks, func(b quickBlock) bool { return b.kind != blockOther })
	}
	id := q.hash(captureMessageID)
	if len(q.text(captureMessageID)) == 0 || len(q.blocks) == 0 {
		return false
	}
	if id != a.id || a.n == 0 {
		if len(a.open) > 0 || a.thinking || !a.prompted || !q.addID(id, -1) {
			return false
		}
		*a = answerState{n: a.n + 1, id: id, open: a.open}
	} else if a.closed {
		return false
	}
	for _, b := range q.blocks {
		if b.kind == blockResult || a.calling && b.kind != blockCall {
			return false
		}
		a.thinking = b.kind == blockThinking
		if b.kind != blockCall {
			continue
		}
		a.calling = true
		if a.open = append(a.open, b.id); len(a.open) > mostCalls || !q.addID(b.id, -1) {
			return false
		}
	}
	a.prompted, r.answer = false, a.n
	return true
}

// usual reports whether the transcript is usual, of which all lines are read.
func (q *quickCheck) usual() bool {
	n := len(q.records)
	if n == 0 || q.answer.n == 0 || q.answer.thinking || len(q.answer.open) > 0 || !ProfileOf(string(q.version)).Tolerant {
		return false
	}
	walked := make([]bool, n)
	for i := int32(n - 1); i >= 0; i = q.records[i].parent {
		walked[i] = true
	}
	if at, ok := q.ids[q.leaf]; q.named && ok && (at < 0 || !walked[at]) {
		return false
	}
	for i, r := range q.records {
		// The program puts records and results of an answer beside those that it walked to.
		if !walked[i] && (r.answer == 0 || r.answer != q.records[r.parent].answer || q.agent != "" && r.time >= q.records[n-1].time) {
			return false
		}
	}
	return true
}
