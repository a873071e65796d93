package diagnose

import (
	"fmt"
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
	q := c.linked.Request(c.ref)
	blocks := c.sent(q)
	c.findContentRefusals(blocks)
	c.findThinkingLast()
	c.findResultOrder(blocks)
	c.findFirstPrompt(q)
	if !c.linked.Profile.Tolerant {
		c.findUnhealed(q)
	}
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
	return transcript.Load(lines, c.conv.Profile)
}

// sent returns the blocks of the request that are stored.
func (c *Case) sent(q request.Request) (all []sentBlock) {
	for _, t := range q.Turns {
		for _, b := range t.Blocks {
			r := c.linked.Record(b.Source.Message)
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
	idPattern   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	notInID     = regexp.MustCompile(`[^a-zA-Z0-9_-]`)
)

// fields are those that blocks of a type may have; a type that is missing is not checked.
var fields = map[string][]string{
	"text":              {"type", "text", "citations", "cache_control"},
	"thinking":          {"type", "thinking", "signature"},
	"redacted_thinking": {"type", "data"},
	"tool_use":          {"type", "id", "name", "input", "cache_control", "caller"},
	"tool_result":       {"type", "tool_use_id", "content", "is_error", "cache_control"},
	"image":             {"type", "source", "cache_control"},
	"document":          {"type", "source", "title", "context", "citations", "cache_control"},
}

// kinds are the other types of blocks that the provider takes.
var kinds = []string{
	"server_tool_use", "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "bash_code_execution_tool_result",
	"text_editor_code_execution_tool_result", "mcp_tool_use", "mcp_tool_result", "container_upload", "search_result", "tool_reference",
	"tool_search_tool_result", "advisor_tool_result", "fallback", "compaction",
}

// findContentRefusals reports blocks that the provider refuses whatever is around them.
func (c *Case) findContentRefusals(blocks []sentBlock) {
	for _, b := range blocks {
		at := func(rule string, class repair.Class, says, why string, fixes ...repair.Fix) {
			f := c.recordFinding(rule, class, b.record.UUID)
			f.Which, f.Says = fmt.Sprint(b.Index), says
			d := found{why: why, fixes: fixes}
			if !c.canEdit(b.record.UUID) {
				d = found{why: why, not: &repair.RefusalError{Final: true, Why: "The record has no line of its own."}}
			}
			c.report(f, d)
		}
		c.checkText(b, at)
		c.checkCall(b, at)
		c.checkMedia(b, at)
		c.checkShape(b, at)
	}
}

type reporter func(rule string, class repair.Class, says, why string, fixes ...repair.Fix)

func (c *Case) text() string {
	if t := c.base.Texts.Placeholder; strings.TrimSpace(t) != "" {
		return t
	}
	return placeholder
}

// checkText is R5 and R11.
func (c *Case) checkText(b sentBlock, at reporter) {
	const empty, blank = "messages: text content blocks must be non-empty", "messages: text content blocks must contain non-whitespace text"
	if b.Type == request.Text && transcript.IsBlank(b.Text) {
		rule, says := "R11", blank
		if b.Text == "" || c.linked.Profile.Tolerant {
			rule, says = "R5", empty
		}
		at(rule, repair.EmptyContentMessage, says, "The text of this message is empty, and the provider refuses that.",
			replaceText(b, c.text(), fmt.Sprintf("The text becomes %q.", c.text())))
	}
	for i, in := range b.Content {
		if in.Type == request.Text && transcript.IsBlank(in.Text) {
			at("R5", repair.EmptyContentMessage, empty, "The result of a tool call holds an empty text, and the provider refuses that.",
				editBlock(b, "The empty text becomes \"(no content)\".", "", func(raw []byte) ([]byte, error) {
					return editInner(raw, i, func([]byte) []byte { return []byte(`{"type":"text","text":"(no content)"}`) })
				}))
		}
	}
}

// checkCall is R13, R14 and R24.
func (c *Case) checkCall(b sentBlock, at reporter) {
	if b.Type != request.ToolUse {
		return
	}
	if !idPattern.MatchString(b.ToolID) {
		at("R13", repair.InvalidToolCall, "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'", "The provider rejects the id of this tool call.", c.renameCall(b))
	}
	if !strings.HasPrefix(strings.TrimSpace(string(b.Input)), "{") {
		to, loses := []byte("{}"), ""
		if s := strings.TrimSpace(string(b.Input)); s != "" && s != "null" {
			to = []byte(`{"value":` + s + `}`)
		}
		at("R14", repair.InvalidToolCall, "tool_use.input: Input should be a valid dictionary", "The input of this tool call is no object.",
			editBlock(b, "The input becomes an object.", loses, func(raw []byte) ([]byte, error) { return jsonedit.Set(raw, to, "input") }))
	}
	if !namePattern.MatchString(b.ToolName) {
		name := notInID.ReplaceAllString(b.ToolName, "_")
		if name = name[:min(len(name), 128)]; name == "" {
			name = "unknown"
		}
		at("R24", repair.InvalidToolCall, "tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", "The provider rejects the name of this tool.",
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
func (c *Case) checkMedia(b sentBlock, at reporter) {
	if b.stored != nil && b.stored.NotText != "" && (b.Type == request.Image || b.Type == request.Document) {
		at("R18", repair.InvalidFile, "source.base64.data: Input should be a valid string", "The data of this file is no text.", replaceText(b, lostFile(b.Block), "The file becomes a line of text."))
	}
	if why := mediaProblem(b.Block); why != "" {
		at("R15", repair.InvalidFile, "image exceeds 5 MB maximum", why, replaceText(b, lostFile(b.Block), "The image becomes a line of text."))
	}
	for i, in := range b.Content {
		if why := mediaProblem(in); why != "" {
			at("R15", repair.InvalidFile, "image exceeds 5 MB maximum", why, editBlock(b, "The image becomes a line of text.", "the image", func(raw []byte) ([]byte, error) {
				return editInner(raw, i, func([]byte) []byte { return textBlock(lostFile(in)) })
			}))
		}
	}
}

// mediaProblem returns why the image makes prompts fail, "" if it does not.
func mediaProblem(b *request.Block) string {
	if b.Type != request.Image || len(b.Data) <= anthropic.LargestImage {
		return ""
	}
	return "The image is larger than the 5 MB that can be sent, so a prompt fails before it is sent."
}

func lostFile(b *request.Block) string {
	what := string(b.Type)
	if b.Mime != "" {
		what = b.Mime
	}
	if len(b.Data) == 0 {
		return fmt.Sprintf("[%s: it could not be sent]", what)
	}
	return fmt.Sprintf("[%s, %d KB: it could not be sent]", what, len(b.Data)*3/4>>10)
}

// checkShape is R23 and R25.
func (c *Case) checkShape(b sentBlock, at reporter) {
	if b.stored == nil || b.stored.Record.IsString() {
		return
	}
	kind := b.stored.Kind
	allowed, known := fields[kind]
	if !known {
		if !slices.Contains(kinds, kind) {
			at("R23", repair.IncompleteRecord, fmt.Sprintf("Input tag '%s' found using 'type' does not match any of the expected tags", kind), "The type of this block is none that the provider knows.",
				replaceText(b, fmt.Sprintf("[a block of the type %q]", kind), "The block becomes a line of text."))
		}
		return
	}
	for _, name := range names(b.stored.Raw) {
		if slices.Contains(allowed, name) {
			continue
		}
		at("R25", repair.IncompleteRecord, name+": Extra inputs are not permitted", fmt.Sprintf("The block has the field %q, which the provider does not take.", name),
			editBlock(b, fmt.Sprintf("The field %q is removed.", name), "the field", func(raw []byte) ([]byte, error) {
				for _, n := range names(raw) {
					if !slices.Contains(allowed, n) {
						var err error
						if raw, err = jsonedit.Remove(raw, n); err != nil {
							return nil, err
						}
					}
				}
				return raw, nil
			}))
		return
	}
}

// names returns the names of an object's members.
func names(object []byte) (all []string) {
	for name := range jsonedit.Parse(object).Children() {
		all = append(all, string(name))
	}
	return all
}

// findUnhealed reports what versions before 2.1 do not heal.
func (c *Case) findUnhealed(q request.Request) {
	for _, v := range provider.Check(anthropic.Provider{}, q, false) {
		if len(v.Refs) == 0 || slices.Contains([]string{"R3", "R4", "R5", "R11", "R13", "R14", "R15", "R16"}, v.Rule) {
			continue
		}
		f := repair.Finding{Code: v.Rule, Ref: v.Refs[0], Says: v.Message, Class: repair.ToolResultMissing}
		d := found{why: "This version of Claude Code sends the message as it is stored, and the provider refuses it; version 2.1 leaves it out by itself."}
		d.fixes = []repair.Fix{{
			Text: "The record stays in the transcript as a note that is not sent.", Loses: "what it holds, for the model", Whole: true,
			Edit: func(d repair.Draft) error { return d.(*draft).retire(v.Refs[0].Message) },
		}}
		c.report(f, d)
	}
}
