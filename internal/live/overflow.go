package live

import (
	"context"
	"encoding/json"
	"fmt"

	"mend/repair"
)

// maxCompactions is how many requests in a row may be too long before mend trims a session that the agent compacts
// itself. OpenCode 1.18.33 would compact forever (docs/opencode.md).
const maxCompactions = 3

// compactsItself reports whether the agent answers the error with a compaction.
func compactsItself(raw json.RawMessage) bool { return errorName(raw) == "ContextOverflowError" }

// trim clears outputs of tools. It clears outputs of the last turns only if the agent's own compactions did not help
// and there are no other outputs.
func trim(ctx context.Context, a *attempt) (entry string, err error) {
	_ = a.AwaitIdle(ctx, a.Head.ID) // an error is ignored, because the repair is forced
	request := repair.TrimRequest{
		Percent: repair.DefaultPercent, KeepTurns: repair.DefaultKeepTurns, Protected: repair.ProtectedTools(),
		Force: true, TooLong: true,
	}
	request.Actual, request.Window = a.err.Sizes()
	entry, t, err := a.store.Trim(ctx, a.Head.ID, request)
	if entry == "" && err == nil && compactsItself(a.Failure.Error) {
		// The agent has compacted everything before the last turn, so that turn alone is too long.
		request.KeepTurns = 0
		entry, t, err = a.store.Trim(ctx, a.Head.ID, request)
	}
	a.changed = len(t.Outputs)
	return entry, err
}

const nothingTrimmedText = "No tool output can be trimmed. Compact the session, or start a new one."

func trimmedText(outputs int, entry string) string {
	return fmt.Sprintf("Cleared %d old tool outputs. Send your prompt again. Undo: mend undo %s", outputs, entry)
}
