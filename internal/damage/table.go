package damage

import "slices"

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

// A Kind breaks the fixture's session. What becomes of the next prompt was
// observed on the real program.
type Kind struct {
	Name string
	// Cut does nothing where it does not find what it is to cut, as can be in a
	// session that has another damage.
	Cut  func(Store)
	Want [len(Versions)]string // by version: Alive, Dead, or the rule that the request broke
}

func same(v string) [len(Versions)]string { return [len(Versions)]string{v, v, v} }

// by is what differs from version to version, in the order of Versions.
func by(v ...string) [len(Versions)]string { return [len(Versions)]string(v) }

// Table is the damages whose effect is known.
var Table = slices.Concat(texts, thoughts, aborted, calls, results, files, damaged, incomplete, lost, diag, beside, copies, several)
