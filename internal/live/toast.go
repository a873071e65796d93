package live

import (
	"cmp"
	"fmt"
	"strings"

	"mend/repair"
)

// How long toasts are shown, in milliseconds.
const (
	announceTime = 3_000 // before a recovery
	resultTime   = 0     // after a recovery, with the next step: [Options.ToastTime]
)

// maxToast is the maximum number of words in a toast.
const maxToast = 15

// A notice is the text of the toast for a class before anything is changed. The texts of oh-my-opencode are
// unchanged (docs/opencode.md).
type notice struct{ title, message string }

// notices has an entry for each class that is recovered or explained. For too long a context see [AfterOverflow].
var notices = map[repair.Class]notice{
	repair.ToolResultMissing:         {"Tool Crash Recovery", "Injecting cancelled tool results..."},
	repair.UnavailableTool:           {"Tool Recovery", "Recovering from unavailable tool call..."},
	repair.ThinkingBlockOrder:        {"Thinking Block Recovery", "Fixing message structure..."},
	repair.ThinkingDisabledViolation: {"Thinking Strip Recovery", "Stripping thinking blocks..."},
	repair.EmptyContentMessage:       {"Empty Message Recovery", "Fixing empty message..."},
	repair.InvalidToolCall:           {"Tool Call Recovery", "Fixing an invalid tool call..."},
	repair.InvalidFile:               {"File Recovery", "Replacing a file that cannot be sent..."},
	repair.FirstPromptMissing:        {"First Prompt Recovery", "Fixing the start of the conversation..."},
	repair.ThinkingSignature:         {"Thinking Signature Recovery", "Removing thinking with an invalid signature..."},
	repair.EncryptedReasoning:        {"Reasoning Recovery", "Removing reasoning that cannot be read..."},
	repair.ThinkingBlockModified: {
		"Thinking Block Recovery",
		"Latest assistant thinking blocks cannot be safely recovered; leaving history unchanged.",
	},
	repair.AssistantPrefillUnsupported: {"Prefill Unsupported", "Prefill not supported; continuing without recovery."},
}

// isExplainOnly reports whether errors of the class rarely come from the store. Such an error is only explained, unless
// the session is damaged.
func isExplainOnly(c repair.Class) bool {
	return c == repair.ThinkingBlockModified || c == repair.AssistantPrefillUnsupported
}

// explanation returns why no repair of the store can fix an error.
func explanation(a *attempt) (text, why string) {
	if isExplainOnly(a.err.Class) {
		return notices[a.err.Class].message, a.err.Explanation
	}
	return unexplainedText(a.err), a.err.Explanation
}

// repairedText describes the repair and the next step: the turn has ended, unless mend resumes it.
func repairedText(entry string, all, resumes bool) string {
	text := "Session repaired."
	if all {
		text = "All thinking of this kind removed."
	}
	if !resumes {
		text += " Send your prompt again."
	}
	return text + " Undo: mend undo " + entry
}

func alreadyRepairedText(entry string) string {
	return "Session already repaired. Send your prompt again. Undo: mend undo " + entry
}

// endedText is the text after mend has ended unfinished calls in an idle session; no prompt was lost. The agent does
// not continue the turn by itself.
func endedText(calls int, entry string) string {
	return fmt.Sprintf("Interrupted tool calls ended: %d. Send a prompt to continue. Undo: mend undo %s", calls, entry)
}

func unexplainedText(e repair.APIError) string {
	topic := cmp.Or(e.Rule, string(e.Class))
	if topic == "" {
		return `Nothing in the stored session explains this error. Run "mend scan" to check.`
	}
	return "Nothing in the stored session explains this error. See: mend explain " + topic
}

// askText is the text if a repair needs the user's consent.
func askText(session string) string {
	return "To see the repair and decide, run: mend fix " + session
}

func failedText(err error) string {
	const text = `Not repaired: %s. Run "mend scan" to see more.`
	words := strings.Fields(err.Error())
	if most := maxToast - len(strings.Fields(text)) + 1; len(words) > most {
		words = append(words[:most-1], "…")
	}
	return fmt.Sprintf(text, strings.Join(words, " "))
}

func limitText(attempts int) string {
	return fmt.Sprintf(`Gave up after %d repairs of this session. Run "mend scan" to see more.`, attempts)
}

func sendAgainText(entry string) string {
	return fmt.Sprintf("Send your prompt again. Undo: mend undo %s", entry)
}

func preflightText(entry string) string {
	return fmt.Sprintf("Repaired before sending. Undo: mend undo %s", entry)
}

// foundText is the text if mend found the damage before a prompt.
func foundText(entry string) string {
	return fmt.Sprintf("Repaired before your next prompt. Undo: mend undo %s", entry)
}
