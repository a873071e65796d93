package codex

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"mend/testdata"
)

// A Damage is one kind of damage to the session in [testdata.Codex] plus one answered prompt.
type Damage struct {
	Name string
	Do   func(r *Rollout)
	// Fate is the result of the next prompt: see [Reply.Fate].
	Fate string
	// Lost means that the damage removes content that nothing can restore.
	Lost bool
	// Index means that the damage needs the index, or depends on it.
	Index bool
	// Keeps is the reason why the request after a repair lacks content that is still stored; "" if it does not.
	Keeps string
}

// A Rollout is a file that is being damaged.
type Rollout struct {
	h     *Home
	Lines [][]byte // without their newlines
	End   string   // after the last line
	Name  string   // of the file, below the folder of Codex
	raw   []byte   // the whole file; nil for the lines
}

// Damage damages the session in the home.
func (h *Home) Damage(all ...Damage) {
	h.t.Helper()
	data, err := os.ReadFile(h.Rollout())
	if err != nil {
		h.t.Fatal(err)
	}
	r := newRollout(data)
	r.h = h
	for _, d := range all {
		d.Do(r)
	}
	if err := os.Remove(h.Rollout()); err != nil {
		h.t.Fatal(err)
	}
	h.Write(r.Name, r.data())
}

// ByName returns the damage with a name.
func ByName(name string) Damage {
	all := Damages()
	i := slices.IndexFunc(all, func(d Damage) bool { return d.Name == name })
	return all[i]
}

// Broken returns the rollout of [testdata.Codex] with damage that changes only the rollout.
func (d Damage) Broken() []byte {
	r := newRollout(testdata.Codex)
	d.Do(r)
	return r.data()
}

func newRollout(data []byte) *Rollout {
	return &Rollout{Lines: bytes.Split(bytes.TrimSuffix(bytes.Clone(data), []byte("\n")), []byte("\n")), End: "\n", Name: File}
}

func (r *Rollout) data() []byte {
	if r.raw != nil {
		return r.raw
	}
	return append(bytes.Join(r.Lines, []byte("\n")), r.End...)
}

type object = map[string]any

// at returns the index of the nth line of a kind: a type of a record, or of an item, or a role. A negative n
// counts from the end.
func (r *Rollout) at(kind string, n int) int {
	var all []int
	for i, l := range r.Lines {
		var v struct {
			Type    string
			Payload struct{ Type, Role string }
		}
		if json.Unmarshal(l, &v) != nil {
			continue
		}
		item := v.Type == "response_item" && (v.Payload.Type == kind || v.Payload.Role == kind)
		if v.Type == kind || item || v.Type == "event_msg" && v.Payload.Type == kind {
			all = append(all, i)
		}
	}
	if n < 0 {
		n += len(all)
	}
	if n < 0 || n >= len(all) {
		return len(r.Lines) - 1 // another damage removed it
	}
	return all[n]
}

func (r *Rollout) edit(i int, change func(line, payload object)) {
	var v object
	if json.Unmarshal(r.Lines[i], &v) != nil {
		return
	}
	payload, _ := v["payload"].(object)
	change(v, payload)
	r.Lines[i], _ = json.Marshal(v) // what was decoded from JSON
}

func (r *Rollout) remove(i int)             { r.Lines = slices.Delete(r.Lines, i, i+1) }
func (r *Rollout) insert(i int, raw []byte) { r.Lines = slices.Insert(r.Lines, i, raw) }

func line(kind string, ordinal int, payload any) []byte {
	v := object{"timestamp": "2026-11-22T16:00:00.000Z", "type": kind, "payload": payload}
	if ordinal >= 0 {
		v["ordinal"] = ordinal
	}
	raw, _ := json.Marshal(v) // strings, numbers and what was decoded from JSON
	return raw
}

func (r *Rollout) item(i int) object {
	var v struct{ Payload object }
	_ = json.Unmarshal(r.Lines[i], &v)
	return v.Payload
}

// cutReasoning returns the reasoning in a line with the id of a response that did not end.
func (r *Rollout) cutReasoning(i int) []byte {
	return bytes.Replace(r.Lines[i], []byte(r.item(i)["id"].(string)), []byte("rs_cut"), 1)
}

// compact appends a compaction to a history.
func (r *Rollout) compact(history []object) {
	p := object{"message": "A summary.", "window_number": 1, "window_id": "01a203f4-30c7-72f0-84e6-48b852cd5d93", "first_window_id": "01a203f4-30c7-72f0-84e6-48b852cd5d92", "previous_window_id": "01a203f4-30c7-72f0-84e6-48b852cd5d92"}
	if history != nil {
		p["replacement_history"] = history
	}
	r.Lines = append(r.Lines, line("compacted", len(r.Lines), p))
}

func editLine(kind string, n int, change func(line, payload object)) func(*Rollout) {
	return func(r *Rollout) { r.edit(r.at(kind, n), change) }
}

func setPayload(kind string, n int, name string, value any) func(*Rollout) {
	return editLine(kind, n, func(_, p object) {
		if p[name] = value; value == nil {
			delete(p, name)
		}
	})
}

func drop(kind string, n int) func(*Rollout) {
	return func(r *Rollout) { r.remove(r.at(kind, n)) }
}

func twice(kind string, n int) func(*Rollout) {
	return func(r *Rollout) { i := r.at(kind, n); r.insert(i+1, r.Lines[i]) }
}

func setLine(kind string, n int, text func(raw []byte) []byte) func(*Rollout) {
	return func(r *Rollout) { i := r.at(kind, n); r.Lines[i] = text(bytes.Clone(r.Lines[i])) }
}

// join joins a line with the next one.
func join(kind string, n int) func(*Rollout) {
	return func(r *Rollout) {
		i := r.at(kind, n)
		r.Lines[i] = append(bytes.Clone(r.Lines[i]), r.Lines[i+1]...)
		r.remove(i + 1)
	}
}

func cut(raw []byte) []byte  { return raw[:len(raw)/2] }
func nuls(raw []byte) []byte { return make([]byte, len(raw)) }

func image(url string) func(*Rollout) {
	return editLine("user", 1, func(_, p object) {
		p["content"] = append(p["content"].([]any), object{"type": "input_image", "image_url": url})
	})
}

// pixel is a PNG.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="

func whole(data []byte) func(*Rollout) { return func(r *Rollout) { r.raw = data } }

// withoutDatabases removes the databases that Codex recreates.
func withoutDatabases(r *Rollout) {
	all, _ := filepath.Glob(filepath.Join(r.h.Root(), "*.sqlite*"))
	for _, f := range all {
		_ = os.Remove(f)
	}
}

func both(all ...func(*Rollout)) func(*Rollout) {
	return func(r *Rollout) {
		for _, do := range all {
			do(r)
		}
	}
}

// Damages returns the kinds of damage of docs/codex.md, and more.
func Damages() []Damage {
	return slices.Concat(tornLines(), firstLines(), calls(), ids(), contents(), compactions(), forms(), packed())
}

// nest adds nested lists to a prompt, which is two objects deep.
func nest(depth int) func(*Rollout) {
	return setLine("user", 2, func(raw []byte) []byte {
		deep := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		return bytes.Replace(raw, []byte(`"payload":{`), []byte(`"payload":{"deep":`+deep+","), 1)
	})
}

// forms are records that the program skips because of a value, and values that it reads but does not send.
func forms() []Damage {
	return []Damage{
		{Name: "lists 125 deep in a prompt", Do: nest(125), Fate: "alive"},
		{Name: "a phase that is a number", Do: setPayload("assistant", 0, "phase", 7), Fate: "O3", Lost: true},
		{Name: "a status that is an object", Do: setPayload("function_call", 0, "status", object{}), Fate: "O3", Lost: true},
		{Name: "a summary that is null", Do: editLine("reasoning", 0, func(_, p object) { p["summary"] = nil }), Fate: "O3", Lost: true},
		{Name: "a time that is null", Do: editLine("user", 2, func(l, _ object) { l["timestamp"] = nil }), Fate: "alive", Lost: true},
		{Name: "a part of no known type", Do: setPayload("user", 2, "content", []any{object{"type": "text", "text": "say hello"}}), Fate: "alive", Lost: true},
		{Name: "a part without text in a compaction", Do: func(r *Rollout) {
			r.compact([]object{{"type": "message", "role": "user", "content": []any{object{"type": "input_text"}}}})
		}, Fate: "alive"},
		{Name: "a history mode of no known name", Do: setPayload("session_meta", 0, "history_mode", "strange"), Fate: "dead"},
		{Name: "git that is a text", Do: setPayload("session_meta", 0, "git", "strange"), Fate: "dead"},
		{Name: "the first record again", Do: func(r *Rollout) { r.insert(r.at("user", 2), bytes.Clone(r.Lines[0])) }, Fate: "alive"},
		{Name: "the first record again, legacy", Do: both(legacy, func(r *Rollout) { r.insert(r.at("user", 2), bytes.Clone(r.Lines[0])) }), Fate: "alive"},
		{Name: "the first record of another session, legacy", Do: both(legacy, func(r *Rollout) {
			i := r.at("user", 2)
			r.insert(i, bytes.Clone(r.Lines[0]))
			r.edit(i, func(_, p object) { p["id"], p["session_id"] = otherSession, otherSession })
		}), Fate: "alive"},
		{Name: "a call_id that no call has", Do: setPayload("function_call_output", 0, "call_id", "call_other"), Fate: "alive", Lost: true},
		{Name: "an answer without content", Do: setPayload("assistant", 0, "content", []any{}), Fate: "alive", Lost: true},
		{Name: "a prompt with the id of a call", Do: setPayload("user", 1, "id", "fc_x"), Fate: "O11"},
		{Name: "compacted without reasoning", Do: func(r *Rollout) {
			r.compact([]object{r.item(r.at("user", 1)), r.item(r.at("reasoning", -2)), r.item(r.at("assistant", -2)), r.item(r.at("assistant", -1))})
		}, Fate: "O3", Lost: true},
	}
}

// Compress returns a rollout as the program compresses it.
func Compress(data []byte) []byte {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b)
	for i, l := range bytes.SplitAfter(data, []byte("\n")) {
		if i%10 == 0 && err == nil {
			err = w.Flush() // ends a block, like the output of a running compression
		}
		_, _ = w.Write(l) // Close returns the error
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// packed returns damage of compressed rollouts.
func packed() []Damage {
	pack := func(r *Rollout) { r.Name, r.raw = File+".zst", Compress(r.data()) }
	return []Damage{
		{Name: "compressed", Do: pack, Fate: "alive"},
		{Name: "compressed, no databases", Do: both(pack, withoutDatabases), Fate: "alive", Index: true},
		{Name: "compressed, answer twice", Do: both(twice("assistant", 0), pack), Fate: "O4"},
		{Name: "compressed, first line missing", Do: both(drop("session_meta", 0), pack), Fate: "dead"},
		{Name: "compressed and cut", Do: both(pack, func(r *Rollout) { r.raw = r.raw[:len(r.raw)*3/4] }), Fate: "dead", Lost: true, Keeps: "everything"},
		{Name: "compressed, of no form", Do: func(r *Rollout) { r.Name, r.raw = File+".zst", []byte("garbage") }, Fate: "dead", Lost: true, Keeps: "everything"},
	}
}

// tornLines are the remains of lines after a crash or on a full disk.
func tornLines() []Damage {
	return []Damage{
		{Name: "none", Do: func(*Rollout) {}, Fate: "alive"},
		{Name: "no databases", Do: withoutDatabases, Fate: "alive", Index: true},
		{Name: "last line cut", Do: func(r *Rollout) { i := len(r.Lines) - 1; r.Lines[i] = cut(r.Lines[i]); r.End = "" }, Fate: "alive", Lost: true},
		{Name: "NUL after the last line", Do: func(r *Rollout) { r.End = "\n\x00\x00\x00\x00" }, Fate: "alive"},
		{Name: "no newline at the end", Do: func(r *Rollout) { r.End = "" }, Fate: "alive"},
		{Name: "cut in the last answer", Do: func(r *Rollout) {
			i := r.at("assistant", -1)
			r.Lines = r.Lines[:i+1]
			r.Lines[i], r.End = cut(r.Lines[i]), ""
		}, Fate: "O3", Lost: true},
		{Name: "prompt cut", Do: setLine("user", 2, cut), Fate: "alive", Lost: true},
		{Name: "output cut", Do: setLine("function_call_output", 0, cut), Fate: "alive", Lost: true},
		{Name: "output NUL", Do: setLine("function_call_output", 0, nuls), Fate: "alive", Lost: true},
		{Name: "prompt not UTF-8", Do: setLine("user", 2, func(raw []byte) []byte { return bytes.Replace(raw, []byte("say"), []byte("s\xff"), 1) }), Fate: "alive", Lost: true, Index: true},
		{Name: "prompt not UTF-8, no databases", Do: both(setLine("user", 2, func(raw []byte) []byte { return bytes.Replace(raw, []byte("say"), []byte("s\xff"), 1) }), withoutDatabases), Fate: "dead", Lost: true},
		{Name: "a line not UTF-8, no databases", Do: both(setLine("user", 2, func(raw []byte) []byte { return append(cut(raw), 0xff) }), withoutDatabases), Fate: "dead", Lost: true},
		{Name: "half a line before a complete one", Do: setLine("user", 2, func(raw []byte) []byte { return append(cut(bytes.Clone(raw)), raw...) }), Fate: "alive"},
		{Name: "NUL before a complete line", Do: setLine("user", 2, func(raw []byte) []byte { return append(make([]byte, 9), raw...) }), Fate: "alive"},
		{Name: "garbage after a complete line", Do: setLine("user", 2, func(raw []byte) []byte { return append(raw, "x y"...) }), Fate: "alive"},
		{Name: "two events on a line", Do: join("token_count", 0), Fate: "alive"},
		{Name: "two records on a line", Do: join("reasoning", 1), Fate: "O3"},
	}
}

// firstLines returns damage of the first line, the name and the ordinals.
func firstLines() []Damage {
	return []Damage{
		{Name: "first line missing", Do: drop("session_meta", 0), Fate: "dead"},
		{Name: "first line cut", Do: setLine("session_meta", 0, cut), Fate: "dead"},
		{Name: "first line NUL", Do: setLine("session_meta", 0, nuls), Fate: "dead"},
		{Name: "first line missing, no databases", Do: both(drop("session_meta", 0), withoutDatabases), Fate: "dead"},
		{Name: "first line cut, no databases", Do: both(setLine("session_meta", 0, cut), withoutDatabases), Fate: "dead"},
		{Name: "first line NUL, no databases", Do: both(setLine("session_meta", 0, nuls), withoutDatabases), Fate: "dead"},
		{Name: "garbage before the first line", Do: func(r *Rollout) { r.insert(0, []byte("garbage")) }, Fate: "dead"},
		{Name: "an empty line before the first", Do: func(r *Rollout) { r.insert(0, nil) }, Fate: "alive"},
		{Name: "first line second", Do: func(r *Rollout) { r.Lines[0], r.Lines[1] = r.Lines[1], r.Lines[0] }, Fate: "dead"},
		{Name: "empty", Do: whole([]byte{}), Fate: "dead", Lost: true},
		{Name: "all NUL", Do: whole(make([]byte, 5000)), Fate: "dead", Lost: true},
		{Name: "another id", Do: setPayload("session_meta", 0, "id", otherSession), Fate: "dead"},
		{Name: "no id", Do: setPayload("session_meta", 0, "id", nil), Fate: "dead"},
		{Name: "no cwd", Do: setPayload("session_meta", 0, "cwd", nil), Fate: "dead"},
		{Name: "another session_id", Do: setPayload("session_meta", 0, "session_id", otherSession), Fate: "alive"},
		{Name: "in another folder", Do: func(r *Rollout) { r.Name = strings.Replace(File, "2026/11/22", "2026/10/21", 1) }, Fate: "dead", Index: true},
		{Name: "in another folder, no databases", Do: both(func(r *Rollout) { r.Name = strings.Replace(File, "2026/11/22", "2026/10/21", 1) }, withoutDatabases), Fate: "alive", Index: true},
		{Name: "in a folder too deep, no databases", Do: both(func(r *Rollout) { r.Name = strings.Replace(File, "2026/11/22", "2026/11/22/x", 1) }, withoutDatabases), Fate: "alive"},
		{Name: "renamed without its id", Do: func(r *Rollout) { r.Name = "sessions/2026/11/22/rollout-2026-11-22T15-51-04.jsonl" }, Fate: "dead", Index: true},
		{Name: "renamed without its id, no databases", Do: both(func(r *Rollout) { r.Name = "sessions/2026/11/22/rollout-2026-11-22T15-51-04.jsonl" }, withoutDatabases), Fate: "dead"},
		{Name: "renamed to its id alone, no databases", Do: both(func(r *Rollout) { r.Name = "sessions/2026/11/22/" + testdata.CodexSession + ".jsonl" }, withoutDatabases), Fate: "dead"},
		{Name: "last ordinal missing", Do: func(r *Rollout) { r.edit(len(r.Lines)-1, func(l, _ object) { delete(l, "ordinal") }) }, Fate: "dead"},
		{Name: "all ordinals missing", Do: func(r *Rollout) {
			for i := range r.Lines {
				r.edit(i, func(l, _ object) { delete(l, "ordinal") })
			}
		}, Fate: "dead"},
		{Name: "an ordinal missing", Do: editLine("user", 2, func(l, _ object) { delete(l, "ordinal") }), Fate: "alive"},
		{Name: "an ordinal twice", Do: editLine("user", 2, func(l, _ object) { l["ordinal"] = l["ordinal"].(float64) - 1 }), Fate: "alive"},
		{Name: "the last ordinal too high", Do: func(r *Rollout) { r.edit(len(r.Lines)-1, func(l, _ object) { l["ordinal"] = 5000 }) }, Fate: "alive"},
		{Name: "the last ordinal too low", Do: func(r *Rollout) { r.edit(len(r.Lines)-1, func(l, _ object) { l["ordinal"] = 3 }) }, Fate: "alive"},
		{Name: "the last ordinal a text", Do: func(r *Rollout) { r.edit(len(r.Lines)-1, func(l, _ object) { l["ordinal"] = "x" }) }, Fate: "alive", Lost: true},
	}
}

// moveCall moves the nth call after the mth line of a kind.
func moveCall(n int, kind string, m int) func(*Rollout) {
	return func(r *Rollout) {
		i, to := r.at("function_call", n), r.at(kind, m)
		raw := r.Lines[i]
		r.insert(to+1, raw)
		r.remove(i)
	}
}

// outputBefore moves the first output before the first line of a kind.
func outputBefore(kind string) func(*Rollout) {
	return func(r *Rollout) {
		i, o := r.at(kind, 0), r.at("function_call_output", 0)
		raw := r.Lines[o]
		r.remove(o)
		r.insert(i, raw)
	}
}

// calls returns damage of calls and their outputs.
func calls() []Damage {
	return []Damage{
		{Name: "output missing, the first", Do: drop("function_call_output", 0), Fate: "alive", Lost: true},
		{Name: "output missing, the last", Do: drop("function_call_output", -1), Fate: "alive", Lost: true},
		{Name: "output missing, the first of two", Do: drop("function_call_output", 1), Fate: "alive", Lost: true},
		{Name: "call missing", Do: drop("function_call", 0), Fate: "O3", Lost: true},
		{Name: "call missing, the first of two", Do: drop("function_call", 1), Fate: "O3", Lost: true},
		{Name: "call missing, the second of two", Do: drop("function_call", 2), Fate: "alive", Lost: true},
		{Name: "call and reasoning missing", Do: both(drop("function_call", 0), drop("reasoning", 0)), Fate: "alive", Lost: true},
		{Name: "output before its call", Do: outputBefore("function_call"), Fate: "O3"},
		{Name: "output before its response", Do: outputBefore("reasoning"), Fate: "O2"},
		{Name: "call after its output", Do: moveCall(0, "function_call_output", 0), Fate: "O3"},
		{Name: "call after the next reasoning", Do: moveCall(0, "reasoning", 1), Fate: "O3"},
		{Name: "call in the next turn", Do: moveCall(0, "assistant", 1), Fate: "O3"},
		{Name: "call of two after both outputs", Do: moveCall(2, "function_call_output", 2), Fate: "O2"},
		{Name: "reasoning twice", Do: twice("reasoning", 0), Fate: "O4"},
		{Name: "call twice", Do: twice("function_call", 0), Fate: "O4"},
		{Name: "output twice", Do: twice("function_call_output", 0), Fate: "O4"},
		{Name: "answer twice", Do: twice("assistant", 0), Fate: "O4"},
		{Name: "prompt twice", Do: twice("user", 1), Fate: "O4"},
		{Name: "developer message twice", Do: twice("developer", 0), Fate: "O4"},
		{Name: "last event twice", Do: twice("task_complete", -1), Fate: "alive"},
	}
}

func ids() []Damage {
	return []Damage{
		{Name: "one id of two answers", Do: func(r *Rollout) {
			id := r.item(r.at("assistant", 0))["id"]
			r.edit(r.at("assistant", 1), func(_, p object) { p["id"] = id })
		}, Fate: "O4"},
		{Name: "one call_id of two calls", Do: func(r *Rollout) {
			id := r.item(r.at("function_call", 1))["call_id"]
			r.edit(r.at("function_call", 2), func(_, p object) { p["call_id"] = id })
			r.edit(r.at("function_call_output", 2), func(_, p object) { p["call_id"] = id })
		}, Fate: "alive"},
		{Name: "a long call_id", Do: func(r *Rollout) {
			for _, kind := range []string{"function_call", "function_call_output"} {
				r.edit(r.at(kind, 0), func(_, p object) { p["call_id"] = "call_" + strings.Repeat("x", 90) })
			}
		}, Fate: "O6"},
		{Name: "a long id", Do: setPayload("assistant", 1, "id", "msg_"+strings.Repeat("x", 90)), Fate: "O3"},
		{Name: "an id of another type", Do: setPayload("assistant", 1, "id", "fc_1"), Fate: "O11"},
		{Name: "a tool name with a dot", Do: setPayload("function_call", 0, "name", "functions.exec"), Fate: "O5"},
		{Name: "arguments cut", Do: setPayload("function_call", 0, "arguments", `{"cmd": "ec`), Fate: "alive"},
		{Name: "encrypted content missing", Do: setPayload("reasoning", 0, "encrypted_content", nil), Fate: "O13"},
		{Name: "encrypted content tampered", Do: setPayload("reasoning", 0, "encrypted_content", "gAAAAtampered"), Fate: "O8"},
		{Name: "encrypted content made anonymous", Do: setPayload("reasoning", 0, "encrypted_content", "REDACTED"), Fate: "O8"},
		{Name: "all encrypted content of another account", Do: func(r *Rollout) {
			for i := range r.Lines {
				r.edit(i, func(_, p object) {
					if e, ok := p["encrypted_content"].(string); ok {
						p["encrypted_content"] = e + "x"
					}
				})
			}
		}, Fate: "O8"},
	}
}

// contents returns damage of the content of records.
func contents() []Damage {
	return []Damage{
		{Name: "reasoning without id", Do: setPayload("reasoning", 0, "id", nil), Fate: "O3"},
		{Name: "killed after reasoning", Do: func(r *Rollout) {
			i := r.at("reasoning", -1)
			r.Lines = append(r.Lines[:i-1], r.cutReasoning(i))
		}, Fate: "alive", Lost: true},
		{Name: "stream cut after reasoning", Do: func(r *Rollout) { // Codex repeats the request
			i := r.at("reasoning", 0)
			r.Lines = slices.Insert(r.Lines, i, r.cutReasoning(i), r.Lines[r.at("token_count", 0)])
		}, Fate: "alive"},
		{Name: "reasoning missing", Do: drop("reasoning", 0), Fate: "O3", Lost: true},
		{Name: "answer missing", Do: drop("assistant", 0), Fate: "O3", Lost: true},
		{Name: "answer cut", Do: setLine("assistant", 0, cut), Fate: "O3", Lost: true},
		{Name: "reasoning cut", Do: setLine("reasoning", 0, cut), Fate: "O3", Lost: true},
		{Name: "call NUL", Do: setLine("function_call", 0, nuls), Fate: "O3", Lost: true},
		{Name: "reasoning with content", Do: setPayload("reasoning", 0, "content", []any{object{"type": "reasoning_text", "text": "hm"}}), Fate: "O14"},
		{Name: "all ids missing", Do: func(r *Rollout) {
			for i := range r.Lines {
				r.edit(i, func(l, p object) {
					if l["type"] == "response_item" {
						delete(p, "id")
					}
				})
			}
		}, Fate: "alive"},
		{Name: "an image that is text", Do: image("data:image/png;base64,aGVsbG8="), Fate: "alive"},
		{Name: "an image of no bytes", Do: image("data:image/png;base64,"), Fate: "alive"},
		{Name: "an image with a bare mime", Do: image("image/png"), Fate: "O9", Keeps: "the image"},
		{Name: "a good image", Do: image("data:image/png;base64," + pixel), Fate: "alive"},
		{Name: "an output of 11 MB", Do: setPayload("function_call_output", 0, "output", strings.Repeat("0123456789\n", 1<<20)), Fate: "alive"},
		{Name: "an output of 60 KB", Do: setPayload("function_call_output", 0, "output", strings.Repeat("0123456789\n", 6000)), Fate: "alive"},
		{Name: "output a number", Do: setPayload("function_call_output", 0, "output", 7), Fate: "alive", Lost: true},
		{Name: "unknown item", Do: setPayload("user", 2, "type", "strange"), Fate: "alive", Lost: true},
		{Name: "unknown record", Do: editLine("user", 2, func(l, _ object) { l["type"] = "strange" }), Fate: "alive", Lost: true},
		{Name: "a message of another agent", Do: editLine("user", 2, func(_, p object) {
			delete(p, "role")
			p["type"], p["author"], p["recipient"] = "agent_message", "/root/a", "/root" // Codex names agents by their path in the tree
		}), Fate: "alive"},
		{Name: "a record of a message between agents", Do: editLine("user", 2, func(l, _ object) {
			l["type"], l["payload"] = "inter_agent_communication", object{"author": "/root/a", "recipient": "/root", "content": "done", "trigger_turn": false}
		}), Fate: "alive", Lost: true},
		{Name: "turn_context missing", Do: drop("turn_context", 0), Fate: "alive"},
		{Name: "world_state missing", Do: drop("world_state", 0), Fate: "alive"},
		{Name: "task_complete missing", Do: drop("task_complete", -1), Fate: "alive"},
	}
}

// otherSession is an unused session id.
const otherSession = "01a203f4-30b5-7323-b4e5-490f536edf6d"

// legacy makes the rollout one from before history modes.
func legacy(r *Rollout) {
	for i := range r.Lines {
		r.edit(i, func(l, p object) {
			delete(l, "ordinal")
			if l["type"] == "session_meta" {
				delete(p, "history_mode")
			}
		})
	}
}

// compactions returns compactions, and damage of the index.
func compactions() []Damage {
	return []Damage{
		{Name: "compacted without history", Do: func(r *Rollout) { r.compact(nil) }, Fate: "alive"},
		{Name: "compacted to nothing", Do: func(r *Rollout) { r.compact([]object{}) }, Fate: "alive"},
		{Name: "compacted", Do: func(r *Rollout) { r.compact([]object{r.item(r.at("user", 1)), r.item(r.at("user", 2))}) }, Fate: "alive"},
		{Name: "compacted with an open call", Do: func(r *Rollout) { r.compact([]object{r.item(r.at("user", 1)), r.item(r.at("function_call", 0))}) }, Fate: "O3", Keeps: "the compaction"},
		{Name: "compacted with a lone output", Do: func(r *Rollout) {
			r.compact([]object{r.item(r.at("user", 1)), r.item(r.at("function_call_output", 0))})
		}, Fate: "alive"},
		{Name: "compacted with an encrypted blob of another account", Do: func(r *Rollout) {
			r.compact([]object{r.item(r.at("user", 1)), {"type": "compaction", "encrypted_content": "gAAAAother"}})
		}, Fate: "O8"},
		{Name: "compacted with a marker", Do: func(r *Rollout) {
			r.compact([]object{r.item(r.at("user", 1)), {"type": "compaction", "encrypted_content": "<removed>"}})
		}, Fate: "O8"},
		{Name: "compacted with tampered reasoning", Do: func(r *Rollout) {
			rs := r.item(r.at("reasoning", 1))
			rs["encrypted_content"] = "gAAAAother"
			r.compact([]object{r.item(r.at("user", 1)), rs, r.item(r.at("assistant", 0))})
		}, Fate: "O8", Keeps: "the compaction"},
		{Name: "compacted with a message twice", Do: func(r *Rollout) {
			r.compact([]object{r.item(r.at("user", 1)), r.item(r.at("user", 1))})
		}, Fate: "O4", Keeps: "the compaction"},
		{Name: "compacted record cut", Do: func(r *Rollout) {
			r.compact([]object{r.item(r.at("user", 1))})
			i := len(r.Lines) - 1
			r.Lines[i] = cut(r.Lines[i])
		}, Fate: "alive", Lost: true},
		{Name: "rolled back", Do: func(r *Rollout) {
			r.Lines = append(r.Lines, line("event_msg", len(r.Lines), object{"type": "thread_rolled_back", "num_turns": 2}))
		}, Fate: "alive"},
		{Name: "legacy", Do: legacy, Fate: "alive"},
		{Name: "file is archived", Do: func(r *Rollout) { r.Name = "archived_sessions/" + filepath.Base(File) }, Fate: "dead", Index: true},
		{Name: "a row with another path", Do: row("UPDATE threads SET rollout_path = '/nowhere/x.jsonl'"), Fate: "dead", Index: true},
		{Name: "a row without a first message", Do: row("UPDATE threads SET first_user_message = '', preview = '', title = ''"), Fate: "alive", Index: true},
		{Name: "a row of an archived session", Do: row("UPDATE threads SET archived = 1"), Fate: "alive", Index: true},
		{Name: "no row", Do: row("DELETE FROM threads"), Fate: "alive", Index: true},
	}
}

// row returns damage to the index.
func row(sql string) func(*Rollout) {
	return func(r *Rollout) { r.h.SQL(sql) }
}

// everyday has common kinds of damage, one example of each.
var everyday = []string{
	"none", "last line cut", "first line missing", "output missing, the last", "call twice", "an id of another type",
	"encrypted content missing", "answer missing", "no row",
}

// Everyday reports whether make e2e tries the damage with that name; make night tries all.
func Everyday(name string) bool { return slices.Contains(everyday, name) }
