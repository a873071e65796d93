package live

import (
	"context"
	"fmt"

	"mend/repair"
)

// toastTime is how long a toast stays, in milliseconds.
const toastTime = 3000

// A notice is what the user is told of a class before anything is changed; the
// words are upstream's where it had some (docs/opencode.md).
type notice struct{ title, message string }

// notices are the classes that are recovered, or explained and left alone.
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

// note shows a toast, unless the recovery comes late.
func (r *recovery) note(ctx context.Context, t Toast) {
	if !r.late {
		r.toast(ctx, r.info.Directory, t)
	}
}

// announce tells what is about to happen.
func (r *recovery) announce(ctx context.Context) {
	n := notices[r.err.Class]
	r.note(ctx, Toast{n.title, n.message, VariantWarning, toastTime})
}

// explain tells of an error that the store does not answer for: of a class
// without a cure upstream's words, else what the error means.
func (r *recovery) explain(ctx context.Context) {
	r.log.Info("left alone", "why", r.err.Explanation, "error", r.err.Text)
	n := notices[r.err.Class]
	if !explained(r.err.Class) {
		n.message = "Nothing in the stored session explains this error. " + r.err.Explanation
	}
	r.note(ctx, Toast{n.title, n.message, VariantWarning, toastTime})
}

// giveUp tells that the session was recovered too often.
func (r *recovery) giveUp(ctx context.Context) {
	r.log.Warn("left alone: the limit is reached", "attempts", r.opt.MaxAttempts, "error", r.err.Text)
	r.note(ctx, Toast{notices[r.err.Class].title, limitText(r.opt.MaxAttempts), VariantError, toastTime})
}

func curedText(entry string) string {
	return fmt.Sprintf("Repaired. \"mend undo %s\" takes it back.", entry)
}

func treatedText(entry string) string {
	return fmt.Sprintf("Repaired meanwhile. \"mend undo %s\" takes it back.", entry)
}

func failedText(err error) string {
	return fmt.Sprintf("The session was not repaired: %v. \"mend scan\" tells more.", err)
}

func limitText(attempts int) string {
	return fmt.Sprintf("Not repaired again: it failed after %d recoveries. \"mend scan\" tells more.", attempts)
}
