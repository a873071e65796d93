package repair

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"io"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/request"
)

// The newest models bind thinking to the conversation before it (docs/providers.md, R28): a change before a block
// invalidates that block and all later ones. mend does not know the request that a block was written for, so the proof
// compares the requests before and after a plan.

// boundRule is the code of the provider's rule about bound thinking.
const boundRule = "R28"

// A boundBlock is thinking in a request, with digests of the content that it is bound to.
type boundBlock struct {
	block              *request.Block
	prefix             [sha256.Size]byte // all content before it, without thinking
	identity, previous string            // its own identity, and the identity of the thinking before it; "" for none
}

// boundBlocks returns the thinking of a request. It reads the request once.
func boundBlocks(q request.Request) (all []boundBlock) {
	h, last := sha256.New(), ""
	for _, t := range q.Turns {
		for _, b := range t.Blocks {
			switch {
			case b.IsThinking():
				now := boundBlock{block: b, identity: identity(b), previous: last}
				h.Sum(now.prefix[:0])
				all, last = append(all, now), now.identity
				continue
			case b.Type == request.Summary: // made by the API: thinking is not bound to content before it
				h.Reset()
			}
			_, _ = io.WriteString(h, t.Role)
			writeContent(h, b)
		}
	}
	return all
}

// writeContent writes the content of a block as the model sees it.
func writeContent(h hash.Hash, b *request.Block) {
	input, output := "", ""
	if b.Input != nil {
		input = b.InputText()
	}
	if b.Output != nil {
		output = b.OutputText()
	}
	for _, s := range []string{
		string(b.Type), b.Text, b.Signature, string(b.Citations), b.ToolID, b.ToolName, input, output, fmt.Sprint(b.Error),
		b.Mime, b.URL, b.Name,
	} {
		_, _ = fmt.Fprintf(h, "%d %s", len(s), s)
	}
	_, _ = h.Write(b.Data)
	for _, inner := range b.Content {
		writeContent(h, inner)
	}
}

// contentOf returns the digest of a block's content as the model sees it, independent of the block's position.
func contentOf(b *request.Block) (sum [sha256.Size]byte) {
	h := sha256.New()
	writeContent(h, b)
	h.Sum(sum[:0])
	return sum
}

// spoiledBlocks returns the thinking that a change has invalidated: the content or the thinking before it differs. If
// all thinking before a block was removed, the block stays valid. After the first invalid block, every block that
// existed before the change is invalid.
func spoiledBlocks(before, after request.Request) (spoiled []*request.Block) {
	if after.Bound == request.Unbound {
		return nil
	}
	previous := map[string][]boundBlock{}
	for _, t := range boundBlocks(before) {
		previous[t.identity] = append(previous[t.identity], t)
	}
	for _, t := range boundBlocks(after) {
		same := previous[t.identity]
		if len(same) == 0 {
			continue
		}
		old := same[0]
		previous[t.identity] = same[1:]
		if len(spoiled) > 0 || old.prefix != t.prefix || t.previous != "" && old.previous != t.previous {
			spoiled = append(spoiled, t.block)
		}
	}
	return spoiled
}

// SpoiledThinking returns the thinking in the later case of a session that the change from the earlier case
// invalidates. It returns nil if the next model does not bind thinking.
func SpoiledThinking(before, after *Case) []*request.Block {
	q, _ := after.Current()
	if q.Whole().Bound == request.Unbound {
		return nil
	}
	previous, _ := before.Current()
	return spoiledBlocks(previous.Whole(), q.Whole())
}

// removeSpoiled removes the thinking that a plan invalidates if the agent would send it and the provider would refuse
// it. It returns the resulting case and the number of invalid blocks, nil for none. The error explains why a block
// cannot be removed.
func removeSpoiled(before, after *Case, auto bool) (*Case, *change.BoundThinking, error) {
	spoiled := SpoiledThinking(before, after)
	if len(spoiled) == 0 {
		return after, nil, nil
	}
	b := &change.BoundThinking{Spoiled: len(spoiled)}
	if q, _ := after.Current(); q.Whole().Bound != request.Refused {
		return after, b, nil
	}
	gone := map[key]bool{}
	for _, t := range spoiled {
		gone[boundKey(t)] = true
	}
	asked := after.WithError(APIError{Class: ThinkingSignature, Rule: boundRule, Index: -1, Block: -1})
	s := newSearch(asked, originalRefs{}, func(f Finding) bool { return gone[f.key()] }, auto)
	if left := SpoiledThinking(before, s.c.Reset()); len(left) > 0 {
		why := whyNone
		if len(s.failed) > 0 {
			why = s.failed[0].WhyNot
		}
		return after, b, fail.New(fail.Refused, "update the agent: newer versions leave such thinking out by themselves",
			"thinking after the change is bound to the conversation as it was, and cannot be removed. %s", why)
	}
	b.Removed = true
	return s.c.Reset(), b, nil
}

// spoilLeast compares attempt n of these trials with later attempts that hold and have the same loss. It returns the
// one that invalidates the least thinking.
func (s *search) spoilLeast(trials []*trial, res trialResult, n int) ([]*trial, trialResult) {
	least := len(SpoiledThinking(s.c, res.c))
	for least > 0 {
		n++
		others, result := s.apply(findingsOf(trials), n)
		if len(others) == 0 {
			break
		}
		for i := range others {
			if len(others) != len(trials) || others[i].fix.Loses != trials[i].fix.Loses {
				return trials, res
			}
		}
		bad, _ := s.judge(others, result, false)
		if spoils := len(SpoiledThinking(s.c, result.c)); len(bad) == 0 && spoils < least {
			trials, res, least = others, result, spoils
		}
	}
	return trials, res
}

// boundFilter returns a filter that selects the findings of the error's rule: at the block that the error names and all
// later ones, or at all blocks if it names none. If only the named block were removed, the later ones would lack the
// thinking before them.
func boundFilter(c *Case, e APIError) func(Finding) bool {
	q, _ := c.Next()
	selected := map[key]bool{}
	for n, t := range q.Turns {
		for m, b := range t.Blocks {
			if b.IsThinking() && (n > e.Index || n == e.Index && m >= e.Block) {
				selected[boundKey(b)] = true
			}
		}
	}
	return func(f Finding) bool { return len(selected) == 0 || selected[f.key()] }
}

// boundKey returns the key of the finding of the rule at a block.
func boundKey(b *request.Block) key { return key{boundRule, identity(b), b.Ref()} }

func whyBound(*Fault) string {
	return "The conversation before this thinking block has changed since the model wrote it, and the provider accepts " +
		"the block only after the original conversation."
}

// fixBound removes bound thinking. In an open tool loop the provider may accept no change to thinking, so there the
// last fix also closes the loop.
func fixBound(x *Fault) []Fix {
	if x.block == nil {
		return nil
	}
	fixes := fixThinking(x)[1:] // without the fix that keeps a summary: bound thinking has no summary
	if !x.openLoop().messages[x.Ref.Message] {
		return fixes
	}
	shut, remove := x.closeLoop(), fixes[0]
	both := Fix{Text: shut.Text + " " + remove.Text, Loses: remove.Loses, Whole: shut.Whole}
	both.Edit = func(d Editor) error {
		if err := shut.Edit(d); err != nil {
			return err
		}
		return remove.Edit(d)
	}
	return append(fixes, both)
}
