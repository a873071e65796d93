package damage

import (
	"slices"
	"strings"
)

// Versions are the versions with stores in testdata: the last of the JSON tree, the first generation of
// SQLite, and the newest.
var Versions = [...]string{"1.1.53", "1.2.27", "1.18.33"}

// The results of a prompt that no rule refuses.
const (
	Alive = "alive"
	Dead  = "dead" // the program failed before it sent anything

	Endless  = "endless"   // the program answers the prompt again and again
	NoAnswer = "no answer" // nothing happened in time
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

// A Kind is one kind of damage to the fixture's session, with the result of the next prompt in the real
// program.
type Kind struct {
	Name string
	// Apply changes nothing if it does not find its record, which another damage may have removed.
	Apply func(Store)
	Want  [len(Versions)]string // by version: Alive, Dead, or the rule that the request broke
}

func allVersions(v string) [len(Versions)]string { return [len(Versions)]string{v, v, v} }

// byVersion returns fates that differ, in the order of [Versions].
func byVersion(v ...string) [len(Versions)]string { return [len(Versions)]string(v) }

// Table has every kind of damage with a known effect.
var Table = slices.Concat(texts, reasoning, interrupted, callFields, results, files, damaged, incomplete, lost, mixed, otherFiles, several)

// AddsFile reports whether the kind of damage with the name is a user's own file beside the records. It is
// reported, and mend does not move it.
func AddsFile(name string) bool {
	return slices.ContainsFunc(otherFiles, func(k Kind) bool { return k.Name == name })
}

// LongOutputs is the name of a harmless change: each call gets an output of 8,000 bytes.
const LongOutputs = "long outputs"

func lengthenOutputs(s Store) {
	for _, find := range []func(Store) []Record{oneCall, firstCall, secondCall} {
		for _, r := range find(s) {
			s.Put(r.Edit(func(p fields) { p["state"].(fields)["output"] = strings.Repeat("y", 8000) }))
		}
	}
}

// LongTexts is the name of a harmless change: a prompt of 8,000 bytes, and a prompt with a file of 6,000
// bytes.
const LongTexts = "long texts"

func lengthenTexts(s Store) {
	Text(SecondPrompt, "Begin "+strings.Repeat("t", 8000)+" end")(s)
	addPart(FirstPrompt, "text", `{"type":"file","mime":"application/pdf","filename":"page.pdf","url":"data:application/pdf;base64,`+strings.Repeat("A", 8000)+`"}`)(s)
}

// ByName returns the function that applies the kind of damage with the name. It ends the test if there is
// none.
func ByName(t Failer, name string) func(Store) {
	switch name {
	case LongOutputs:
		return lengthenOutputs
	case LongTexts:
		return lengthenTexts
	}
	for _, k := range slices.Concat(Table, Reported) {
		if k.Name == name {
			return k.Apply
		}
	}
	t.Fatal("no such damage: " + name)
	return nil
}

// everyday has common kinds of damage, one example of each.
var everyday = []string{
	"none", "empty answer", "blank prompt", "tool running", "killed in two calls", "reasoning last", "altered signature",
	"input a string", "one callID in a step", "completed without output", "role missing", "message without parts",
	"first prompt gone", "answer gone, its parts stay", "half a pair in an input",
}

// Everyday reports whether make e2e tries the damage with that name; make night tries all.
func Everyday(name string) bool { return slices.Contains(everyday, name) }
