package repair

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"mend/change"
	"mend/internal/request"
)

// FindForError returns findings for an error that only the provider can judge: all content of the affected kind that
// is sent. For most classes it reads only the error's class.
func FindForError(c *Case, e APIError) (fs []Finding) {
	q, _ := c.Next()
	add := func(code string, match func(*request.Block) bool) {
		for b := range q.Blocks {
			if b.Source != nil && match(b) {
				fs = append(fs, Finding{
					Code: code, Severity: Latent, Ref: b.Ref(), Block: b.Index, Detail: identity(b),
					candidate: b,
				})
			}
		}
	}
	switch e.Class {
	case ThinkingSignature:
		code := "R7"
		if e.Rule == boundRule {
			code = boundRule
		}
		add(code, (*request.Block).IsThinking)
	case ThinkingBlockModified:
		add("R8", (*request.Block).IsThinking)
	case ThinkingDisabledViolation:
		add("thinking", (*request.Block).IsThinking)
		fs = onePerMessage(fs)
	case EncryptedReasoning:
		add("encrypted", func(b *request.Block) bool { return b.Signature != "" || len(b.Details) > 0 })
	case ItemID:
		add("item", func(b *request.Block) bool { return b.ItemID != "" })
		fs = onePerMessage(fs)
	case ThinkingBlockOrder:
		if e.Rule == "V3" {
			first := firstCalls(q)
			add("reasoning", func(b *request.Block) bool { return first[b] })
		}
	case InvalidFile:
		at, _ := blockAndTurn(c, e)
		link := e.Link()
		isNamed := func(b *request.Block) bool {
			isImage := b.Type == request.Image || b.Type == request.Document
			return isImage && at != nil && b.Ref() == at.Ref() || link != "" && b.URL == link
		}
		add("image", func(b *request.Block) bool { return isNamed(b) || slices.ContainsFunc(b.Content, isNamed) })
	default: // the request or the stored session shows it
	}
	return fs
}

// identity distinguishes a thinking block from the others in its record. An index cannot: it changes when an earlier
// block is removed. It is "" for a block that is not thinking.
func identity(b *request.Block) string {
	if !b.IsThinking() {
		return ""
	}
	sum := sha256.Sum256([]byte(b.Signature + "\x00" + b.Text))
	return hex.EncodeToString(sum[:8])
}

// onePerMessage returns one finding for each message.
func onePerMessage(fs []Finding) (all []Finding) {
	seen := map[string]bool{}
	for _, f := range fs {
		if !seen[f.Ref.Message] {
			seen[f.Ref.Message] = true
			f.Ref, f.Detail = messageRef(f.Ref), ""
			all = append(all, f)
		}
	}
	return all
}

// firstCalls returns the first call of each turn without thinking.
func firstCalls(q request.Request) map[*request.Block]bool {
	first := map[*request.Block]bool{}
	for _, t := range q.Turns {
		if !slices.ContainsFunc(t.Blocks, (*request.Block).IsThinking) {
			if i := slices.IndexFunc(t.Blocks, func(b *request.Block) bool { return isCall(b) && b.Source != nil }); i >= 0 {
				first[t.Blocks[i]] = true
			}
		}
	}
	return first
}

// isAboutThinking reports whether the fix of such an error removes thinking.
func isAboutThinking(e APIError) bool {
	return e.Class == ThinkingDisabledViolation || e.Class == ThinkingSignature || e.Class == ThinkingBlockModified
}

// locate returns a filter that selects the findings that the error names; nil if it names none. found contains all
// findings of the error's kind. If only is true, no other finding may be fixed instead: signed thinking cannot be
// restored, so it is removed only from the located message.
//
// It looks for the records in this order: the items that the error names; the calls; their neighbours in the same
// steps; the block of the next request with the numbers in the error; the turn with the number; the message near that
// number in the store, because the store may have changed since the error. An error about thinking without a number is
// about the newest message with a finding, and so is every error about changed thinking: the provider compares only the
// newest message.
func locate(c *Case, e APIError, found []Finding) (named func(Finding) bool, only bool) {
	if e.Rule == boundRule {
		return boundFilter(c, e), true
	}
	l := locator{c: c, e: e, found: found, messages: c.Messages(), faulty: map[string]bool{}}
	for _, f := range found {
		l.faulty[f.Ref.Message] = true
	}
	return l.locate(), isAboutThinking(e)
}

type locator struct {
	c        *Case
	e        APIError
	found    []Finding
	messages []change.Ref
	faulty   map[string]bool // messages with findings
}

func (l *locator) locate() func(Finding) bool {
	if l.e.Rule == "R8" {
		return l.nonEmpty(l.messageFilter(l.newest()))
	}
	called, adjacent, items := l.namedRecords()
	block, turn := blockAndTurn(l.c, l.e)
	for _, match := range [...]func(Finding) bool{
		func(f Finding) bool { return items[f.Ref.Message] },
		func(f Finding) bool { return called[f.Ref] },
		func(f Finding) bool { return adjacent[f.Ref] },
		func(f Finding) bool { return block != nil && f.Ref == block.Ref() && f.Block == block.Index },
		func(f Finding) bool { return block != nil && f.Ref == block.Ref() },
		func(f Finding) bool { return turn[f.Ref.Message] },
		l.messageFilter(l.nearest()),
	} {
		if at := l.nonEmpty(match); at != nil {
			return at
		}
	}
	if isAboutThinking(l.e) && (l.e.Index >= 0 || l.e.Class != ThinkingDisabledViolation) {
		return l.nonEmpty(l.messageFilter(l.newest()))
	}
	return nil
}

// nonEmpty returns match, or nil if it selects no finding.
func (l *locator) nonEmpty(match func(Finding) bool) func(Finding) bool {
	if slices.ContainsFunc(l.found, match) {
		return match
	}
	return nil
}

// namedRecords returns the records of the calls that the error names by id, and the messages with the items that it
// names. adjacent has the other records in the steps of the calls: one of them may separate a call from its result. If
// the provider lacks an item, it lacks all items of that account, so no item is located.
func (l *locator) namedRecords() (called, adjacent map[change.Ref]bool, items map[string]bool) {
	called, adjacent, items = map[change.Ref]bool{}, map[change.Ref]bool{}, map[string]bool{}
	if len(l.e.Calls)+len(l.e.Items) == 0 {
		return called, adjacent, items
	}
	for _, ref := range l.messages {
		for _, step := range l.c.Stored(ref).Steps {
			for _, b := range step {
				if b.ItemID != "" && l.e.Rule != "O10" && slices.Contains(l.e.Items, b.ItemID) {
					items[ref.Message] = true
				}
				if !isNamed(b, l.e.Calls) {
					continue
				}
				called[b.Ref()] = true
				for _, o := range step {
					adjacent[o.Ref()] = true
				}
			}
		}
	}
	return called, adjacent, items
}

// blockAndTurn returns the stored block of the next request that the error names, nil for none, and the
// ids of the messages in its turn.
func blockAndTurn(c *Case, e APIError) (block *request.Block, turn map[string]bool) {
	q, _ := c.Next()
	turn = map[string]bool{}
	if e.Index < 0 || e.Index >= len(q.Turns) {
		return block, turn
	}
	at := e.Block
	if len(q.Turns[e.Index].Blocks) == 1 {
		at = 0
	}
	if b := q.BlockAt(e.Index, at); b != nil && b.Source != nil {
		block = b
	}
	for _, ref := range q.Turns[e.Index].Messages {
		turn[ref.Message] = true
	}
	return block, turn
}

// nearest returns the index of the message with a finding nearest to the number in the error, -1 for
// none.
func (l *locator) nearest() int {
	for _, d := range [...]int{0, -1, 1, -2, 2, -3, -4, -5} {
		if i := l.e.Index + d; l.e.Index >= 0 && i >= 0 && i < len(l.messages) && l.faulty[l.messages[i].Message] {
			return i
		}
	}
	return -1
}

// newest returns the index of the newest message with a finding, -1 for none.
func (l *locator) newest() int {
	i := len(l.messages) - 1
	for i >= 0 && !l.faulty[l.messages[i].Message] {
		i--
	}
	return i
}

// messageFilter selects the findings of message number i, none for -1.
func (l *locator) messageFilter(i int) func(Finding) bool {
	return func(f Finding) bool { return i >= 0 && f.Ref.Message == l.messages[i].Message }
}
