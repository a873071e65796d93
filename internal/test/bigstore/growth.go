package bigstore

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
)

// A Shape is a damaged session that grows in one dimension. The cost of a repair must grow no faster than the session.
type Shape struct {
	Name  string
	Small int // a size at which the growth shows
	make  func(w *writer, n int) error
}

// Shapes returns all shapes, with the sizes of a measurement.
func Shapes() []Shape {
	return []Shape{
		{"depth, cut off", 600, inputOf(nested, cutOff)},
		{"depth", 600, inputOf(nested, whole)},
		{"array length, cut off", 25_000, inputOf(numbers, cutOff)},
		{"array length", 25_000, inputOf(numbers, whole)},
		{"array of changed files", 2_500, changedFiles},
		{"number of keys, cut off", 10_000, inputOf(keys, cutOff)},
		{"number of keys", 10_000, inputOf(keys, whole)},
		{"number of equal keys", 10_000, inputOf(equalKeys, whole)},
		{"number of attachments", 1_000, attachments},
		{"string length, cut off", 1 << 19, outputOf("a line of words\\n", cutOff)},
		{"string of escapes, cut off", 1 << 19, outputOf("\\ud83d\\ude00\\\\\\\"", cutOff)},
		{"string of backslashes", 1 << 19, outputOf("\\\\", cutOff)},
		{"string length", 1 << 19, outputOf("a line of words\\n", whole)},
		{"number of parts", 250, partsOf(unfinished)},
		{"number of damaged parts", 250, partsOf(cutInHalf)},
		{"number of blank parts", 250, partsOf(blank)},
		{"number of thoughts", 250, partsOf(thoughts)},
		{"number of calls before texts", 125, partsOf(callThenText)},
		{"number of messages", 125, messagesOf(unfinished)},
		{"number of damaged messages", 125, answersOf(cutOff, "Done.")},
		{"number of lost messages", 125, answersOf(lost, "Done.")},
		{"number of incomplete messages", 125, answersOf(withoutTime, "Done.")},
		{"number of damaged messages with blank parts", 125, answersOf(cutOff, " ")},
	}
}

// GrowthTree writes a tree with one session of the shape and size below dir, as [Tree] does, and returns the session's id.
func GrowthTree(dir string, s Shape, n int) (session string, err error) {
	err = Tree(dir, func(put func(record) error) error {
		w := newWriter(put)
		w.session = w.id("ses")
		session = w.session
		began := w.clock
		if err := s.make(w, n); err != nil {
			return err
		}
		data := sessionData(w.session, began, w.clock)
		return w.put(record{kind: sessionRecord, id: w.session, session: w.session, message: w.session, created: began, data: data})
	})
	return session, err
}

// ask writes a prompt and returns its id.
func (w *writer) ask(members object) (id string, err error) {
	w.wait(60_000)
	id = w.id("msg")
	data := promptData(id, w.session, w.clock)
	maps.Copy(data, members)
	if err := w.put(record{kind: messageRecord, id: id, session: w.session, message: id, created: w.clock, data: data}); err != nil {
		return "", err
	}
	return id, w.part(id, nil, object{"type": "text", "text": "Do it."})
}

// reply writes a response with those parts. edit changes the parts' texts.
func (w *writer) reply(prompt string, edit func([]byte) []byte, parts ...object) error {
	w.wait(5_000)
	id, began := w.id("msg"), w.clock
	for _, p := range parts {
		textEdit := edit
		if p["type"] == "step-start" || p["type"] == "step-finish" {
			textEdit = nil
		}
		if err := w.part(id, textEdit, p); err != nil {
			return err
		}
	}
	w.wait(3_000)
	return w.put(record{kind: messageRecord, id: id, session: w.session, message: id, created: began, data: answerData(id, w.session, prompt, "stop", began, w.clock)})
}

// hole is replaced by a value of any size.
const hole = "@@"

func whole(data []byte) []byte {
	return bytes.Replace(data, []byte(`"completed"`), []byte(`"running"`), 1)
}
func cutOff(data []byte) []byte { return data[:len(data)/2] }

// inputOf writes a call with a value of size n as its input.
func inputOf(value func(n int) []byte, damage func([]byte) []byte) func(*writer, int) error {
	return callOf(hole, "said", value, damage)
}

// outputOf writes a call with an output of n bytes, which repeats a text.
func outputOf(text string, damage func([]byte) []byte) func(*writer, int) error {
	return callOf("ls", hole, func(n int) []byte { return []byte(`"` + strings.Repeat(text, n/len(text)) + `"`) }, damage)
}

// callOf writes a call. A value of size n replaces the hole in its input or output, and the result is damaged.
func callOf(input, output string, value func(n int) []byte, damage func([]byte) []byte) func(*writer, int) error {
	return func(w *writer, n int) error {
		prompt, err := w.ask(nil)
		if err != nil {
			return err
		}
		edit := func(data []byte) []byte {
			return damage(bytes.Replace(data, []byte(`"`+hole+`"`), value(n), 1))
		}
		return w.reply(prompt, edit, object{"type": "step-start"}, callData("toolu_1", input, output, w.clock), finishData("tool-calls"))
	}
}

func nested(n int) []byte {
	return []byte(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n))
}

func numbers(n int) []byte { return []byte("[" + strings.Repeat("1234,", n-1) + "1234]") }

func keys(n int) []byte {
	b := []byte("{")
	for i := range n {
		b = fmt.Appendf(b, `"key%d":%d,`, i, i)
	}
	return append(b[:len(b)-1], '}')
}

func equalKeys(n int) []byte {
	return []byte("{" + strings.Repeat(`"key":1,`, n-1) + `"key":1}`)
}

// changedFiles writes a prompt that lists n changed files.
func changedFiles(w *writer, n int) error {
	all := make([]any, n)
	for i := range all {
		all[i] = object{"file": fmt.Sprint("file", i), "additions": nil, "deletions": 0}
	}
	prompt, err := w.ask(object{"summary": object{"diffs": all}})
	if err != nil {
		return err
	}
	return w.reply(prompt, nil, object{"type": "step-start"}, object{"type": "text", "text": "Done."}, finishData("stop"))
}

// attachments writes a call with n files that the agent does not accept.
func attachments(w *writer, n int) error {
	prompt, err := w.ask(nil)
	if err != nil {
		return err
	}
	all := make([]any, n)
	for i := range all {
		all[i] = object{"id": w.id("prt"), "type": "file", "mime": "image/png", "url": "not a url"}
	}
	call := callData("toolu_1", "ls", "said", w.clock)
	call["state"].(object)["attachments"] = all
	return w.reply(prompt, nil, object{"type": "step-start"}, call, finishData("tool-calls"))
}

// A damage returns part i of many, with the edit of its text.
type damage func(i int, at int64) (object, func([]byte) []byte)

func unfinished(i int, at int64) (object, func([]byte) []byte) {
	return callData(fmt.Sprint("toolu_", i), "ls", "said", at), whole
}

func cutInHalf(i int, at int64) (object, func([]byte) []byte) {
	return callData(fmt.Sprint("toolu_", i), "ls", "said", at), cutOff
}

func blank(int, int64) (object, func([]byte) []byte) {
	return object{"type": "text", "text": " "}, nil
}

func thoughts(_ int, at int64) (object, func([]byte) []byte) {
	return object{"type": "reasoning", "text": "Let me see.", "time": span(at, at)}, nil
}

func callThenText(i int, at int64) (object, func([]byte) []byte) {
	if i%2 == 1 {
		return object{"type": "text", "text": "Done.", "time": span(at, at)}, nil
	}
	return callData(fmt.Sprint("toolu_", i), "ls", "said", at), nil
}

// partsOf writes a response of n parts.
func partsOf(d damage) func(*writer, int) error {
	return func(w *writer, n int) error {
		prompt, err := w.ask(nil)
		if err != nil {
			return err
		}
		parts := []object{{"type": "step-start"}}
		var edit func([]byte) []byte
		for i := range n {
			var p object
			p, edit = d(i, w.clock)
			parts = append(parts, p)
		}
		return w.reply(prompt, edit, append(parts, finishData("tool-calls"))...)
	}
}

// messagesOf writes n turns, each with one such part.
func messagesOf(d damage) func(*writer, int) error {
	return func(w *writer, n int) error {
		for i := range n {
			prompt, err := w.ask(nil)
			if err != nil {
				return err
			}
			p, edit := d(i, w.clock)
			if err := w.reply(prompt, edit, object{"type": "step-start"}, p, finishData("tool-calls")); err != nil {
				return err
			}
		}
		return nil
	}
}

// answersOf writes n turns whose responses have a part with that text, and edits the records of the
// responses.
func answersOf(edit func([]byte) []byte, text string) func(*writer, int) error {
	return func(w *writer, n int) error {
		put := w.put
		w.put = func(r record) error {
			if r.kind == messageRecord && r.data["role"] == "assistant" {
				r.edit = edit
			}
			return put(r)
		}
		return messagesOf(func(_ int, at int64) (object, func([]byte) []byte) {
			return object{"type": "text", "text": text, "time": span(at, at)}, nil
		})(w, n)
	}
}

// lost removes all bytes of a record.
func lost([]byte) []byte { return nil }

// withoutTime renames a field that the agent needs.
func withoutTime(data []byte) []byte {
	return bytes.Replace(data, []byte(`"time":`), []byte(`"when":`), 1)
}
