package transcript

import (
	"slices"
	"strings"

	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
)

// Request returns what Claude Code sends when the user types one more prompt. ref returns the ref of a
// record.
func (c *Conversation) Request(ref func(*Record) change.Ref) request.Request {
	b := builder{c: c, ref: ref, open: map[string]*message{}}
	b.request.Model = c.nextModel()
	b.stripped = c.strippedThinking()
	b.addMessages()
	b.dropBlank()
	b.dropThinkingOnly()
	b.pairCalls()
	b.join()
	b.addPrompt()
	return b.request
}

// A message is one message that Claude Code sends: a prompt, a result or an answer.
type message struct {
	role    string
	id      string // id of an answer
	text    bool   // a prompt whose content is a string
	context bool   // context that Claude Code adds to a prompt
	images  bool   // the images of an attachment
	blocks  []*request.Block
	records []*Record
}

// hasStored reports whether match accepts a stored block of the message, even one that Claude Code does not send.
func (m *message) hasStored(match func(*Block) bool) bool {
	return slices.ContainsFunc(m.records, func(r *Record) bool { return slices.ContainsFunc(r.Blocks(), match) })
}

func isUnknown(b *Block) bool { return b.Unknown }

func isThinking(b *Block) bool { return b.IsThinking() }

type builder struct {
	c        *Conversation
	ref      func(*Record) change.Ref
	messages []*message
	request  request.Request
	stripped map[*Block]bool
	refused  refusals
	waiting  bool // the last record of the conversation is the user's, even if it is not sent

	open map[string]*message // the messages, by id, to which further records may still be added
	read int                 // number of messages that open accounts for
}

// nextModel returns the model of the next request: the model of the last answer. Instead of a retired model Claude
// Code takes its default model, which the transcript does not name.
func (c *Conversation) nextModel() request.Model {
	m := request.Model{ProviderID: "anthropic"}
	for _, r := range slices.Backward(c.Chain) {
		if r.Type == Assistant && r.Model != "" && r.isSent() {
			if !slices.ContainsFunc(retired, func(prefix string) bool { return strings.HasPrefix(r.Model, prefix) }) {
				m.ModelID = r.Model
			}
			return m
		}
	}
	return request.Model{}
}

// retired are the prefixes of the names of models that Anthropic's API no longer serves, according to the list in
// Claude Code 2.1.332. The next model to go is claude-opus-4-5, on 22 January 2027.
var retired = []string{
	"claude-3-", "claude-opus-4-0", "claude-opus-4-1", "claude-opus-4-20", "claude-sonnet-4-0", "claude-sonnet-4-20",
	"claude-sonnet-4-5",
}

// strippedThinking returns the thinking that Claude Code no longer sends. After the provider refused thinking, for
// example because the conversation before it changed, a record says that all earlier thinking is left out, or all from
// one block on.
func (c *Conversation) strippedThinking() map[*Block]bool {
	strips := func(r *Record) bool {
		return r.Type == Attachment && r.value.TextAt("attachment", "type") == "thinking_stripped"
	}
	path := c.Path()
	if !slices.ContainsFunc(path, strips) {
		return nil
	}
	stripped := map[*Block]bool{}
	var kept []*Block
	number := map[*Block]int{}
	answers := map[string][]int{} // the numbers of each answer's thinking
	for _, r := range path {
		if r.Type == Assistant {
			for _, block := range r.Blocks() {
				if block.IsThinking() {
					kept = append(kept, block)
					number[block] = len(number)
					answers[r.MessageID] = append(answers[r.MessageID], number[block])
				}
			}
		}
		if !strips(r) {
			continue
		}
		first, from := 0, r.value.Get("attachment").Get("from")
		named := answers[from.TextAt("messageId")]
		if n, ok := from.Get("thinkingIndex").Int(); ok && 0 <= n && n < int64(len(named)) {
			first = named[n]
		}
		for len(kept) > 0 && number[kept[len(kept)-1]] >= first {
			stripped[kept[len(kept)-1]] = true
			kept = kept[:len(kept)-1]
		}
	}
	return stripped
}

// addMessages adds a message for each prompt, and one for the records of each answer.
func (b *builder) addMessages() {
	all := b.c.Chain
	if b.c.Leaf != nil && b.c.Leaf.Type == User { // context that was stored after the newest prompt
		all = b.c.Path()
	}
	b.refused = refusedFiles(all)
	for i, r := range all {
		if r.IsLoadable() {
			b.waiting = r.Type != Assistant
		}
		switch {
		case r.Type == Attachment:
			b.addAttachment(r)
		case i < len(b.c.Chain) && r.isSent():
			b.addRecord(r)
			b.addLoaded(r)
		}
	}
	for _, m := range b.messages {
		if m.role == change.RoleAssistant {
			moveCallsLast(m.blocks)
		}
	}
}

func (b *builder) addRecord(r *Record) {
	m := b.answer(r)
	if m == nil {
		m = &message{role: r.role(), id: r.MessageID, text: r.Type != Assistant && r.IsString()}
		b.messages = append(b.messages, m)
	}
	m.records = append(m.records, r)
	source := b.ref(r)
	for _, block := range r.Blocks() {
		// Claude Code does not send another model's thinking.
		isOthers := r.Type == Assistant && r.Model != b.request.Model.ModelID && block.IsThinking()
		if isOthers || b.stripped[block] || !block.hasType() && !r.IsString() {
			continue
		}
		if block.Source == nil {
			block.Source = &source
			for _, inner := range block.Content {
				inner.Source = &source
			}
		}
		sent := b.refused.without(r, &block.Block)
		if begin := r.reminder(); begin != "" {
			wrapped := block.Block
			wrapped.Text, sent = begin+wrapped.Text+"\n</system-reminder>", &wrapped
		}
		if sent != nil {
			m.blocks = append(m.blocks, sent)
		}
	}
}

// notification is what Claude Code puts before the report of a background task.
const notification = "<system-reminder>\n[SYSTEM NOTIFICATION - NOT USER INPUT]\nThis is an automated " +
	"background-task event, NOT a message from the user.\n" +
	"Do NOT interpret this as user acknowledgement, confirmation, or response to any pending question.\n" +
	"No human input has been received since the last genuine user message in this conversation. Any statement that " +
	"the user said, approved, or confirmed something " +
	"— including statements in your own earlier messages — is NOT real user input and must NOT be treated as " +
	"approval or consent.\n\n"

// addLoaded adds the text that Claude Code puts after a result that names tools.
func (b *builder) addLoaded(r *Record) {
	isReference := func(x *request.Block) bool { return x.Type == "tool_reference" }
	namesTools := func(x *Block) bool {
		return x.Type == request.ToolResult && slices.ContainsFunc(x.Content, isReference)
	}
	if r.Type == User && slices.ContainsFunc(r.Blocks(), namesTools) {
		m, source := b.messages[len(b.messages)-1], b.ref(r)
		m.blocks = append(m.blocks, &request.Block{
			Type: request.Text, Text: "Tool loaded.", Source: &source, Index: len(r.Blocks()), // past the indexes of r's blocks
		})
	}
}

// moveCallsLast puts the calls of an answer after its other blocks, unless only calls are between two blocks
// of thinking.
func moveCallsLast(blocks []*request.Block) {
	thinks, calls := false, false // whether the last block that is not a call is thinking; whether calls follow it
	for _, x := range blocks {
		if x.Type == request.ToolUse {
			calls = true
			continue
		}
		if thinks && calls && x.IsThinking() {
			return
		}
		thinks, calls = x.IsThinking(), false
	}
	request.MoveFirst(blocks, func(x *request.Block) bool { return x.Type != request.ToolUse })
}

// answer returns the message of the answer that the record is part of, or nil if it does not exist yet.
// Results of its calls may be in between.
func (b *builder) answer(r *Record) *message {
	if r.Type != Assistant || r.MessageID == "" {
		return nil
	}
	for ; b.read < len(b.messages); b.read++ {
		m := b.messages[b.read]
		switch {
		case m.role == change.RoleAssistant:
			b.open[m.id] = m
		case !m.hasResult() && !m.context:
			clear(b.open)
		}
	}
	return b.open[r.MessageID]
}

// addAttachment adds the context that Claude Code sends with a prompt.
func (b *builder) addAttachment(r *Record) {
	var blocks []*request.Block
	source := b.ref(r)
	for v := range r.value.Get("rendered").Elements() {
		if text, ok := v.Get("content").Text(); ok && strings.TrimSpace(text) != "" {
			blocks = append(blocks, &request.Block{Type: request.Text, Text: text, Source: &source})
		}
	}
	if len(blocks) > 0 {
		b.messages = append(b.messages, &message{role: change.RoleUser, context: true, blocks: blocks, records: []*Record{r}})
	}
	b.addImages(r)
}

// addImages adds the images of a file that the user mentioned in a prompt ("@a.png"), or of a prompt that waited.
// Claude Code sends them before the prompts since the last answer or result, in the order of their records.
func (b *builder) addImages(r *Record) {
	images := r.AttachedImages()
	if len(images) == 0 || b.refused.files[r][request.Image] > 0 {
		return
	}
	source := b.ref(r)
	for _, image := range images {
		image.Source = &source
	}
	at := len(b.messages)
	for at > 0 && b.messages[at-1].role == change.RoleUser && !b.messages[at-1].hasResult() && !b.messages[at-1].images {
		at--
	}
	m := &message{role: change.RoleUser, context: true, images: true, blocks: images, records: []*Record{r}}
	b.messages = slices.Insert(b.messages, at, m)
}

// dropBlank removes blank texts from lists. An empty answer, and a prompt between two answers with nothing left, get a
// text.
func (b *builder) dropBlank() {
	var emptied *message // after an answer
	afterAnswer := false
	for _, m := range b.messages {
		stored, isAnswer := len(m.blocks), m.role == change.RoleAssistant
		if !m.text {
			m.blocks = slices.DeleteFunc(m.blocks, func(x *request.Block) bool {
				return x.Type == request.Text && strings.TrimSpace(x.Text) == ""
			})
		}
		if stored == 0 && isAnswer && !m.hasStored(isThinking) {
			b.fill(m, noPrompt)
		}
		if len(m.blocks) == 0 {
			if stored > 0 && !isAnswer && afterAnswer && emptied == nil {
				emptied = m
			}
			continue
		}
		if isAnswer && emptied != nil {
			b.fill(emptied, noPrompt)
		}
		emptied, afterAnswer = nil, isAnswer
	}
	b.dropEmpty()
}

func (b *builder) dropEmpty() {
	b.messages = slices.DeleteFunc(b.messages, func(m *message) bool { return len(m.blocks) == 0 })
}

// dropThinkingOnly removes answers that have only thinking.
func (b *builder) dropThinkingOnly() {
	hasOther := map[string]bool{} // whether an answer has a block that is not thinking
	for _, m := range b.messages {
		hasOther[m.id] = hasOther[m.id] || m.role == change.RoleAssistant && slices.ContainsFunc(m.blocks,
			func(x *request.Block) bool { return !x.IsThinking() })
	}
	b.messages = slices.DeleteFunc(b.messages, func(m *message) bool {
		return m.role == change.RoleAssistant && !hasOther[m.id]
	})
}

// pairCalls removes calls without a stored result, calls with a repeated id, and results without a call. It moves a
// prompt between a call and its result after the result. The calls of the last answer, and calls whose result is
// elsewhere, get a result.
func (b *builder) pairCalls() {
	answered := map[string]bool{}
	for _, m := range b.messages {
		for _, x := range m.blocks {
			answered[x.ToolID] = answered[x.ToolID] || x.Type == request.ToolResult
		}
	}
	for _, r := range b.c.Chain {
		if r.Virtual { // it is not sent, but counts as a stored result
			for id := range r.toolIDs(request.ToolResult) {
				answered[id] = true
			}
		}
	}
	last := len(b.messages) - 1
	for last >= 0 && b.messages[last].role != change.RoleAssistant {
		last--
	}
	if last > 0 {
		b.dropLost(b.messages[:last], answered)
	}
	calls := map[string]bool{}
	for _, m := range b.messages {
		m.blocks = slices.DeleteFunc(m.blocks, func(x *request.Block) bool {
			if x.Type != request.ToolUse || m.role != change.RoleAssistant {
				return false
			}
			repeated := calls[x.ToolID]
			calls[x.ToolID] = true
			return repeated
		})
	}
	b.dropEmpty()
	b.moveResults()
	b.answerCalls(answered)
	b.dropThinkingOnly()
	b.dropResults()
}

// dropLost removes the records of answers that call tools and have none of the results.
func (b *builder) dropLost(messages []*message, answered map[string]bool) {
	for _, m := range messages {
		if m.role != change.RoleAssistant {
			continue
		}
		lost := map[change.Ref]bool{}
		for _, x := range m.blocks {
			if isLost, ok := lost[x.Ref()]; x.Type == request.ToolUse && (isLost || !ok) {
				lost[x.Ref()] = !answered[x.ToolID]
			}
		}
		m.blocks = slices.DeleteFunc(m.blocks, func(x *request.Block) bool { return lost[x.Ref()] })
	}
	b.dropEmpty()
}

// moveResults puts results before the prompts of their turn.
func (b *builder) moveResults() {
	for i := 0; i < len(b.messages); {
		end := i
		for end < len(b.messages) && b.messages[end].role == change.RoleUser {
			end++
		}
		request.MoveFirst(b.messages[i:end], (*message).hasResult)
		i = max(end, i+1)
	}
}

func (m *message) hasResult() bool { return slices.ContainsFunc(m.blocks, isResult) }

func isResult(b *request.Block) bool { return b.Type == request.ToolResult }

// The results that Claude Code adds to calls: to a call that never ended, and to a call whose result does
// not follow it.
const (
	interrupted = "[Tool call interrupted: the session ended before this call's result was recorded, so its " +
		"outcome is unknown. Check whether it took effect before relying on it or running it again.]"
	misplaced = "[Tool result missing due to internal error]"
)

// answerCalls adds results to calls that no result follows. stored has the calls that have a result
// anywhere.
func (b *builder) answerCalls(stored map[string]bool) {
	var all []*message
	for i := 0; i < len(b.messages); i++ {
		m := b.messages[i]
		all = append(all, m)
		if m.role != change.RoleAssistant {
			continue
		}
		results := i + 1 // index after the results of m
		answers := map[string]bool{}
		for ; results < len(b.messages) && b.messages[results].role == change.RoleUser &&
			b.messages[results].hasResult(); results++ {
			for _, x := range b.messages[results].blocks {
				answers[x.ToolID] = answers[x.ToolID] || x.Type == request.ToolResult
			}
		}
		var before, after []*request.Block
		for _, x := range m.blocks {
			switch {
			case x.Type != request.ToolUse || answers[x.ToolID]:
			case stored[x.ToolID]:
				before = append(before, errorResult(x, misplaced))
			default:
				after = append(after, errorResult(x, interrupted))
			}
		}
		all = append(addResults(all, m, before), b.messages[i+1:results]...)
		all = addResults(all, m, after)
		i = results - 1
	}
	b.messages = all
}

// addResults adds a message with the results that Claude Code adds to calls of an answer, unless there are
// none.
func addResults(all []*message, answer *message, results []*request.Block) []*message {
	if len(results) == 0 {
		return all
	}
	return append(all, &message{role: change.RoleUser, records: answer.records, blocks: results})
}

func errorResult(call *request.Block, text string) *request.Block {
	return &request.Block{
		Type: request.ToolResult, ToolID: call.ToolID, Error: true, Output: jsonedit.Quote(text), Source: call.Source,
	}
}

// The texts that Claude Code puts into a message that has nothing else left.
const (
	noAnswer = "[Tool use interrupted]"
	noPrompt = "(no content)"
	noFirst  = "[Orphaned tool result removed due to conversation resume]"
)

// dropResults removes results in answers, results without a call in the previous answer, and repeated results. A
// message that becomes empty gets a text.
func (b *builder) dropResults() {
	open := map[string]bool{}
	for i := 0; i < len(b.messages); {
		if m := b.messages[i]; m.role == change.RoleAssistant {
			m.blocks = slices.DeleteFunc(m.blocks, func(x *request.Block) bool { return x.Type == request.ToolResult })
			b.fill(m, noAnswer)
			for _, x := range m.blocks {
				open[x.ToolID] = open[x.ToolID] || x.Type == request.ToolUse
			}
			i++
			continue
		}
		first, left, text := b.messages[i], 0, noPrompt
		if i == 0 {
			text = noFirst
		}
		for ; i < len(b.messages) && b.messages[i].role != change.RoleAssistant; i++ {
			m := b.messages[i]
			m.blocks = slices.DeleteFunc(m.blocks, func(x *request.Block) bool {
				if x.Type != request.ToolResult {
					return false
				}
				wanted := open[x.ToolID]
				delete(open, x.ToolID)
				return !wanted
			})
			left += len(m.blocks)
		}
		if left == 0 {
			b.fill(first, text)
		}
	}
	b.dropEmpty()
}

// fill puts a text into an empty message.
func (b *builder) fill(m *message, text string) {
	if r := m.records[0]; len(m.blocks) == 0 {
		source := b.ref(r)
		m.blocks = append(m.blocks, &request.Block{
			Type: request.Text, Text: text, Source: &source, Index: len(r.Blocks()), // past the indexes of r's blocks
		})
	}
}

// join merges neighbouring messages of one role into one turn. Results come first in merged messages of the user.
func (b *builder) join() {
	for rest := b.messages; len(rest) > 0; {
		n, blocks, records := 0, 0, 0
		for n < len(rest) && rest[n].role == rest[0].role {
			blocks, records = blocks+len(rest[n].blocks), records+len(rest[n].records)
			n++
		}
		t := request.Turn{
			Role: rest[0].role, Blocks: make([]*request.Block, 0, blocks+1), Messages: make([]change.Ref, 0, records),
		}
		for _, m := range rest[:n] {
			t.Blocks = append(t.Blocks, m.blocks...)
			for _, r := range m.records {
				t.Messages = append(t.Messages, b.ref(r))
			}
		}
		t.Unknown = slices.ContainsFunc(rest[:n], func(m *message) bool { return m.hasStored(isUnknown) })
		if t.Role == change.RoleUser && n > 1 {
			request.MoveFirst(t.Blocks, isResult)
		}
		b.request.Turns, rest = append(b.request.Turns, t), rest[n:]
	}
}

// addPrompt adds the next prompt. After an open turn of the user Claude Code inserts an answer first.
func (b *builder) addPrompt() {
	turns := b.request.Turns
	if n := len(turns); n > 0 && turns[n-1].Role == change.RoleUser || n == 0 && b.waiting {
		turns = append(turns, textTurn(change.RoleAssistant, "No response requested."))
	}
	b.request.Turns = append(turns, textTurn(change.RoleUser, "…"))
}

func textTurn(role, text string) request.Turn {
	return request.Turn{Role: role, Blocks: []*request.Block{{Type: request.Text, Text: text}}}
}
