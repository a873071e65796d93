package mend

import (
	"context"
	"slices"

	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// A ConversationItem is one thing of a conversation as a person had it.
type ConversationItem struct {
	Role    string         // of the message, such as [change.RoleUser]
	Summary bool           // it stands for what a compaction replaced
	Added   bool           // the agent has added it to what its user typed
	Block   *request.Block // nil for a message that has nothing to show but its faults
	Result  *request.Block // of a tool call, where it is a block of its own; else nil
	Ended   bool           // a tool call has a result
	Failed  bool           // and it is an error
	Faults  []repair.Diagnosis
}

// Conversation returns what was said and done in a session of [Store.Sessions], also what the agent does not send
// any more, with those of the diagnoses that are about it. The others are in elsewhere. It reads only.
func (c *Store) Conversation(
	ctx context.Context, head change.Head, ds []repair.Diagnosis,
) (items []ConversationItem, elsewhere []repair.Diagnosis, err error) {
	s, err := c.Case(ctx, head)
	if err != nil {
		return nil, ds, err
	}
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

// A conversation is what [Store.Conversation] has so far.
type conversation struct {
	items  []ConversationItem
	typed  map[string]bool    // the messages of the user
	blocks map[blockKey]bool  // those that it has
	calls  map[string]int     // the tool calls by their id
	at     map[change.Ref]int // the last of each record
	first  map[string]int     // the first of each message
}

// add adds a message. Several refs may have one message.
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
			t.items[call].Result, t.items[call].Ended, t.items[call].Failed = b, true, b.Error
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
			Block: b, Ended: b.Output != nil, Failed: b.Error,
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
