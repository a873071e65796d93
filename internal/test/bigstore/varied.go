package bigstore

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
)

// Varied makes sessions like those of real users, with about that many parts in all: several
// versions and models, files, several tools, outputs and images of varied size, failed calls,
// aborted and failed answers, retries, patches, compactions, subtasks, sessions of subagents, members
// that no version knows in a third of the sessions, and kinds of parts in one of thirty. One session
// in twenty is broken. First come healthy sessions of at least these numbers of messages. No code of
// mend is tuned to what it makes.
func Varied(parts int, seed uint64, messages ...int) Mix {
	return func(put func(record) error) error {
		w := &variedWriter{writer: *newWriter(seed, put)}
		for _, w.least = range messages {
			if err := w.conversation(""); err != nil {
				return err
			}
		}
		w.least = 0
		for n := 0; w.parts < parts; n++ {
			w.broken = n%20 == 7
			if err := w.conversation(""); err != nil {
				return err
			}
		}
		return nil
	}
}

// A variedWriter makes sessions that differ from each other.
type variedWriter struct {
	writer

	broken  bool
	least   int    // how many messages the session gets at least
	made    int    // how many messages there are
	unknown bool   // the session has members that no version knows
	kinds   bool   // and kinds of parts
	model   string // of the next prompts
}

var (
	models   = []string{"claude-fake", "claude-other", "claude-third"}
	versions = []string{"1.0.201", "1.1.30", "1.1.53", "1.2.27", "1.2.27", "1.15.0", "1.17.9", "1.18.33", "1.18.33", "1.18.33"}
)

// conversation makes a session, and those of the subagents that it starts.
func (w *variedWriter) conversation(parent string) error {
	outer, version := w.session, versions[w.rnd.IntN(len(versions))]
	if parent == "" {
		w.unknown = w.rnd.IntN(3) == 0
		w.kinds = w.unknown && w.least == 0 && w.rnd.IntN(10) == 0
	}
	w.session = w.id("ses")
	session, began := w.session, w.clock
	w.model = models[w.rnd.IntN(len(models))]
	turns := 1 + w.rnd.IntN(8)
	if parent == "" {
		turns = 2 + int(w.logarithmic(1, 60))
	}
	breaks, most := -1, w.made+w.least
	if w.broken && parent == "" {
		breaks = w.rnd.IntN(turns)
	}
	for i := 0; i < turns || parent == "" && w.made < most; i++ {
		if err := w.turn(parent, i == breaks); err != nil {
			return err
		}
	}
	w.session = outer
	data := sessionData(session, began, w.clock)
	data[2].value = version
	if parent != "" {
		data = slices.Insert(data, 5, member{"parentID", parent})
	}
	if w.unknown {
		data = append(data, member{"labels", []string{"a", "b"}})
	}
	return w.put(record{kind: sessionRecord, id: session, session: session, parent: parent, version: version, created: began, data: data})
}

// turn makes a prompt and its answers.
func (w *variedWriter) turn(parent string, breaks bool) error {
	w.wait(60_000)
	switch n := w.rnd.IntN(100); {
	case n < 2:
		return w.compaction()
	case n < 12:
		w.model = models[w.rnd.IntN(len(models))]
	}
	prompt, err := w.varyPrompt(w.promptParts()...)
	if err != nil {
		return err
	}
	if n := w.rnd.IntN(100); n < 3 {
		return w.failed(prompt)
	} else if n < 6 && parent == "" && w.least == 0 {
		if err := w.conversation(w.session); err != nil {
			return err
		}
	}
	steps := 1 + w.rnd.IntN(6)
	aborted := w.rnd.IntN(25) == 0
	for i := range steps {
		last := i == steps-1
		calls, reason := 1+w.rnd.IntN(3), "tool-calls"
		if last {
			calls, reason = 0, "stop"
		}
		parts := w.varyStep(calls, reason, w.rnd.IntN(3) == 0)
		if breaks && i == 0 {
			parts = w.breakStep(parts)
		}
		if aborted && i == max(0, steps-2) {
			parts = slices.DeleteFunc(parts, func(p object) bool { return p[0].value == "step-finish" })
			return w.varyAnswer(prompt, "", parts, member{"error", failure("MessageAbortedError", object{{"message", "The operation was aborted."}})})
		}
		if err := w.varyAnswer(prompt, reason, parts); err != nil {
			return err
		}
	}
	return nil
}

// breakStep damages the parts of an answer.
func (w *variedWriter) breakStep(parts []object) []object {
	n := w.rnd.IntN(answerDamages + 2)
	call := slices.IndexFunc(parts, func(p object) bool { return p[0].value == "tool" })
	switch {
	case n < answerDamages || call < 0:
		return answerDamage(1 + n%answerDamages).apply(parts)
	case n == answerDamages: // a name that providers refuse
		parts[call][2].value = "a tool"
	default: // one call twice
		parts = slices.Insert(parts, call, slices.Clone(parts[call]))
	}
	return parts
}

// promptParts are a text, and at times a file, or an agent that is asked.
func (w *variedWriter) promptParts() []object {
	parts := []object{{{"type", "text"}, {"text", w.text(20, 4000)}}}
	switch w.rnd.IntN(12) {
	case 0:
		parts = append(parts, object{{"type", "file"}, {"mime", "image/png"}, {"filename", "screen.png"}, {"url", w.image()}})
	case 1:
		parts = append(parts,
			object{{"type", "text"}, {"text", `Called the Read tool with the following input: {"filePath":"/home/user/project/main.go"}`}, {"synthetic", true}},
			object{{"type", "text"}, {"text", w.text(200, 20_000)}, {"synthetic", true}},
			object{{"type", "file"}, {"mime", "text/plain"}, {"filename", "main.go"}, {"url", "file:///home/user/project/main.go"}, {"source", object{
				{"type", "file"}, {"path", "main.go"}, {"text", object{{"value", "@main.go"}, {"start", 0}, {"end", 8}}},
			}}})
	case 2:
		parts = append(parts, object{{"type", "agent"}, {"name", "explore"}, {"source", object{{"value", "@explore"}, {"start", 0}, {"end", 8}}}})
	case 3:
		parts = append(parts, object{{"type", "subtask"}, {"prompt", w.text(20, 500)}, {"description", "looks around"}, {"agent", "explore"}})
	}
	return parts
}

// image is a data URL of a picture of 512 by 384 pixels: a PNG in its structure, with random
// data.
func (w *variedWriter) image() string {
	data := make([]byte, int(w.logarithmic(1000, 300_000)))
	for i := range data {
		data[i] = byte(w.rnd.Uint32())
	}
	picture := []byte("\x89PNG\r\n\x1a\n")
	for _, chunk := range []struct {
		kind string
		data []byte
	}{{"IHDR", []byte("\x00\x00\x02\x00\x00\x00\x01\x80\x08\x02\x00\x00\x00")}, {"IDAT", data}, {"IEND", nil}} {
		picture = binary.BigEndian.AppendUint32(picture, uint32(len(chunk.data)))
		start := len(picture)
		picture = append(append(picture, chunk.kind...), chunk.data...)
		picture = binary.BigEndian.AppendUint32(picture, crc32.ChecksumIEEE(picture[start:]))
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture)
}

// compaction makes the prompt that asks for a summary, and the summary.
func (w *variedWriter) compaction() error {
	prompt, err := w.varyPrompt(object{{"type", "compaction"}, {"auto", true}})
	if err != nil {
		return err
	}
	parts := []object{
		{{"type", "step-start"}, {"snapshot", snapshot}},
		{{"type", "text"}, {"text", w.text(1000, 8000)}, {"time", span(w.clock, w.clock)}},
		finishData("stop"),
	}
	return w.varyAnswer(prompt, "stop", parts, member{"summary", true})
}

// failed makes an answer that the provider refused, at times after another try.
func (w *variedWriter) failed(prompt string) error {
	const overloaded = "Overloaded"
	detail := object{{"message", overloaded}, {"statusCode", 529}, {"isRetryable", true}, {"responseBody", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`}}
	var parts []object
	if w.rnd.IntN(2) == 0 {
		parts = append(parts, object{{"type", "retry"}, {"attempt", 1}, {"error", failure("APIError", detail)}, {"time", object{{"created", w.clock}}}})
	}
	return w.varyAnswer(prompt, "", parts, member{"error", failure("APIError", detail)})
}

func failure(name string, data object) object { return object{{"name", name}, {"data", data}} }

func (w *variedWriter) varyPrompt(parts ...object) (id string, err error) {
	id = w.id("msg")
	w.made++
	data := promptData(id, w.session, w.clock)
	data[len(data)-1].value = object{{"providerID", provider}, {"modelID", w.model}}
	if err := w.put(record{kind: messageRecord, id: id, session: w.session, message: id, created: w.clock, data: data}); err != nil {
		return "", err
	}
	return id, w.all(id, parts)
}

// varyAnswer makes an answer of these parts; besides are members of its message that
// most do not have.
func (w *variedWriter) varyAnswer(prompt, finish string, parts []object, besides ...member) error {
	w.wait(5_000)
	w.made++
	id, began := w.id("msg"), w.clock
	if err := w.all(id, parts); err != nil {
		return err
	}
	w.wait(3_000)
	data := append(answerData(id, w.session, prompt, finish, began, w.clock), besides...)
	data[5].value = w.model
	if finish == "" {
		data = data.without("finish")
	}
	if w.unknown && w.rnd.IntN(10) == 0 {
		data = append(data, member{"telemetry", object{{"region", "eu"}, {"attempts", []int{1, 2}}}})
	}
	return w.put(record{kind: messageRecord, id: id, session: w.session, message: id, created: began, data: data})
}

func (w *variedWriter) all(message string, parts []object) error {
	if w.kinds && w.rnd.IntN(10) == 0 {
		parts = append(parts, object{{"type", "bookmark"}, {"note", w.text(20, 2000)}})
	}
	for _, p := range parts {
		if w.unknown && w.rnd.IntN(10) == 0 {
			p = append(p[:len(p):len(p)], member{"origin", object{{"client", "desktop"}, {"seq", w.parts}}})
		}
		if err := w.part(message, p); err != nil {
			return err
		}
	}
	return nil
}

// varyStep is the parts of an answer, with or without reasoning and with calls of
// several tools.
func (w *variedWriter) varyStep(calls int, reason string, thinks bool) []object {
	now := w.clock
	parts := []object{
		{{"type", "step-start"}, {"snapshot", snapshot}},
		{{"type", "text"}, {"text", w.text(20, 2000)}, {"time", span(now, now)}},
	}
	if thinks {
		parts = slices.Insert(parts, 1, reasoningData(w.text(100, 3000), w.signature(), now))
	}
	for range calls {
		parts = append(parts, w.varyCall(fmt.Sprintf("toolu_%024x", w.rnd.Uint64()), now))
	}
	parts = append(parts, finishData(reason))
	if calls > 0 && w.rnd.IntN(3) == 0 {
		parts = append(parts, object{{"type", "patch"}, {"hash", snapshot}, {"files", []string{directory + "/main.go"}}})
	}
	return parts
}

func (w *variedWriter) varyCall(id string, at int64) object {
	call := func(tool string, input, told object, output string) object {
		return object{{"type", "tool"}, {"callID", id}, {"tool", tool}, {"state", object{
			{"status", "completed"}, {"input", input}, {"output", output}, {"title", "main.go"}, {"metadata", told}, {"time", span(at, at+8)},
		}}}
	}
	path := directory + "/main.go"
	switch w.rnd.IntN(7) {
	case 0:
		return call("read", object{{"filePath", path}, {"offset", 0}, {"limit", 200}}, object{{"preview", w.text(50, 300)}, {"truncated", false}}, w.text(200, 20_000))
	case 1:
		return call("edit", object{{"filePath", path}, {"oldString", w.text(20, 500)}, {"newString", w.text(20, 500)}},
			object{{"diagnostics", object{}}, {"diff", w.text(50, 1000)}, {"filediff", object{{"file", path}, {"before", w.text(500, 5000)}, {"after", w.text(500, 5000)}, {"additions", 2}, {"deletions", 1}}}}, "Edit applied successfully.")
	case 2:
		return call("grep", object{{"pattern", "func .*"}, {"path", directory}}, object{{"matches", 3}, {"truncated", false}}, w.text(100, 3000))
	case 3:
		todo := object{{"id", "1"}, {"content", w.text(10, 60)}, {"status", "pending"}, {"priority", "high"}}
		return call("todowrite", object{{"todos", []object{todo}}}, object{{"todos", []object{todo}}}, w.text(50, 300))
	case 4:
		return object{{"type", "tool"}, {"callID", id}, {"tool", "webfetch"}, {"state", object{
			{"status", "error"}, {"input", object{{"url", "https://example.com/"}, {"format", "markdown"}}}, {"error", "Error: Request failed with status code: 404"}, {"time", span(at, at+8)},
		}}}
	}
	output := w.text(100, 10_000)
	switch w.rnd.IntN(50) {
	case 0:
		output = w.text(20_000, 200_000)
	case 1:
		picture := call("read", object{{"filePath", directory + "/screen.png"}}, object{{"truncated", false}}, "Image read successfully")
		state := picture[3].value.(object)
		picture[3].value = append(state, member{"attachments", []object{{
			{"id", w.id("prt")}, {"sessionID", w.session}, {"messageID", "msg_x"}, {"type", "file"}, {"mime", "image/png"}, {"url", w.image()},
		}}})
		return picture
	}
	return call("bash", object{{"command", w.text(20, 200)}, {"description", "says hi"}}, object{{"output", w.text(20, 200)}, {"exit", 0}, {"description", "says hi"}, {"truncated", false}}, output)
}
