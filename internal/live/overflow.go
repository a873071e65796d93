package live

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"

	"mend/repair"
)

// maxCompactions is how often an agent that compacts by itself may fail on a request that is
// too long before mend ends that: OpenCode 1.18.33 goes on for ever (docs/opencode.md).
const maxCompactions = 3

// compactsItself reports whether the agent answers the error with a compaction.
func compactsItself(raw json.RawMessage) bool { return errorName(raw) == "ContextOverflowError" }

// handleOverflow handles a session whose request was too long for the model. The current
// turn is aborted. Outputs of tools are marked, so that the agent no longer sends them;
// nothing is removed. Those of the last turns are marked only if the agent's own compactions
// did not help, and there are no others. With AutoResume it then sends the prompt that
// continues the turn.
//
// since is when the error was reported: nothing is done if another process has changed the
// session since then.
func (h *Hook) handleOverflow(ctx context.Context, s SessionRef, raw json.RawMessage, since time.Time) {
	e, compacts := h.store.ParseAPIError(raw), compactsItself(raw)
	release, err := h.Acquire(ctx)
	if err != nil {
		return
	}
	defer release()
	log := h.opt.Log.With("session", s.ID, "class", e.Class)
	done, _ := h.opt.Claim("")
	defer done(false)
	if entry, err := h.store.LastChange(ctx, s.ID, since); entry != "" || err != nil {
		log.Debug("handled by another process", "repair", entry, "error", err)
		return
	}
	if !h.dedupe.attempt(s.ID) {
		log.Warn("left alone: the limit is reached", "attempts", h.opt.MaxAttempts)
		return
	}
	h.count(Detected, e.Class)
	defer h.begin(ctx, s, true)()
	r := &recovery{Hook: h, info: Info{SessionID: s.ID, Directory: s.Directory}, err: e, log: log}
	r.abort(ctx)
	_ = h.AwaitIdle(ctx, s) // the repair is forced
	if ctx.Err() != nil {
		return
	}
	request := repair.TrimRequest{
		Percent: repair.DefaultPercent, KeepTurns: repair.DefaultKeepTurns, Protected: repair.ProtectedTools(), Force: true, TooLong: true,
	}
	request.Actual, request.Window = requestSizes(e.Text)
	entry, t, err := h.store.Trim(ctx, s.ID, request)
	if entry == "" && err == nil && compacts {
		// All before the last turn is compacted: that turn alone is too long, each time.
		request.KeepTurns = 0
		entry, t, err = h.store.Trim(ctx, s.ID, request)
	}
	switch {
	case err != nil:
		h.count(Failed, e.Class)
		log.Error("trimming", "error", err)
		h.Toast(ctx, s.Directory, Toast{trimTitle, failedText(err), VariantError, resultTime})
		return
	case entry == "":
		h.count(Refused, e.Class)
		log.Info("left alone: nothing can be trimmed")
		h.Toast(ctx, s.Directory, Toast{trimTitle, nothingTrimmedText, VariantWarning, resultTime})
		return
	}
	h.count(Repaired, e.Class)
	log.Info("repaired", "repair", entry, "outputs", len(t.Outputs), "before", t.Before, "after", t.After, "error", e.Text)
	h.Toast(ctx, s.Directory, Toast{trimTitle, trimmedText(len(t.Outputs), entry), VariantSuccess, resultTime})
	if h.opt.AutoResume {
		ms, err := h.agent.Messages(ctx, s, 0)
		if err == nil {
			r.sendResume(ctx, ms)
		}
		return // the prompt counts as an attempt, so that it cannot loop
	}
	h.dedupe.progress(s.ID)
}

const (
	trimTitle          = "Context window"
	nothingTrimmedText = "No tool output can be trimmed. Compact the session, or start a new one."
)

func trimmedText(outputs int, entry string) string {
	return fmt.Sprintf("Cleared %d old tool outputs. Send your prompt again. Undo: mend undo %s", outputs, entry)
}

// sizePatterns find the size of a request and the size that the model takes, in tokens, in
// the errors of providers (docs/providers.md). The larger number is that of the request.
var sizePatterns = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?i)(\d+) tokens? > (\d+) maximum`),
		regexp.MustCompile(`(?i)token count of (\d+) exceeds the limit of (\d+)`),
		regexp.MustCompile(`(?i)input token count \((\d+)\) exceeds the maximum number of tokens allowed \((\d+)\)`),
		regexp.MustCompile(`(?i)maximum context length is (\d+) tokens.{0,80}?(\d+) tokens`),
	}
})

// requestSizes returns the size of the request and of the model's context window, in tokens,
// as far as the error says; 0 if it does not.
func requestSizes(text string) (actual, window int) {
	for _, p := range sizePatterns() {
		if m := p.FindStringSubmatch(text); m != nil {
			a, err1 := strconv.Atoi(m[1])
			b, err2 := strconv.Atoi(m[2])
			if err1 == nil && err2 == nil {
				return max(a, b), min(a, b)
			}
		}
	}
	return 0, 0
}
