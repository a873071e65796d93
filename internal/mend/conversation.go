package mend

import (
	"context"
	"fmt"
	"slices"
	"time"

	"mend/change"
	"mend/internal/keep"
	"mend/internal/request"
	"mend/repair"
)

// A ConversationItem is a text, a tool call or another block of a conversation, as its user saw it.
type ConversationItem struct {
	Role    string         // of the message, such as [change.RoleUser]
	Summary bool           // summary of a compacted part
	Added   bool           // added by the agent to the user's text
	Block   *request.Block // nil for a message that has only findings to show
	Result  *request.Block // of a tool call, if the result is a separate block; else nil
	Ended   bool           // a tool call has a result
	Faults  []repair.Diagnosis
}

// Conversation returns the items of a session of [Store.Sessions], including those no longer sent, each with the
// diagnoses of its block. The other diagnoses are in elsewhere. It only reads.
func (c *Store) Conversation(
	ctx context.Context, head change.Head, ds []repair.Diagnosis,
) (items []ConversationItem, elsewhere []repair.Diagnosis, err error) {
	s, err := c.Case(ctx, head)
	if err != nil {
		return nil, ds, err
	}
	return conversationOf(ctx, s, ds)
}

// KeptConversation returns the items of a session that the store no longer has: from its copies in k, which may be
// nil, or else from another store of the agent. copied is the time of the copy, zero for another store. It only
// reads.
func (c *Store) KeptConversation(
	ctx context.Context, k *keep.Keep, head change.Head,
) (items []ConversationItem, copied time.Time, err error) {
	states, err := c.keptStates(k, head.ID)
	if err != nil {
		return nil, copied, err
	}
	from := lastWhole(ctx, k, states)
	if from == nil {
		from = newest(states)
	}
	if from == nil {
		all, _ := c.elsewhere(ctx, nil)
		for _, b := range all {
			if slices.ContainsFunc(b.heads, func(h change.Head) bool { return h.ID == head.ID }) {
				items, _, err = b.store.Conversation(ctx, head, nil)
				return items, copied, err
			}
		}
		return nil, copied, fmt.Errorf("printing session %s: it is gone, and %w", head.ID, ErrNothingKept)
	}
	r := repair.Request{Options: c.repairOptions(), Force: true, Gone: true}
	if r.Changes, err = k.Load(ctx, *from); err != nil {
		return nil, copied, err
	}
	r.Changes = slices.DeleteFunc(r.Changes, func(o change.Op) bool { return o.Ref.Session != head.ID })
	s, err := c.store.Case(ctx, from.Head(), r)
	if err != nil {
		return nil, copied, err
	}
	items, _, err = conversationOf(ctx, s, nil)
	return items, from.Time, err
}

func conversationOf(
	ctx context.Context, s *repair.Case, ds []repair.Diagnosis,
) (items []ConversationItem, elsewhere []repair.Diagnosis, err error) {
	t := conversation{
		typed: map[string]bool{}, blocks: map[blockKey]bool{}, calls: map[string]int{}, at: map[change.Ref]int{},
		first: map[string]int{},
	}
	for _, ref := range s.Prompts() {
		t.typed[ref.Message] = true
	}
	for _, ref := range s.Messages() {
		if ctx.Err() != nil {
			return nil, ds, ctx.Err()
		}
		t.add(ref, s.Stored(ref), ds)
	}
	for _, d := range ds {
		i, ok := t.at[d.Ref]
		if !ok {
			i, ok = t.first[d.Ref.Message]
		}
		if !ok {
			i, ok = t.first[d.Message]
		}
		if ok {
			t.items[i].Faults = append(t.items[i].Faults, d)
		} else {
			elsewhere = append(elsewhere, d)
		}
	}
	return t.items, elsewhere, nil
}

// A blockKey names a stored block.
type blockKey struct {
	ref   change.Ref
	index int
}

// A conversation collects the items for [Store.Conversation].
type conversation struct {
	items  []ConversationItem
	typed  map[string]bool    // the messages of the user
	blocks map[blockKey]bool  // blocks that were added
	calls  map[string]int     // index of each tool call, by its id
	at     map[change.Ref]int // index of the last item of each record
	first  map[string]int     // index of the first item of each message
}

// add adds a message. Several refs may belong to one message.
func (t *conversation) add(ref change.Ref, m repair.Stored, ds []repair.Diagnosis) {
	began := len(t.items)
	for _, b := range m.Blocks() {
		key := blockKey{b.Ref(), b.Index}
		if t.blocks[key] {
			continue
		}
		t.blocks[key] = true
		call, known := t.calls[b.ToolID]
		if b.Type == request.ToolResult && known {
			t.items[call].Result, t.items[call].Ended = b, true
			if _, ok := t.at[b.Ref()]; !ok {
				t.at[b.Ref()] = call
			}
			continue
		}
		if b.Type == request.ToolUse {
			t.calls[b.ToolID] = len(t.items)
		}
		t.at[b.Ref()] = len(t.items)
		t.items = append(t.items, ConversationItem{
			Role: m.Role, Summary: m.Summary, Added: m.Role != change.RoleAssistant && !m.Summary && !t.typed[ref.Message],
			Block: b, Ended: b.Output != nil,
		})
	}
	isAbout := func(d repair.Diagnosis) bool { return d.Ref.Message == ref.Message || d.Message == ref.Message }
	if _, known := t.at[ref]; len(t.items) == began && !known && slices.ContainsFunc(ds, isAbout) {
		t.items = append(t.items, ConversationItem{Role: m.Role, Summary: m.Summary})
	}
	if _, known := t.first[ref.Message]; !known && len(t.items) > began {
		t.first[ref.Message] = began
	}
}
