package claude

import (
	"bytes"
	_ "embed" // the transcript
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Session is the id of the session in Baseline.
const Session = "3cffaf78-5168-420a-bb87-c18ba6c93019"

// Baseline is a healthy transcript of 2.1.330: seven prompts ten minutes apart, with a call, two parallel
// calls, a file that is read and edited, an image, and a last call. 47 of its blocks are sent.
//
//go:embed baseline.jsonl
var Baseline []byte

// Blocks is the number of blocks of Baseline that are sent.
const Blocks = 47

// A Transcript is a transcript that a test damages, line by line.
type Transcript struct {
	Lines [][]byte
	Whole func(data []byte) []byte // changes the joined file; may be nil
}

// New returns the lines of Baseline.
func New() *Transcript {
	return &Transcript{Lines: bytes.Split(bytes.TrimSuffix(bytes.Clone(Baseline), []byte("\n")), []byte("\n"))}
}

// Bytes returns the transcript.
func (t *Transcript) Bytes() []byte {
	data := append(bytes.Join(t.Lines, []byte("\n")), '\n')
	if t.Whole != nil {
		data = t.Whole(data)
	}
	return data
}

// at returns the index of the line of the record whose uuid has that prefix. It panics if there is none.
func (t *Transcript) at(uuid string) int {
	for i, l := range t.Lines {
		if bytes.Contains(l, []byte(`"uuid":"`+uuid)) && !bytes.Contains(l, []byte(`"type":"last-prompt"`)) {
			return i
		}
	}
	panic("no record " + uuid)
}

// uuid returns the uuid of the record that [Transcript.at] finds.
func (t *Transcript) uuid(begin string) string {
	_, rest, _ := strings.Cut(string(t.Lines[t.at(begin)]), `"uuid":"`+begin)
	end := strings.IndexByte(rest, '"')
	return begin + rest[:end]
}

func (t *Transcript) edit(uuid string, change func(r map[string]any)) {
	i := t.at(uuid)
	t.Lines[i] = t.changed(uuid, change)
}

// changed returns the line of a record after a change.
func (t *Transcript) changed(uuid string, change func(r map[string]any)) []byte {
	var r map[string]any
	if err := json.Unmarshal(t.Lines[t.at(uuid)], &r); err != nil {
		panic(err)
	}
	change(r)
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return line
}

func (t *Transcript) remove(uuid string) {
	i := t.at(uuid)
	t.Lines = append(t.Lines[:i:i], t.Lines[i+1:]...)
}

func (t *Transcript) insert(before string, line []byte) {
	t.Lines = slices.Insert(slices.Clone(t.Lines), t.at(before), line)
}

func (t *Transcript) appendLine(line []byte) { t.Lines = append(t.Lines, line) }

// without removes all lines that contain a text.
func (t *Transcript) without(text string) {
	var kept [][]byte
	for _, l := range t.Lines {
		if !bytes.Contains(l, []byte(text)) {
			kept = append(kept, l)
		}
	}
	t.Lines = kept
}

// The records of Baseline that are damaged.
const (
	prompt1  = "f0fdb6"
	prompt3  = "b1f9b1"
	think3   = "0940b2"
	answer3  = "398f14"
	prompt4  = "698f44" // ten minutes after answer3
	think4   = "f7dd35" // a second after prompt4
	text4    = "4dee11"
	call4    = "f40313"
	result4  = "4631f8"
	think4b  = "586574"
	call4b   = "2b6b9b"
	result4b = "cc5b43"
	answer4  = "ac66f6"
	answer5  = "0415a6"
	prompt6  = "4f79f8"
	prompt7  = "594c83"
	result7  = "935640"
	answer7  = "1e2cd0"
	callA    = "a8387e" // the first of two parallel calls
	think5b  = "1c5349"
	resultA  = "126bea" // of callA
	// The records of the other shapes.
	answer33   = "bc88e2"
	context14  = "ba1a38" // before a prompt
	think26    = "3e01b6"
	answer26   = "be741c"
	think16    = "580e14"
	answer55   = "dd872e"
	note27     = "ffe794"
	note33     = "61e3b8" // after the last answer
	boundary   = "3bf07f"
	summary    = "26d9dc"
	preserved1 = "3cbbe2"
	preserved2 = "34cb84"
	caveat     = "27623a"
	command    = "fe951c"
	output     = "d9620d"
	first      = "6c6eb4"
	answer24   = "425563"
	answer15   = "03c3f7" // before the last prompt before the compaction
	last101    = "672ef5" // the last prompt
	after92    = "48a50d" // the first prompt after the compaction
	unknownID  = "00000000-0000-4000-8000-000000000000"
)

// A Damage is one way to break a transcript.
type Damage struct {
	Name  string
	Shape string // of the healthy transcript; "" for Baseline
	Apply func(t *Transcript)

	Reported bool // mend reports it, and does not repair it
}

// Broken returns the transcript with the damage.
func (d Damage) Broken() []byte {
	t := New()
	if d.Shape != "" {
		t = Shape(d.Shape)
	}
	d.Apply(t)
	return t.Bytes()
}

// ByName returns the damage with that name. It panics for an unknown name.
func ByName(name string) Damage {
	for _, d := range Damages {
		if d.Name == name {
			return d
		}
	}
	panic("no damage " + name)
}

func record(uuid string, change func(r map[string]any)) func(*Transcript) {
	return func(t *Transcript) { t.edit(uuid, change) }
}

func parent(uuid string, to any) func(*Transcript) {
	return record(uuid, func(r map[string]any) { r["parentUuid"] = to })
}

// childOf makes another record the parent of a record.
func childOf(uuid, parentUUID string) func(*Transcript) {
	return func(t *Transcript) { parent(uuid, t.uuid(parentUUID))(t) }
}

// onScreen marks a record as written by the program with a screen, which stores when the user goes back.
func onScreen(uuid string) func(*Transcript) {
	return record(uuid, func(r map[string]any) { r["entrypoint"] = "cli" })
}

func block(uuid string, change func(b map[string]any)) func(*Transcript) {
	return record(uuid, func(r map[string]any) { change(r["message"].(map[string]any)["content"].([]any)[0].(map[string]any)) })
}

// result replaces the content of a result.
func result(to any) func(*Transcript) {
	return block(result4, func(b map[string]any) { b["content"] = to })
}

func kind(uuid, to string) func(*Transcript) {
	return record(uuid, func(r map[string]any) { r["type"] = to })
}

func content(uuid string, to any) func(*Transcript) {
	return record(uuid, func(r map[string]any) { r["message"].(map[string]any)["content"] = to })
}

// swap exchanges the content of two records.
func swap(a, b string) func(*Transcript) {
	return func(t *Transcript) {
		var ofA, ofB any
		t.edit(a, func(r map[string]any) { ofA = r["message"].(map[string]any)["content"] })
		t.edit(b, func(r map[string]any) { ofB = r["message"].(map[string]any)["content"] })
		all(content(a, ofB), content(b, ofA))(t)
	}
}

// lead adds bytes to the beginning of a line.
func lead(uuid, with string) func(*Transcript) {
	return func(t *Transcript) { i := t.at(uuid); t.Lines[i] = append([]byte(with), t.Lines[i]...) }
}

func all(changes ...func(*Transcript)) func(*Transcript) {
	return func(t *Transcript) {
		for _, c := range changes {
			c(t)
		}
	}
}

func torn(uuid string) func(*Transcript) {
	return func(t *Transcript) { i := t.at(uuid); t.Lines[i] = t.Lines[i][:60] }
}

func lost(uuid string) func(*Transcript) { return func(t *Transcript) { t.remove(uuid) } }

func sidechain(uuids ...string) func(*Transcript) {
	return func(t *Transcript) {
		for _, u := range uuids {
			t.edit(u, func(r map[string]any) { r["isSidechain"] = true })
		}
	}
}

// fileBlock returns an image or a document.
func fileBlock(kind, mediaType string, data any) map[string]any {
	return map[string]any{"type": kind, "source": map[string]any{"type": "base64", "media_type": mediaType, "data": data}}
}

func largeImageIn(uuid string) func(*Transcript) {
	return func(t *Transcript) { content(uuid, append([]any{tooLargeImage()}, texts("see")...))(t) }
}

func tooLargeImage() map[string]any {
	return fileBlock("image", "image/png", strings.Repeat("A", tooLarge))
}

// exchange returns a prompt after a record, and its answer. Their ids end in n and n+1.
func exchange(parent string, n int, at, text string) [][]byte {
	common := fmt.Sprintf(`"isSidechain":false,"sessionId":%q,"version":"2.1.330","cwd":"/home/user/project"`, Session)
	id := func(n int) string { return fmt.Sprintf("bbbbbbbb-0000-4000-8000-%012d", n) }
	return [][]byte{
		fmt.Appendf(nil, `{"parentUuid":%q,"type":"user","uuid":%q,"timestamp":"%s.000Z","message":{"role":"user","content":[{"type":"text","text":%q},{"type":"text","text":"and more"}]},%s}`, parent, id(n), at, text, common),
		fmt.Appendf(nil, `{"parentUuid":%q,"type":"assistant","uuid":%q,"timestamp":"%s.500Z","message":{"id":"msg_02b%d","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"Yes, %s."}]},%s}`, id(n), id(n+1), at, n, text, common),
	}
}

func texts(all ...string) (list []any) {
	for _, text := range all {
		list = append(list, map[string]any{"type": "text", "text": text})
	}
	return list
}

// media adds an image or a document to a prompt.
func media(kind, mediaType string, data any) func(*Transcript) {
	return content(prompt3, []any{fileBlock(kind, mediaType, data), map[string]any{"type": "text", "text": "see"}})
}

// beforeCompaction adds a prompt and its answer after an answer from before the compaction. Their lines come
// before a record of the transcript, or at its end.
func beforeCompaction(t *Transcript, before string) {
	i, at := len(t.Lines), "2026-11-22T17:30:00"
	if before != "" {
		i, at = t.at(before), "2026-11-22T17:00:00"
	}
	t.Lines = slices.Insert(slices.Clone(t.Lines), i, exchange(t.uuid(answer15), 1, at, "from the other process")...)
}

// noteBefore adds a note at the end, with an answer from before the compaction as parent.
func noteBefore(t *Transcript) {
	t.appendLine(fmt.Appendf(nil, `{"parentUuid":%q,"isSidechain":false,"type":"system","subtype":"turn_duration","uuid":%q,"timestamp":"2026-11-22T17:30:00.000Z","durationMs":7}`, t.uuid(answer15), unknownID))
}

func reversed(t *Transcript) { slices.Reverse(t.Lines) }

func shuffled(t *Transcript) {
	rand.New(rand.NewPCG(6, 31)).Shuffle(len(t.Lines), func(i, k int) { t.Lines[i], t.Lines[k] = t.Lines[k], t.Lines[i] })
}

func nothingPreserved(t *Transcript) {
	t.edit(boundary, func(r map[string]any) { r["compactMetadata"] = map[string]any{"trigger": "manual", "preTokens": 32} })
}

// GIFs of one pixel on a logical screen whose width is 9,000 and 2,001 pixels.
const (
	wideImage  = "R0lGODdhKCMBAIAAAAAAAAAAACwAAAAAAQABAAACAkQBADs="
	largeImage = "R0lGODdh0QcBAIAAAAAAAAAAACwAAAAAAQABAAACAkQBADs="
)

const tooLarge = 5<<20 + 4

const progressLine = `{"parentUuid":%q,"isSidechain":false,"type":"progress","uuid":%q,"timestamp":"2026-11-22T14:50:00.000Z","data":{}}`

// largePDF returns a PDF that exceeds the size of a request.
func largePDF() string { return "JVBERi0x" + strings.Repeat("A", 33<<20) }

// Damages are all kinds of damage.
var Damages = []Damage{
	{Name: "none", Apply: func(*Transcript) {}},

	// Missing history.
	{Name: "parent unknown", Apply: parent(prompt4, unknownID)},
	{Name: "parent null", Apply: parent(prompt4, nil)},
	{Name: "a plan, the context cleared", Apply: func(t *Transcript) {
		t.insert(prompt4, fmt.Appendf(nil, `{"parentUuid":null,"isSidechain":false,"type":"progress","uuid":%q,"timestamp":"2026-11-22T14:59:25.000Z","version":"2.1.29","data":{"type":"hook_progress","hookEvent":"SessionStart","hookName":"SessionStart:clear"}}`, unknownID))
		t.edit(prompt4, func(r map[string]any) {
			m := r["message"].(map[string]any)
			r["parentUuid"], r["planContent"], m["content"] = unknownID, "# Plan", "Implement the following plan:\n\n"+m["content"].(string)
		})
	}},
	{Name: "an answer that a Stop hook alone names", Apply: func(t *Transcript) {
		record := `{"parentUuid":%q,"isSidechain":false,"type":%q,"subtype":"stop_hook_summary","uuid":%q,"timestamp":"2026-11-22T14:49:30.000Z","version":"2.1.29","data":{"type":"hook_progress","hookEvent":"Stop","hookName":"Stop"}}`
		t.insert(prompt4, fmt.Appendf(nil, record, t.uuid(answer3), "progress", unknownID))
		t.insert(prompt4, fmt.Appendf(nil, record, unknownID, "system", unknownID[:35]+"1"))
		t.remove(answer3)
		parent(prompt4, unknownID[:35]+"1")(t)
	}},
	{Name: "parent missing", Apply: record(prompt4, func(r map[string]any) { delete(r, "parentUuid") })},
	{Name: "parent a number", Apply: parent(prompt4, 7)},
	{Name: "parent an object", Apply: parent(prompt4, map[string]any{"a": 1})},
	{Name: "parent itself", Apply: childOf(prompt4, prompt4)},
	{Name: "parent after it", Apply: childOf(prompt4, answer4)},
	{Name: "parent unknown twice", Apply: all(parent(prompt4, unknownID), parent(prompt6, unknownID))},
	{Name: "parent unknown within 5 s", Apply: parent(think4, unknownID)},
	{Name: "parent a snapshot", Apply: func(t *Transcript) {
		t.appendLine([]byte(`{"type":"file-history-snapshot","messageId":"` + unknownID + `","snapshot":{},"isSnapshotUpdate":false}`))
		parent(prompt6, unknownID)(t)
	}},
	{Name: "parent of an unknown type", Apply: kind(answer3, "novelty")},
	{Name: "line torn", Apply: torn(answer3)},
	{Name: "line lost", Apply: lost(answer3)},
	{Name: "line of a prompt torn", Apply: torn(prompt4)},
	{Name: "line of a prompt lost", Apply: lost(prompt4)},
	{Name: "line led by NUL bytes", Apply: lead(answer3, "\x00\x00\x00")},
	{Name: "line led by a byte order mark", Apply: lead(answer3, "\ufeff")},
	{Name: "line after a torn one", Apply: func(t *Transcript) {
		i := t.at(answer3)
		t.Lines[i] = append(bytes.Clone(t.Lines[i][:50]), t.Lines[i]...)
	}},
	{Name: "disk full for one prompt", Apply: func(t *Transcript) {
		from, to := t.at(prompt6), t.at(prompt7)
		t.Lines = append(append(t.Lines[:from:from], []byte(`{"parentUuid":"0415a65f-33d1`)), t.Lines[to:]...)
	}},
	{Name: "all marked as a subagent's", Reported: true, Apply: func(t *Transcript) {
		for i, l := range t.Lines {
			t.Lines[i] = bytes.Replace(l, []byte(`"isSidechain":false`), []byte(`"isSidechain":true`), 1)
		}
	}},
	{Name: "last marked as a subagent's", Reported: true, Apply: sidechain(answer7)},
	{Name: "one marked as a subagent's", Apply: sidechain(think3)},
	{Name: "one that is only shown", Apply: record(answer5, func(r map[string]any) { r["isVirtual"] = true })},
	{Name: "a result that is only shown", Apply: record(result4, func(r map[string]any) { r["isVirtual"] = true })},
	{Name: "one uuid twice", Reported: true, Apply: func(t *Transcript) { t.edit(think3, func(r map[string]any) { r["uuid"] = t.uuid(text4) }) }},
	{Name: "a note hangs on an early record", Shape: "interrupted", Apply: childOf(note33, note27)},
	{Name: "a record of nearly the same time is taken", Shape: "fork", Apply: all(lost(preserved1), lost(preserved2), lost(caveat), lost(command), lost(output))},
	{Name: "a record comes back after its child", Apply: func(t *Transcript) {
		i := t.at(callA)
		t.appendLine(t.Lines[i])
		t.Lines[i] = []byte{}
	}},
	{Name: "a record without an id", Apply: record(think3, func(r map[string]any) { r["uuid"] = "" })},
	{Name: "last answer led by NUL bytes", Shape: "interrupted", Apply: lead(answer33, "\x00\x00\x00")},
	{Name: "result hangs on an early record", Apply: childOf(result7, think5b)},
	{Name: "result of a parallel call hangs on an early record", Apply: childOf(resultA, prompt3)},
	{Name: "NUL bytes at the end", Apply: func(t *Transcript) { t.Whole = func(data []byte) []byte { return append(data, make([]byte, 5000)...) } }},

	// Lines in another order.
	{Name: "lines reversed", Reported: true, Apply: reversed},
	{Name: "lines shuffled, with a compaction", Reported: true, Shape: "compaction", Apply: shuffled},

	// Compactions.
	{Name: "summary lost", Shape: "compaction", Apply: lost(summary)},
	{Name: "summary empty", Shape: "compaction", Apply: content(summary, "")},
	{Name: "boundary lost", Reported: true, Shape: "compaction", Apply: lost(boundary)},
	{Name: "compaction without metadata", Reported: true, Shape: "compaction", Apply: record(boundary, func(r map[string]any) { delete(r, "compactMetadata") })},
	{Name: "preserved message lost", Reported: true, Shape: "compaction", Apply: lost(preserved1)},
	{Name: "preserved messages named by their ends", Shape: "compaction", Apply: record(boundary, func(r map[string]any) { delete(r["compactMetadata"].(map[string]any), "preservedMessages") })},

	// A second process continues after a prompt from before the compaction.
	{Name: "two processes, one compacts and continues", Shape: "compaction", Apply: func(t *Transcript) { beforeCompaction(t, last101) }},
	{Name: "two processes, one compacts and the other continues", Shape: "compaction", Apply: func(t *Transcript) { beforeCompaction(t, "") }},
	{Name: "a note after the compaction hangs before it", Shape: "compaction", Apply: noteBefore},
	{Name: "a note after a compaction that preserves nothing hangs before it", Shape: "compaction", Apply: all(nothingPreserved, noteBefore)},
	{Name: "context after a compaction hangs before it", Shape: "compaction", Apply: all(nothingPreserved, childOf(context14, answer15))},
	{Name: "prompt after a compaction hangs before it", Shape: "compaction", Apply: all(nothingPreserved, childOf(last101, answer15))},
	{Name: "prompt after a compaction hangs before what it preserves", Shape: "compaction", Apply: all(onScreen(last101), childOf(last101, answer15))},
	{Name: "summary of a compaction that preserves nothing lost", Shape: "compaction", Apply: all(nothingPreserved, lost(summary))},
	{Name: "boundary that preserves nothing, with a parent", Shape: "compaction", Apply: all(nothingPreserved, childOf(boundary, preserved2))},
	{Name: "boundary with a parent", Shape: "compaction", Apply: childOf(boundary, preserved2)},
	{Name: "prompt after a compaction of a large file hangs before it", Shape: "compaction", Apply: func(t *Transcript) {
		nothingPreserved(t)
		parent(last101, t.uuid(answer15))(t)
		t.insert(first, []byte(`{"type":"queue-operation","operation":"enqueue","content":"`+strings.Repeat("x", 5<<20)+`"}`))
	}},
	{Name: "compaction that preserves nothing", Shape: "compaction", Apply: nothingPreserved},
	{Name: "preserved answer with a foreign field", Shape: "compaction", Apply: block(preserved2, func(b map[string]any) { b["foo"] = 1 })},
	{Name: "preserved messages torn", Shape: "compaction", Apply: all(torn(preserved1), torn(preserved2))},
	{Name: "preserved thinking after its text", Shape: "compaction", Apply: swap(preserved1, preserved2)},
	{Name: "summary torn", Shape: "compaction", Apply: torn(summary)},
	{Name: "summary without its parent", Shape: "compaction", Apply: parent(summary, unknownID)},
	{Name: "anchor of what is preserved unknown", Shape: "compaction", Apply: func(t *Transcript) {
		t.edit(boundary, func(r map[string]any) {
			m := r["compactMetadata"].(map[string]any)
			m["preservedMessages"].(map[string]any)["anchorUuid"] = unknownID
			m["preservedSegment"].(map[string]any)["anchorUuid"] = unknownID
		})
	}},
	{Name: "first prompt after a compaction torn", Shape: "compaction", Apply: torn(after92)},

	{Name: "two processes", Apply: all(onScreen(prompt7), childOf(prompt7, answer5))},
	{Name: "gone back in print mode", Apply: childOf(prompt7, answer5)}, // --resume-session-at
	{Name: "gone back on the screen", Apply: all(onScreen(prompt7), childOf(prompt7, answer5), func(t *Transcript) {
		i := t.at(prompt7) + 1
		t.Lines = slices.Insert(t.Lines, i, []byte(`{"type":"last-prompt","leafUuid":"00000000-0000-0000-0000-000000000000","explicit":true,"sessionId":"`+Session+`"}`))
	})},

	{Name: "two processes, one after a prompt without an answer", Apply: func(t *Transcript) {
		p7 := t.uuid(prompt7)
		const note, prompt, answer = "aaaaaaaa-0000-4000-8000-000000000001", "aaaaaaaa-0000-4000-8000-000000000002", "aaaaaaaa-0000-4000-8000-000000000003"
		common := `"isSidechain":false,"sessionId":"` + Session + `","version":"2.1.330"`
		other := fmt.Sprintf(`{"parentUuid":%q,"type":"assistant","uuid":%q,"timestamp":"2026-11-22T15:29:40.000Z","message":{"id":"m1","role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"No response requested."}]},%s}
{"parentUuid":%q,"type":"user","uuid":%q,"timestamp":"2026-11-22T15:29:40.100Z","message":{"role":"user","content":"from the other process"},%s}
{"parentUuid":%q,"type":"assistant","uuid":%q,"timestamp":"2026-11-22T15:29:40.200Z","message":{"id":"m2","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"an answer"}]},%s}`,
			p7, note, common, note, prompt, common, prompt, answer, common)
		i := t.at(prompt7) + 1
		t.Lines = append(t.Lines[:i:i], append(bytes.Split([]byte(other), []byte("\n")), t.Lines[i:]...)...)
	}},

	// Permanent refusals.
	{Name: "call id with a colon", Apply: all(block(call4, func(b map[string]any) { b["id"] = "a:b" }), block(result4, func(b map[string]any) { b["tool_use_id"] = "a:b" }))},
	{Name: "call id empty", Apply: all(block(call4, func(b map[string]any) { b["id"] = "" }), block(result4, func(b map[string]any) { b["tool_use_id"] = "" }))},
	{Name: "input a string", Apply: block(call4, func(b map[string]any) { b["input"] = "x" })},
	{Name: "input a list", Apply: block(call4, func(b map[string]any) { b["input"] = []any{1} })},
	{Name: "input null", Apply: block(call4, func(b map[string]any) { b["input"] = nil })},
	{Name: "name with a space", Apply: block(call4, func(b map[string]any) { b["name"] = "a b" })},
	{Name: "name missing", Apply: block(call4, func(b map[string]any) { delete(b, "name") })},
	{Name: "empty prompt", Apply: content(prompt3, "")},
	{Name: "blank prompt", Apply: content(prompt3, " \n")},
	{Name: "empty text in a result", Apply: result([]any{map[string]any{"type": "text", "text": ""}})},
	{Name: "thinking after the text", Apply: swap(think3, answer3)},
	{Name: "unknown block", Reported: true, Apply: content(answer3, []any{map[string]any{"type": "novelty", "x": 1}})},
	{Name: "foreign field", Apply: block(answer3, func(b map[string]any) { b["foo"] = 1 })},
	{Name: "thinking of no model", Apply: record(think3, func(r map[string]any) { delete(r["message"].(map[string]any), "model") })},
	{Name: "thinking of another model, its signature a number", Apply: func(t *Transcript) {
		block(think3, func(b map[string]any) { b["signature"] = 7 })(t)
		for _, uuid := range []string{think3, answer3} {
			t.edit(uuid, func(r map[string]any) { r["message"].(map[string]any)["model"] = "claude-sonnet-5" })
		}
	}},
	{Name: "thinking a number", Reported: true, Apply: block(think3, func(b map[string]any) { b["thinking"] = 7 })},
	{Name: "signature a number", Reported: true, Apply: block(think3, func(b map[string]any) { b["signature"] = 7 })},
	{Name: "citations a text", Reported: true, Apply: block(answer3, func(b map[string]any) { b["citations"] = "x" })},
	{Name: "is_error a text", Reported: true, Apply: block(result4, func(b map[string]any) { b["is_error"] = "x" })},
	{Name: "a text in the list of a result", Reported: true, Apply: result([]any{"x"})},
	{Name: "a number in the list of a result", Reported: true, Apply: result([]any{7})},
	{Name: "unknown block in a result", Reported: true, Apply: result([]any{map[string]any{"type": "novelty"}})},
	{Name: "text of a result a number", Apply: result([]any{map[string]any{"type": "text", "text": 7}})},
	{Name: "image without a source", Reported: true, Apply: content(prompt3, []any{map[string]any{"type": "image"}, map[string]any{"type": "text", "text": "see"}})},
	{Name: "call in a record of the user", Reported: true, Apply: kind(call4, "user")},
	{Name: "thinking without its text", Reported: true, Apply: block(think3, func(b map[string]any) { delete(b, "thinking") })},
	{Name: "redacted thinking without its data", Reported: true, Apply: content(think3, []any{map[string]any{"type": "redacted_thinking"}})},
	{Name: "image without data, in a result", Reported: true, Apply: result([]any{map[string]any{"type": "image", "source": map[string]any{"type": "base64", "media_type": "image/png"}}})},
	{Name: "image without a source, in a result", Reported: true, Apply: result([]any{map[string]any{"type": "image"}, map[string]any{"type": "text", "text": "see"}})},
	{Name: "PDF larger than a request", Reported: true, Apply: func(t *Transcript) { media("document", "application/pdf", largePDF())(t) }},
	{Name: "PDF larger than a request, in a result", Reported: true, Apply: block(result4, func(b map[string]any) {
		b["content"] = []any{fileBlock("document", "application/pdf", largePDF())}
	})},
	{Name: "image data a number", Reported: true, Apply: media("image", "image/png", 7)},
	{Name: "large image in an early prompt", Apply: largeImageIn(prompt3)},
	{Name: "document data a number", Reported: true, Apply: media("document", "application/pdf", 7)},
	{Name: "two large images in early prompts", Apply: all(largeImageIn(prompt3), largeImageIn(prompt4))},
	{Name: "large image in the last prompt", Apply: largeImageIn(prompt7)},
	{Name: "large image in a result", Apply: block(result4, func(b map[string]any) { b["content"] = []any{tooLargeImage()} })},

	// Damage that Claude Code handles itself.
	{Name: "result line lost", Apply: lost(result4)},
	{Name: "call without result", Apply: all(childOf(think4b, call4), lost(result4))},
	{Name: "killed in a call", Apply: func(t *Transcript) { t.Lines = t.Lines[:t.at(result7)] }},
	{Name: "killed between two results", Apply: func(t *Transcript) { t.Lines = t.Lines[:t.at(resultA)+1] }},
	{Name: "result in a record of an answer", Apply: kind(result4, "assistant")},
	{Name: "text after a call", Apply: func(t *Transcript) {
		t.edit(call4, func(r map[string]any) {
			m := r["message"].(map[string]any)
			m["content"] = append(m["content"].([]any), map[string]any{"type": "text", "text": "behind"})
		})
	}},
	{Name: "thinking after a call", Apply: func(t *Transcript) {
		again := t.changed(think4, func(r map[string]any) { r["uuid"], r["parentUuid"] = unknownID, t.uuid(call4) })
		parent(result4, unknownID)(t)
		i := t.at(call4) + 1
		t.Lines = slices.Insert(t.Lines, i, again)
	}},
	{Name: "thinking in a record of the user", Apply: kind(think3, "user")},
	{Name: "call id twice", Apply: func(t *Transcript) {
		block(call4b, func(b map[string]any) { b["id"] = "toolu_0006A" })(t)
		block(result4b, func(b map[string]any) { b["tool_use_id"] = "toolu_0006A" })(t)
	}},
	{Name: "empty answer", Apply: block(answer3, func(b map[string]any) { b["text"] = "" })},
	{Name: "null text", Apply: block(answer3, func(b map[string]any) { b["text"] = nil })},
	{Name: "unsigned thinking", Apply: content(think3, []any{map[string]any{"type": "thinking", "thinking": "x"}})},
	{Name: "block null", Apply: content(answer3, []any{nil})},
	{Name: "block a text", Apply: content(prompt3, []any{"x"})},
	{Name: "block without a type", Apply: block(answer3, func(b map[string]any) { delete(b, "type") })},
	{Name: "result in an answer", Apply: content(answer3, []any{map[string]any{"type": "tool_result", "tool_use_id": "toolu_0006A", "content": "x"}})},
	{Name: "result a number", Apply: result(7)},
	{Name: "type of an answer in other letters", Apply: kind(answer3, "Assistant")},
	{Name: "message null", Apply: record(answer3, func(r map[string]any) { r["message"] = nil })},
	{Name: "message missing", Apply: record(answer3, func(r map[string]any) { delete(r, "message") })},
	{Name: "content null", Apply: content(answer3, nil)},
	{Name: "content a number", Apply: content(prompt3, 7)},
	{Name: "what a command printed", Apply: func(t *Transcript) {
		record := `{"parentUuid":%q,"isSidechain":false,"type":"system","subtype":"local_command","content":%q,"level":"info","isMeta":false,"uuid":%q,"timestamp":"2026-11-22T14:49:30.000Z","version":"2.1.227"}`
		t.insert(prompt4, fmt.Appendf(nil, record, t.uuid(answer3), "<command-name>/skills</command-name>", unknownID))
		t.insert(prompt4, fmt.Appendf(nil, record, unknownID, "<local-command-stdout>none</local-command-stdout>", unknownID[:35]+"1"))
		parent(prompt4, unknownID[:35]+"1")(t)
	}},
	{Name: "a result that names tools", Apply: result([]any{map[string]any{"type": "tool_reference", "tool_name": "WebFetch"}})},
	{Name: "progress records", Apply: func(t *Transcript) {
		t.insert(prompt4, fmt.Appendf(nil, progressLine, t.uuid(answer3), unknownID))
		parent(prompt4, unknownID)(t)
	}},
	{Name: "progress record that hangs on an early record", Apply: func(t *Transcript) {
		t.insert(prompt6, fmt.Appendf(nil, progressLine, t.uuid(prompt3), unknownID))
		all(onScreen(prompt6), parent(prompt6, unknownID))(t)
	}},
	{Name: "garbage lines", Apply: func(t *Transcript) {
		t.Lines = append(t.Lines[:20:20], append([][]byte{[]byte("<<<<<<< HEAD"), nil, []byte("[1,2]"), []byte("7")}, t.Lines[20:]...)...)
	}},
	{Name: "last line torn", Apply: func(t *Transcript) { n := len(t.Lines) - 1; t.Lines[n] = t.Lines[n][:50] }},
	{Name: "CRLF", Apply: func(t *Transcript) {
		for i := range t.Lines {
			t.Lines[i] = append(t.Lines[i], '\r')
		}
	}},
	{Name: "two records on one line", Apply: func(t *Transcript) {
		i := t.at(answer3)
		t.Lines = append(append(t.Lines[:i:i], append(t.Lines[i], t.Lines[i+1]...)), t.Lines[i+2:]...)
	}},
	{Name: "no last-prompt records", Apply: func(t *Transcript) { t.without(`"type":"last-prompt"`) }},
	{Name: "first prompt torn", Apply: torn(prompt1)},
	{Name: "stray prompt at the end", Apply: func(t *Transcript) {
		t.appendLine(t.changed(prompt3, func(r map[string]any) {
			r["uuid"], r["timestamp"] = unknownID, "2026-11-22T16:00:00.000Z"
		}))
	}},
	{Name: "an early record has the latest time", Apply: record(answer3, func(r map[string]any) { r["timestamp"] = "2026-11-22T16:00:00.000Z" })},
	{Name: "result without call", Apply: all(childOf(result4, text4), lost(call4))},
	{Name: "result twice", Apply: func(t *Transcript) {
		again := t.changed(result4, func(r map[string]any) { r["uuid"], r["parentUuid"] = unknownID, t.uuid(result4) })
		parent(think4b, unknownID)(t)
		t.insert(think4b, again)
	}},
	{Name: "result before its call", Apply: func(t *Transcript) {
		result, call := t.at(result4), t.at(call4)
		parent(result4, t.uuid(text4))(t)
		parent(call4, t.uuid(result4))(t)
		parent(think4b, t.uuid(call4))(t)
		t.Lines[result], t.Lines[call] = t.Lines[call], t.Lines[result]
	}},
	{Name: "prompt between call and result", Apply: func(t *Transcript) {
		between := t.changed(prompt3, func(r map[string]any) {
			r["uuid"], r["parentUuid"], r["timestamp"] = unknownID, t.uuid(call4), "2026-11-22T14:59:26.500Z"
		})
		parent(result4, unknownID)(t)
		t.insert(result4, between)
	}},
	{Name: "answer of thinking only", Apply: all(childOf(prompt4, think3), lost(answer3))},
	{Name: "thinking without the id of its answer", Apply: record(think3, func(r map[string]any) { delete(r["message"].(map[string]any), "id") })},
	{Name: "thinking with a list for the id of its answer", Apply: record(think3, func(r map[string]any) { r["message"].(map[string]any)["id"] = []any{} })},
	{Name: "context between the parts of an answer", Apply: func(t *Transcript) {
		const text = "<system-reminder>\\nToday's date is 2026-11-22.\\n</system-reminder>"
		line := fmt.Appendf(nil, `{"parentUuid":%q,"isSidechain":false,"attachment":{"type":"date","date":"2026-11-22"},"type":"attachment","uuid":%q,"timestamp":"2026-11-22T14:49:00.000Z","rendered":[{"content":"%s"}],"renderedRole":"user"}`, t.uuid(think3), unknownID, text)
		t.insert(answer3, line)
		parent(answer3, unknownID)(t)
	}},
	{Name: "last answer of thinking only", Apply: func(t *Transcript) { t.Lines = t.Lines[:t.at(text4)] }},
	{Name: "a subagent's records at the end", Apply: func(t *Transcript) {
		prompt := t.changed(prompt3, func(r map[string]any) {
			r["uuid"], r["parentUuid"], r["isSidechain"], r["timestamp"] = unknownID, nil, true, "2026-11-22T16:00:00.000Z"
		})
		t.appendLine(prompt)
		t.appendLine(t.changed(answer3, func(r map[string]any) {
			r["uuid"], r["parentUuid"], r["isSidechain"], r["timestamp"] = "00000000-0000-4000-8000-000000000001", unknownID, true, "2026-11-22T16:00:01.000Z"
			r["message"].(map[string]any)["id"] = "msg_01subagent"
		}))
	}},
	{Name: "empty text in a list", Apply: content(prompt3, texts(""))},
	{Name: "blank text in a list", Apply: content(prompt3, texts(" \n"))},
	{Name: "empty texts in a list", Apply: content(prompt3, texts("", ""))},
	{Name: "empty text beside another", Apply: content(prompt3, texts("", "see"))},
	{Name: "empty text in the first prompt", Apply: content(prompt1, texts(""))},
	{Name: "empty text in two prompts", Apply: all(content(prompt3, texts("")), content(prompt4, texts("")))},
	{Name: "prompt of an empty text before another", Apply: func(t *Transcript) {
		t.insert(prompt3, t.changed(prompt3, func(r map[string]any) {
			r["uuid"], r["message"].(map[string]any)["content"] = unknownID, texts("")
		}))
		parent(prompt3, unknownID)(t)
	}},
	{Name: "blank text in an answer", Apply: block(answer3, func(b map[string]any) { b["text"] = " \n" })},
	{Name: "image that is a text", Apply: media("image", "image/png", "bm90IGFuIGltYWdl")},
	{Name: "image that is a text, in a result", Apply: result([]any{fileBlock("image", "image/png", "bm90IGFuIGltYWdl")})},
	{Name: "image of another type", Apply: media("image", "image/jpeg", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")},
	{Name: "image over 8,000 pixels", Apply: media("image", "image/gif", wideImage)},
	{Name: "image over 8,000 pixels, in a result", Apply: result([]any{fileBlock("image", "image/gif", wideImage)})},
	{Name: "21 images over 2,000 pixels", Apply: func(t *Transcript) {
		var list []any
		for range 21 {
			list = append(list, fileBlock("image", "image/gif", largeImage))
		}
		content(prompt3, append(list, texts("see")...))(t)
	}},
	{Name: "document that is no PDF", Apply: media("document", "application/pdf", "bm90IGEgUERG")},
	{Name: "signature of another account", Apply: block(think3, func(b map[string]any) { b["signature"] = "c2lnbmVkIGVsc2V3aGVyZQ==" })},
	{Name: "a record again", Apply: func(t *Transcript) {
		t.appendLine(t.changed(answer3, func(r map[string]any) {
			r["message"].(map[string]any)["content"] = []any{map[string]any{"type": "text", "text": "again"}}
		}))
	}},
}

// Subagent is the id of the subagent with the transcript "subagent", and SubagentMeta the metadata stored
// beside it.
const (
	Subagent     = "ac60ca9b68efe8e8f"
	SubagentMeta = `{"agentType":"general-purpose","isBuiltIn":true,"launchedWithDefaults":true,"description":"sub","toolUseId":"toolu_0010A","spawnDepth":1,"requestShape":"background","requestNonInteractive":true,"model":"claude-opus-5-5","pickedEffortModel":"claude-opus-5-5","finished":true}`
)

// BrokenSubagent returns the subagent's transcript with a second prompt with a missing parent.
func BrokenSubagent() []byte {
	t := Shape("subagent")
	parent("4cafca", unknownID)(t)
	return t.Bytes()
}

// everyday has common kinds of damage, one example of each.
var everyday = []string{
	"none", "parent unknown", "line torn", "disk full for one prompt", "NUL bytes at the end", "summary lost", "two processes", "killed in a call",
	"empty prompt", "thinking after the text", "large image in an early prompt", "result twice", "image that is a text", "signature of another account",
	"stray prompt at the end", "empty", "NUL bytes", "half a record", "a prompt", "an answer alone", "a compaction alone", "metadata",
}

// Everyday reports whether make e2e tries the damage or the stub with that name; make night tries all.
func Everyday(name string) bool { return slices.Contains(everyday, name) }
