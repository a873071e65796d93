package diagnose

import (
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"

	"mend/agent/claude/transcript"
	"mend/jsonedit"
	"mend/provider"
	"mend/provider/anthropic"
	"mend/repair"
	"mend/request"
)

// A block of a record that reaches the request.
type sentBlock struct {
	*request.Block
	record *transcript.Record
	stored *transcript.Block // nil for what the program adds
}

// findRefusals reports what the provider refuses of the request, as it will be when the
// history is complete.
func (c *Case) findRefusals() {
	c.linked = c.link()
	if c.linked.Leaf == nil {
		return
	}
	c.findUnloadable()
	q := c.linked.Request(c.ref)
	blocks := c.sent(q)
	c.findContentRefusals(blocks)
	c.findThinkingLast(q)
	c.findResultOrder(q, blocks)
	c.findFirstPrompt(q)
	c.findRest(q)
}

// findUnloadable reports records at which versions before 2.1 fail when they load the
// conversation: those without blocks, and null in place of a block.
func (c *Case) findUnloadable() {
	if c.linked.Profile.Tolerant {
		return
	}
	for _, r := range c.linked.Chain {
		null := slices.IndexFunc(r.Blocks(), func(b *transcript.Block) bool { return string(b.Raw) == "null" })
		if !r.IsMessage() || !c.canEdit(r.UUID) || null < 0 && r.HasContent() && (r.Type == transcript.User || !r.IsString()) {
			continue
		}
		f := c.recordFinding(ruleUnloadable, repair.IncompleteRecord, r.UUID)
		f.Text = "Failed to resume session"
		fix := repair.Fix{
			Text: "The record stays in the transcript as a note that is not sent.", Loses: "what it holds, for the model", Alike: true,
			Edit: func(d repair.Draft) error { return d.(*draft).retire(r.UUID) },
		}
		if line := c.base.last[r.UUID]; null >= 0 { // 2.0 reads all lines to count calls, and fails at the null
			fix = repair.Fix{Text: "The record is written again in its place, without the null.", Whole: true, Edit: func(d repair.Draft) error {
				return d.(*draft).removeNull(r, line)
			}}
		}
		c.report(f, found{why: "The record has no list of blocks, or one with null in it. This version of Claude Code cannot load the session; version 2.1 leaves the record out.", fixes: []repair.Fix{fix}})
	}
}

// removeNull writes the line of a record again without null in place of blocks. A record of which
// no block is left becomes a note.
func (d *draft) removeNull(r *transcript.Record, line int) error {
	isNull := func(raw []byte) bool { return string(raw) == "null" }
	raw, err := jsonedit.RemoveElements(d.raw(r.UUID), isNull, "message", "content")
	if err != nil {
		return err
	}
	d.set(r.UUID, raw)
	if !slices.ContainsFunc(r.Blocks(), func(b *transcript.Block) bool { return !isNull(b.Raw) }) {
		if err := d.retire(r.UUID); err != nil {
			return err
		}
	}
	d.setLine(line, d.raw(r.UUID))
	return nil
}

// link returns the conversation with all breaks repaired, so that what is wrong before a
// break is found with it.
func (c *Case) link() *transcript.Conversation {
	if len(c.conv.Breaks) == 0 {
		return c.conv
	}
	lines := slices.Clone(c.lines)
	for _, b := range c.conv.Breaks {
		if raw, err := jsonedit.Set(b.Record.Raw, jsonedit.Quote(b.Next.UUID), "parentUuid"); err == nil && !c.conv.Ambiguous(b) {
			lines = append(lines, appended(raw))
		}
	}
	if raw := c.conv.Record(c.edits.leafOf(c.base)); raw != nil {
		lines = append(lines, appended(raw.Raw))
	}
	return transcript.Load(lines, c.base.size(), c.conv.Profile, c.conv.Agent)
}

// sent returns the blocks of the request that are stored.
func (c *Case) sent(q request.Request) (all []sentBlock) {
	for _, t := range q.Turns {
		for _, b := range t.Blocks {
			r := c.linked.Record(b.Ref().Message)
			if r == nil {
				continue
			}
			s := sentBlock{Block: b, record: r}
			if stored := r.Blocks(); r.IsMessage() && b.Index < len(stored) && stored[b.Index].Type == b.Type {
				s.stored = stored[b.Index]
				all = append(all, s)
			}
		}
	}
	return all
}

var (
	idPattern = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	notInID   = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
)

// maxToolName is the length of the longest name of a tool that the provider takes.
const maxToolName = 128

// otherBlockTypes are the types of blocks that the provider takes, beside those of [transcript.BlockFields].
var otherBlockTypes = []string{
	"server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result",
	"text_editor_code_execution_tool_result", "mcp_tool_use", "mcp_tool_result", "container_upload", "search_result", "tool_reference",
	"tool_search_tool_result", "advisor_tool_result", "fallback", "compaction",
}

// findContentRefusals reports blocks that the provider refuses whatever is around them.
func (c *Case) findContentRefusals(blocks []sentBlock) {
	c.images, c.tooMuch = countImages(blocks), tooMuch(blocks)
	for _, b := range blocks {
		report := func(place, rule string, class repair.Class, message, why string, fixes ...repair.Fix) {
			f := c.recordFinding(rule, class, b.record.UUID)
			f.Detail, f.Text = fmt.Sprint(b.Index)+place, message
			d := found{why: why, fixes: fixes}
			if !c.canEdit(b.record.UUID) {
				d = found{why: why, refusal: &repair.RefusalError{Final: true, Why: "The record has no line of its own."}}
			}
			c.report(f, d)
		}
		c.checkText(b, report)
		c.checkCall(b, report)
		c.checkMedia(b, report)
		c.checkShape(b, report)
		c.checkInner(b, report)
	}
}

func countImages(blocks []sentBlock) (n int) {
	for _, b := range blocks {
		for _, x := range append([]*request.Block{b.Block}, b.Content...) {
			if x.Type == request.Image {
				n++
			}
		}
	}
	return n
}

// tooMuch returns the documents that have to go, the largest first, so that the request is not too
// large. Only those count that are larger than any image.
func tooMuch(blocks []sentBlock) map[*request.Block]bool {
	var large []*request.Block
	sum := 0
	for _, b := range blocks {
		for _, x := range append([]*request.Block{b.Block}, b.Content...) {
			if x.Type == request.Document && len(x.Data) > anthropic.LargestImage {
				large = append(large, x)
				sum += len(x.Data)
			}
		}
	}
	slices.SortStableFunc(large, func(x, y *request.Block) int { return len(y.Data) - len(x.Data) })
	out := map[*request.Block]bool{}
	for _, x := range large {
		if sum <= anthropic.LargestRequest {
			break
		}
		out[x] = true
		sum -= len(x.Data)
	}
	return out
}

// A reporter reports what is wrong with a block, or with what is at a place in it.
type reporter func(place, rule string, class repair.Class, message, why string, fixes ...repair.Fix)

// placeOf returns the place of an element of a result.
func placeOf(i int) string { return fmt.Sprintf(".%d", i) }

// placeholder returns the text in place of missing content.
func (c *Case) placeholder() string {
	if t := c.base.Texts.Placeholder; strings.TrimSpace(t) != "" {
		return t
	}
	return defaultPlaceholder
}

// checkText is R5 and R11.
func (c *Case) checkText(b sentBlock, report reporter) {
	const empty, blank = "messages: text content blocks must be non-empty", "messages: text content blocks must contain non-whitespace text"
	if b.Type == request.Text && transcript.IsBlank(b.Text) {
		rule, message := "R11", blank
		if b.Text == "" || c.linked.Profile.Tolerant {
			rule, message = "R5", empty
		}
		report("", rule, repair.EmptyContentMessage, message, "The text of this message is empty, and the provider refuses that.",
			replaceText(b, c.placeholder(), fmt.Sprintf("The text becomes %q.", c.placeholder())))
	}
	for i, in := range b.Content {
		if in.Type == request.Text && transcript.IsBlank(in.Text) {
			report(placeOf(i), "R5", repair.EmptyContentMessage, empty, "The result of a tool call holds an empty text, and the provider refuses that.",
				editBlock(b, "The empty text becomes \"(no content)\".", "", func(raw []byte) ([]byte, error) {
					return editInner(raw, i, func([]byte) []byte { return []byte(`{"type":"text","text":"(no content)"}`) })
				}))
		}
	}
}

// checkCall is R13, R14 and R24.
func (c *Case) checkCall(b sentBlock, report reporter) {
	if b.Type != request.ToolUse {
		return
	}
	if !idPattern.MatchString(b.ToolID) {
		report("", "R13", repair.InvalidToolCall, "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", "The provider rejects the id of this tool call.", c.renameCall(b))
	}
	if !strings.HasPrefix(strings.TrimSpace(string(b.Input)), "{") {
		to := []byte("{}")
		if s := strings.TrimSpace(string(b.Input)); s != "" && s != "null" {
			to = []byte(`{"value":` + s + `}`)
		}
		report("", "R14", repair.InvalidToolCall, "tool_use.input: Input should be a valid dictionary", "The input of this tool call is no object.",
			editBlock(b, "The input becomes an object.", "", func(raw []byte) ([]byte, error) { return jsonedit.Set(raw, to, "input") }))
	}
	if len(b.ToolName) > maxToolName || !idPattern.MatchString(b.ToolName) {
		name := notInID.ReplaceAllString(b.ToolName, "_")
		if name = name[:min(len(name), maxToolName)]; name == "" {
			name = "unknown"
		}
		report("", "R24", repair.InvalidToolCall, "tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", "The provider rejects the name of this tool.",
			editBlock(b, fmt.Sprintf("The name becomes %s.", name), "the name", func(raw []byte) ([]byte, error) { return jsonedit.Set(raw, jsonedit.Quote(name), "name") }))
	}
}

// renameCall gives a call an id that the provider takes, and its results the same.
func (c *Case) renameCall(b sentBlock) repair.Fix {
	old := b.ToolID
	id := notInID.ReplaceAllString(old, "_")
	if id == "" || c.hasCall(id) {
		id = "toolu_" + strings.ReplaceAll(newID(append([]byte(b.record.UUID), old...)), "-", "")[:24]
	}
	var results []*transcript.Block
	for _, r := range c.linked.Chain {
		for _, x := range r.Blocks() {
			if x.Type == request.ToolResult && x.ToolID == old && c.canEdit(r.UUID) {
				results = append(results, x)
			}
		}
	}
	return repair.Fix{Text: "The call and its result get another id.", Loses: "the id", Whole: true, Edit: func(d repair.Draft) error {
		err := d.(*draft).editContent(b.record.UUID, b.Index, func(raw []byte) ([]byte, error) { return jsonedit.Set(raw, jsonedit.Quote(id), "id") })
		for _, x := range results {
			if err == nil {
				err = d.(*draft).editContent(x.Record.UUID, x.Index, func(raw []byte) ([]byte, error) { return jsonedit.Set(raw, jsonedit.Quote(id), "tool_use_id") })
			}
		}
		return err
	}}
}

func (c *Case) hasCall(id string) bool {
	return slices.ContainsFunc(c.linked.Records(), func(r *transcript.Record) bool {
		return slices.ContainsFunc(r.Blocks(), func(b *transcript.Block) bool { return b.ToolID == id })
	})
}

// checkMedia is R15, R18 and the like: an image or a document that cannot be sent. Version 2.1
// leaves most of them out by itself, after a refusal.
func (c *Case) checkMedia(b sentBlock, report reporter) {
	if b.stored != nil && b.stored.NotText != "" && (b.Type == request.Image || b.Type == request.Document) {
		report("", "R18", repair.InvalidFile, "source.base64.data: Input should be a valid string", "The data of this file is no text.", replaceText(b, lostFile(b.Block, notSendable), "The file becomes a line of text."))
	}
	if p := c.problemOf(b.Block); p.rule != "" {
		fix := replaceText(b, lostFile(b.Block, notSendable), "The file becomes a line of text.")
		fix.Alike = !p.alone
		report("", p.rule, repair.InvalidFile, p.message, p.why, fix)
	}
	for i, in := range b.Content {
		if p := c.problemOf(in); p.rule != "" {
			fix := editBlock(b, "The file becomes a line of text.", "the file", func(raw []byte) ([]byte, error) {
				return editInner(raw, i, func([]byte) []byte { return textBlock(lostFile(in, notSendable)) })
			})
			fix.Alike = !p.alone
			report(placeOf(i), p.rule, repair.InvalidFile, p.message, p.why, fix)
		}
	}
}

// A fileProblem is why an image or a document makes prompts fail.
type fileProblem struct {
	rule, message, why string
	alone              bool // the others can be sent when this one is not
}

// problemOf returns the problem of an image or a document, without a rule if there is none.
func (c *Case) problemOf(b *request.Block) fileProblem {
	const refused = "The provider refuses this file; version 2.1 of Claude Code leaves it out by itself."
	switch {
	case b.Type == request.Image && len(b.Data) > anthropic.LargestImage:
		return fileProblem{rule: "R15", message: "image exceeds 5 MB maximum", why: "The image is larger than the 5 MB that can be sent, so a prompt fails before it is sent."}
	case c.tooMuch[b]:
		return fileProblem{rule: "R26", message: "Request exceeds the maximum size", why: "The documents of the conversation are larger than the 32 MB that a request may have. The provider refuses each prompt, and version 2.1 of Claude Code then compacts the conversation."}
	case c.linked.Profile.Tolerant:
		return fileProblem{}
	case b.Type == request.Document && b.Mime == pdf && b.URL == "" && b.MediaInfo().Type != pdf:
		return fileProblem{rule: "R22", message: "The PDF specified was not valid.", why: refused}
	case b.Type != request.Image:
		return fileProblem{}
	}
	numbers := []int{1}
	if c.images > anthropic.ManyImages { // then each must be smaller
		numbers = append(numbers, anthropic.ManyImages+1)
	}
	for _, n := range numbers {
		copies := request.Request{Turns: []request.Turn{{Role: "user", Blocks: slices.Repeat([]*request.Block{b}, n)}}}
		for _, v := range provider.Check(anthropic.Provider{}, copies, false) {
			if slices.Contains(imageRules, v.Rule) {
				return fileProblem{v.Rule, v.Message, refused, n > 1}
			}
		}
	}
	return fileProblem{}
}

const pdf = "application/pdf"

// imageRules are the rules of images that version 2.1 gets over.
var imageRules = []string{"R18", "R19", "R20", "R21"}

const notSendable = "it could not be sent"

// lostFile returns the line in place of a file that is not sent any more.
func lostFile(b *request.Block, why string) string {
	what := string(b.Type)
	if b.Mime != "" {
		what = b.Mime
	}
	if len(b.Data) == 0 {
		return fmt.Sprintf("[%s: %s]", what, why)
	}
	return fmt.Sprintf("[%s, %d KB: %s]", what, len(b.Data)*3/4>>10, why)
}

// checkShape is R23 and R25.
func (c *Case) checkShape(b sentBlock, report reporter) {
	if b.stored == nil || b.stored.Record.IsString() {
		return
	}
	kind := b.stored.Kind
	allowed, known := transcript.BlockFields[kind]
	if !known {
		if !slices.Contains(otherBlockTypes, kind) {
			text := fmt.Sprintf("[a block of the type %q]", kind)
			if s, ok := jsonedit.Text(b.stored.Raw); ok && !transcript.IsBlank(s) {
				text = s
			}
			report("", "R23", repair.IncompleteRecord, fmt.Sprintf("Input tag '%s' found using 'type' does not match any of the expected tags", kind), "The type of this block is none that the provider knows.",
				editBlock(b, "The block becomes a line of text.", "the block", func([]byte) ([]byte, error) { return textBlock(text), nil }))
		}
		return
	}
	if b.IsThinking() && (b.stored.NotText == "thinking" || b.stored.NotText == "data") {
		report("", "R23", repair.IncompleteRecord, kind+"."+b.stored.NotText+": Field required", fmt.Sprintf("The block has no text as its %q, and the provider does not take that.", b.stored.NotText), removeBlock(b))
		return
	}
	for name, value := range members(b.stored.Raw) {
		field := slices.IndexFunc(allowed, func(f transcript.BlockField) bool { return f.Name == name })
		switch {
		case field < 0:
			report("", "R25", repair.IncompleteRecord, name+": Extra inputs are not permitted", fmt.Sprintf("The block has the field %q, which the provider does not take.", name),
				editBlock(b, fmt.Sprintf("The field %q is removed.", name), "the field", func(raw []byte) ([]byte, error) {
					return jsonedit.EditMembers(raw, func(name string, raw []byte) ([]byte, bool) {
						return raw, slices.ContainsFunc(allowed, func(f transcript.BlockField) bool { return f.Name == name })
					})
				}))
			return
		case name == "content" && c.linked.Profile.Tolerant: // sent as a text, whatever it is
		case allowed[field].First != "" && !strings.Contains(allowed[field].First, value[:1]):
			report("", "R23", repair.IncompleteRecord, kind+"."+name+": Input should be a valid value of another type", fmt.Sprintf("The field %q of the block has a value that the provider does not take.", name), c.mendField(b, name, value))
			return
		}
	}
}

// checkInner is R23 inside results.
func (c *Case) checkInner(b sentBlock, report reporter) {
	if b.Type != request.ToolResult || b.stored == nil {
		return
	}
	i := -1
	jsonedit.EachElement(jsonedit.Parse(b.stored.Raw).Get("content").Raw(), func(raw []byte) bool {
		i++
		if kind := noData(raw); kind != "" {
			lost := lostFile(&request.Block{Type: request.BlockType(kind)}, notSendable)
			index := i
			report(placeOf(i), "R18", repair.InvalidFile, "source.base64.data: Field required", "The result of a tool call holds a file without its data.",
				editBlock(b, "The file becomes a line of text.", "", func(raw []byte) ([]byte, error) {
					return editInner(raw, index, func([]byte) []byte { return textBlock(lost) })
				}))
			return true
		}
		if innerTaken(raw) {
			return true
		}
		index, text := i, string(raw)
		if s, ok := jsonedit.Text(raw); ok {
			text = s
		}
		if transcript.IsBlank(text) {
			text = "(no content)"
		}
		report(placeOf(i), "R23", repair.IncompleteRecord, "tool_result.content: Input should be a valid block", "The result of a tool call holds something that the provider does not take.",
			editBlock(b, "It becomes a line of text.", "", func(raw []byte) ([]byte, error) {
				return editInner(raw, index, func([]byte) []byte { return textBlock(text) })
			}))
		return true
	})
}

// noData returns the type of an image or a document without its data, "" for all else.
func noData(raw []byte) string {
	b := jsonedit.Parse(raw)
	kind, _ := b.Get("type").Text()
	if kind != string(request.Image) && kind != string(request.Document) {
		return ""
	}
	from, _ := b.Get("source").Get("type").Text()
	if _, ok := b.Get("source").Get("data").Text(); ok || from == "url" || from == "file" || from == "content" {
		return ""
	}
	return kind
}

// innerTaken reports whether the provider takes an element of a result's content.
func innerTaken(raw []byte) bool {
	kind, ok := jsonedit.Parse(raw).Get("type").Text()
	if !ok || !slices.Contains(transcript.InnerTypes, kind) {
		return false
	}
	_, text := jsonedit.Parse(raw).Get("text").Text()
	return text || kind != "text"
}

// mendField gives a field of a block a value that the provider takes, or removes what cannot be
// sent without it.
func (c *Case) mendField(b sentBlock, name, value string) repair.Fix {
	switch {
	case b.IsThinking():
		return removeBlock(b)
	case name == "source":
		return replaceText(b, lostFile(b.Block, notSendable), "The file becomes a line of text.")
	case name == "text" || name == "content":
		return editBlock(b, "The value becomes a text.", "", func(raw []byte) ([]byte, error) {
			return jsonedit.Set(raw, jsonedit.Quote(value), name)
		})
	}
	return editBlock(b, fmt.Sprintf("The field %q is removed.", name), "the field", func(raw []byte) ([]byte, error) { return jsonedit.Remove(raw, name) })
}

// members returns the members of an object as texts, in its order.
func members(object []byte) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for name, v := range jsonedit.Parse(object).Children() {
			if !yield(string(name), string(v.Raw())) {
				return
			}
		}
	}
}

// findRest reports what else the provider refuses. Of that, versions from 2.1 get over what is
// wrong with thinking and media by themselves.
func (c *Case) findRest(q request.Request) {
	searched := []string{"R3", "R4", "R5", "R11", "R13", "R14", "R15", "R16", "R18", "R19", "R20", "R21"}
	why := "This version of Claude Code sends the message as it is stored, and the provider refuses it; version 2.1 leaves it out by itself."
	if c.linked.Profile.Tolerant {
		searched = append(searched, "R9")
		why = "Claude Code sends the message as it is stored, and the provider refuses it."
	}
	for _, f := range c.findings.All() {
		searched = append(searched, f.Code)
	}
	for _, v := range provider.Check(anthropic.Provider{}, q, false) {
		if len(v.Refs) == 0 || slices.Contains(searched, v.Rule) {
			continue
		}
		r := c.linked.Record(v.Refs[0].Message)
		if r == nil {
			continue
		}
		f := repair.Finding{Code: v.Rule, Ref: v.Refs[0], Text: v.Message, Class: repair.ToolResultMissing}
		if v.Rule == "R10" {
			f.Class = repair.ThinkingBlockOrder
		}
		c.report(f, found{why: why, fixes: c.restFixes(r)})
	}
}

// restFixes returns the fixes of a record that cannot be sent where it is.
func (c *Case) restFixes(r *transcript.Record) (fixes []repair.Fix) {
	if !c.canEdit(r.UUID) {
		return nil
	}
	if role := r.Role(); role != r.Type && (role == transcript.User || role == transcript.Assistant) {
		fixes = append(fixes, repair.Fix{
			Text: fmt.Sprintf("The record gets the type of its message, %s.", role), Alike: true,
			Edit: func(d repair.Draft) error { return d.(*draft).setMember(r.UUID, "type", jsonedit.Quote(role)) },
		})
	}
	if isCall := func(b *transcript.Block) bool { return b.Type == request.ToolUse }; r.Type == transcript.User && slices.ContainsFunc(r.Blocks(), isCall) {
		fixes = append(fixes, repair.Fix{
			Text: "The call in the prompt is not sent any more.", Loses: "the call, for the model", Alike: true,
			Edit: func(d repair.Draft) error {
				i := -1
				raw, err := jsonedit.RemoveElements(d.(*draft).raw(r.UUID), func([]byte) bool { i++; return isCall(r.Blocks()[i]) }, "message", "content")
				if err == nil {
					d.(*draft).set(r.UUID, raw)
				}
				return err
			},
		})
	}
	return append(fixes, repair.Fix{
		Text: "The record stays in the transcript as a note that is not sent.", Loses: "what it holds, for the model", Whole: true,
		Edit: func(d repair.Draft) error { return d.(*draft).retire(r.UUID) },
	})
}
