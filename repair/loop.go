package repair

import (
	"slices"

	"mend/change"
	"mend/internal/request"
)

// An openLoop is the tool loop at the end of a session: the last answer, if the request has results of its calls after
// it. A prompt may follow them. The provider accepts the loop with all its thinking unchanged, or with none of it
// (docs/providers.md, R8).
type openLoop struct {
	messages   map[string]bool
	unfinished string // see [Sent].Unfinished
}

// openLoop returns the open tool loop of the session, with no messages if none is open.
func (c *Case) openLoop() *openLoop {
	if c.loop == nil {
		q, _ := c.Next()
		unfinished := c.send(InUse).Unfinished.Message
		c.loop = &openLoop{map[string]bool{}, unfinished}
		if unfinished != "" {
			c.loop.messages[unfinished] = true
		}
		isResult := func(b *request.Block) bool { return b.Type == request.ToolResult }
		if n := len(q.Turns) - 1; n > 0 && slices.ContainsFunc(q.Turns[n].Blocks, isResult) {
			for _, ref := range q.Turns[n-1].Messages {
				c.loop.messages[ref.Message] = true
			}
		}
	}
	return c.loop
}

const whyLoop = "The tool loop of the newest assistant message is still open, and the provider accepts no change " +
	"to its thinking. Send one more prompt, then repair again."

// breaksLoop reports whether a trial changes the thinking of a message in the open tool loop without closing the
// loop. Removing all of the thinking is allowed if the agent does not continue the message by itself.
func (s *search) breaksLoop(ref change.Ref, res trialResult) bool {
	if !s.c.openLoop().messages[ref.Message] {
		return false
	}
	before, now := thoughts(s.c.Stored(ref)), thoughts(res.c.Stored(ref))
	after := res.c.openLoop()
	if slices.Equal(before, now) || len(after.messages) == 0 {
		return false
	}
	left := signedThoughts(now)
	return after.unfinished == ref.Message || len(left) > 0 && !slices.Equal(signedThoughts(before), left)
}

// A thought is a block of thinking.
type thought struct {
	ref             change.Ref
	text, signature string
}

func thoughts(m Stored) (all []thought) {
	for _, b := range m.Blocks() {
		if b.IsThinking() {
			all = append(all, thought{b.Ref(), b.Text, b.Signature})
		}
	}
	return all
}

// signedThoughts returns the thoughts that the provider signed, without their records.
func signedThoughts(all []thought) (out []thought) {
	for _, t := range all {
		if t.signature != "" {
			out = append(out, thought{change.Ref{}, t.text, t.signature})
		}
	}
	return out
}
