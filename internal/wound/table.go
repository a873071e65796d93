package wound

import (
	"strings"
)

// Versions are those whose stores are in testdata: the last of the JSON tree,
// the first generation of SQLite, and the newest.
var Versions = [...]string{"1.1.53", "1.2.27", "1.18.33"}

// What becomes of a prompt, where it is not refused by a rule.
const (
	Alive = "alive"
	Dead  = "dead" // the program failed before it sent anything
)

// The fixture's messages by number.
const (
	FirstPrompt = iota // "please TOOL"
	OneCall            // step-start, reasoning, text, tool, step-finish
	Done
	SecondPrompt // "say Hello"
	Hello        // step-start, reasoning, text, step-finish
	ThirdPrompt  // "please TOOLS"
	TwoCalls     // step-start, reasoning, text, tool, tool, step-finish
	DoneAgain
	FourthPrompt // "say Goodbye"
	Goodbye      // step-start, reasoning, text, step-finish
)

// A Wound breaks the fixture's session. What becomes of the next prompt was
// observed on the real program.
type Wound struct {
	Name string
	Cut  func(Store)
	Want [len(Versions)]string // by version: Alive, Dead, or the rule that the request broke
}

func same(v string) [len(Versions)]string { return [len(Versions)]string{v, v, v} }

// Table is the wounds whose effect is known.
var Table = []Wound{
	{"none", func(Store) {}, same(Alive)},
	{"tool running", state(map[string]any{"status": "running", "input": map[string]any{"command": "x"}, "time": map[string]any{"start": 1}}), same(Alive)},
	{"tool pending", state(map[string]any{"status": "pending", "input": map[string]any{}, "raw": ""}), same(Alive)},
	{"text behind tool", func(s Store) {
		tool := Of(s, OneCall, "tool")[0]
		s.Put(Record{Table: "part", ID: tool.ID + "z", Owner: tool.Owner, Data: `{"type":"text","text":"behind"}`})
	}, [len(Versions)]string{"R1", "R1", Alive}},
	{"reasoning behind tool", func(s Store) { moveBehind(s, OneCall, "reasoning", "tool") }, same("R1")},
	{"empty answer", Text(Hello, ""), [len(Versions)]string{"R10", "R10", "R11"}},
	{"empty text beside tool", Text(OneCall, ""), [len(Versions)]string{Alive, Alive, "R11"}},
	{"blank answer", Text(Hello, " \n"), same("R11")},
	{"blank text beside tool", Text(OneCall, " \n"), same("R11")},
	{"blank prompt", Text(SecondPrompt, " \n"), same("R11")},
	{"answer of reasoning only", func(s Store) { s.Drop(Of(s, Hello, "text")[0]) }, same("R10")},
	{"last answer of reasoning only", func(s Store) { s.Drop(Of(s, Goodbye, "text")[0]) }, same("R10")},
	{"reasoning last", func(s Store) { moveBehind(s, Hello, "reasoning", "text") }, same("R10")},
	{"altered reasoning", change(Hello, "reasoning", func(p map[string]any) { p["text"] = "altered" }), same("R7")},
	{"altered reasoning in the last answer", change(Goodbye, "reasoning", func(p map[string]any) { p["text"] = "altered" }), same("R7")},
	{"altered signature", change(Hello, "reasoning", func(p map[string]any) {
		p["metadata"] = map[string]any{"anthropic": map[string]any{"signature": "abc"}}
	}), same("R7")},
	{"one callID in a step", func(s Store) {
		calls := Of(s, TwoCalls, "tool")
		s.Put(calls[1].Edit(func(p map[string]any) { p["callID"] = "call_1" }))
		s.Put(calls[0].Edit(func(p map[string]any) { p["callID"] = "call_1" }))
	}, same("R17")},
	{"one callID in two messages", func(s Store) {
		s.Put(Of(s, OneCall, "tool")[0].Edit(func(p map[string]any) { p["callID"] = "call_1" }))
		s.Put(Of(s, TwoCalls, "tool")[0].Edit(func(p map[string]any) { p["callID"] = "call_1" }))
	}, same("R17")},
	{"input a string", inState("input", "echo hi"), same("R14")},
	{"input a list", inState("input", []any{1}), same("R14")},
	{"large attachment", inState("attachments", []any{map[string]any{
		"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1",
		"type": "file", "mime": "image/png", "url": "data:image/png;base64," + strings.Repeat("AAAA", 1_400_000),
	}}), same("R15")},
	{"completed without output", change(OneCall, "tool", func(p map[string]any) { delete(p["state"].(map[string]any), "output") }), same(Dead)},
	{"part truncated", raw(func(r Record) string { return r.Data[:20] }, true), same(Dead)},
	{"part of no bytes", raw(func(Record) string { return "" }, true), same(Dead)},
	{"message truncated", raw(func(r Record) string { return r.Data[:20] }, false), same(Dead)},
	{"message of no bytes", raw(func(Record) string { return "" }, false), same(Dead)},
	{"unknown part type", func(s Store) {
		text := Of(s, Hello, "text")[0]
		s.Put(Record{Table: "part", ID: text.ID + "z", Owner: text.Owner, Data: `{"type":"novelty","x":1}`})
	}, same(Alive)},
	{"message without parts", func(s Store) { empty(s, Hello) }, same(Alive)},
	{"error message", func(s Store) {
		messages, _ := s.Records()
		s.Put(messages[Hello].Edit(func(m map[string]any) {
			m["error"] = map[string]any{"name": "APIError", "data": map[string]any{"message": "x", "isRetryable": false}}
		}))
	}, same(Alive)},
	{"tool without thinking", func(s Store) { s.Drop(Of(s, OneCall, "reasoning")[0]) }, same(Alive)},
	{"part id that sorts before prt", func(s Store) { rename(s, "bad_") }, same("R10")},
	{"part id that sorts behind prt", func(s Store) { rename(s, "txt_") }, same(Alive)},
	{"answer of unsigned reasoning only", func(s Store) {
		s.Drop(Of(s, Hello, "text")[0])
		s.Put(Of(s, Hello, "reasoning")[0].Edit(func(p map[string]any) { delete(p, "metadata") }))
	}, same("R6")},
	{"ids from before the clock's wrap", func(s Store) {
		s.Replace("msg_1", "msg_f")
		s.Replace("prt_1", "prt_f")
	}, [len(Versions)]string{Dead, Dead, Alive}},
	{"empty callID", change(OneCall, "tool", func(p map[string]any) { p["callID"] = "" }), same("R13")},
	{"first prompt lost its parts", func(s Store) { empty(s, FirstPrompt) }, same("R16")},
}
