package hooks

import (
	"regexp"
	"strings"
	"sync"

	"mend/internal/live"
)

// The instructions that a model gets with the result of a call. Each is short, because it is
// sent with every later request.
const (
	readBeforeEdit = "[mend] Do not guess again. Read the file now, and copy oldString from it exactly, without line numbers."
	widenEdit      = "[mend] Read the file now, and use a longer oldString that occurs once, or replaceAll to change every occurrence."
	changeNothing  = "[mend] Read the file now. If it already has the wanted text, continue without this edit."
	writeValidJSON = "[mend] The tool did not run. Call it again with one complete JSON object as arguments: quotes and line breaks inside strings escaped, every string and bracket closed."
)

// editErrors has the instructions for errors of the edit tool, by the start of the error's text. Other errors need
// none: they contain an instruction, or come from a decision of the user.
var editErrors = []struct{ text, instruction string }{
	{"oldString not found in content", readBeforeEdit}, // OpenCode 1.1.53
	{"Could not find oldString in the file", readBeforeEdit},
	{"oldString found multiple times", widenEdit},
	{"Found multiple matches for oldString", widenEdit},
	{"oldString and newString must be different", changeNothing}, // OpenCode 1.1.53
	{"No changes to apply: oldString and newString are identical", changeNothing},
}

// toolInvalid is the tool that OpenCode calls instead if it cannot parse a call.
const toolInvalid = "invalid"

// malformedArguments matches the beginning of the output of toolInvalid if the arguments were not JSON. The rest of the
// output quotes them.
var malformedArguments = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^The arguments provided to the tool are invalid: Invalid input for tool [^\s:]+: JSON parsing failed: `)
})

// explainToolErrors is the policy for failed tool calls: some of them get an instruction for
// the model. It has no state, so a call gets the same text in every request, and the
// provider's cache of the prompt stays valid.
func explainToolErrors(calls []live.FailedCall) (all []live.Appended) {
	for _, c := range calls {
		if text := instructionFor(c); text != "" {
			all = append(all, live.Appended{Part: c.Part, Text: text})
		}
	}
	return all
}

// instructionFor returns the instruction for a failed call, or "".
func instructionFor(c live.FailedCall) string {
	switch {
	case c.Tool == toolEdit && c.Status == callFailed:
		text := strings.TrimPrefix(c.Text, "Error: ")
		for _, e := range editErrors {
			if strings.HasPrefix(text, e.text) {
				return e.instruction
			}
		}
	case c.Tool == toolInvalid && c.Status == callCompleted && malformedArguments().MatchString(c.Text):
		return writeValidJSON
	}
	return ""
}
