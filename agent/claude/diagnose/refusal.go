package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mend/agent/claude/transcript"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/request"
	"mend/repair"
)

// findRefusals reports the violations of the request that is sent once the history is complete: violations that the
// engine can fix, and violations that only a stored block can cause.
func (c *State) findRefusals() {
	c.linked = c.link()
	if c.linked.Leaf == nil {
		return
	}
	q, refused := c.Next()
	for _, f := range repair.FindingsOf(q, refused) {
		if _, ok := repair.EngineRule(f.Code); ok && c.linked.Record(f.Ref.Message) != nil {
			c.report(f)
		}
	}
	blocks := c.sent(q)
	c.checkSize(blocks)
	for _, b := range blocks {
		c.checkStored(b)
	}
}

// survived are the rules that Claude Code handles by itself: it sends the request again without the refused content.
var survived = []string{"R3", "R4", "R9", "R18", "R19", "R20", "R21"}

// rules are the provider's rules without survived.
var rules = sync.OnceValue(func() []provider.Rule {
	return slices.DeleteFunc(slices.Clone(anthropic.Provider{}.Rules()),
		func(r provider.Rule) bool { return slices.Contains(survived, r.Code) })
})

// Next returns the request with all breaks repaired, and its violations.
func (c *State) Next() (request.Request, []request.Violation) {
	if c.next == nil {
		q := c.Request()
		if c.linked != c.conv {
			q = c.requestOf(c.linked)
		}
		c.next, c.refused = &q, checkRules(q)
		for i, v := range c.refused {
			if len(v.Refs) == 0 && len(c.linked.Chain) > 0 { // caused by content that Claude Code adds
				c.refused[i].Refs = []change.Ref{c.ref(c.linked.Chain[0])}
			}
			if v.Rule == "R11" { // Claude Code sends a blank text as an empty one
				c.refused[i].Rule, c.refused[i].Message = "R5", "messages: text content blocks must be non-empty"
			}
		}
	}
	return *c.next, c.refused
}

func checkRules(q request.Request) (refused []request.Violation) {
	for _, r := range rules() {
		refused = append(refused, r.Check(q, false)...)
	}
	return refused
}

// link returns the conversation with all breaks repaired, so that violations before a break are found
// at the same time.
func (c *State) link() *transcript.Conversation {
	if len(c.conv.Breaks) == 0 {
		return c.conv
	}
	lines := slices.Clone(c.lines)
	for _, b := range c.conv.Breaks {
		if raw, err := jsonedit.Set(b.Record.Raw, jsonedit.Quote(b.Next.UUID), "parentUuid"); err == nil {
			lines = append(lines, newLine(raw))
		}
	}
	if raw := c.conv.Record(c.edits.leafOf(c.base)); raw != nil {
		lines = append(lines, newLine(raw.Raw))
	}
	return transcript.Load(lines, c.base.size(), c.conv.Agent)
}

// sent returns the stored blocks of prompts and answers that are in the request.
func (c *State) sent(q request.Request) (all []*transcript.Block) {
	for _, t := range q.Turns {
		for _, b := range t.Blocks {
			r := c.linked.Record(b.Ref().Message)
			if r == nil || !r.IsMessage() {
				continue
			}
			if stored := r.Blocks(); b.Index < len(stored) && &stored[b.Index].Block == b { // otherwise Claude Code adds it
				all = append(all, stored[b.Index])
			}
		}
	}
	return all
}

// checkSize checks R26: documents that are together larger than a request. Only documents larger than any image count.
func (c *State) checkSize(blocks []*transcript.Block) {
	sum, largest, size := 0, (*transcript.Block)(nil), 0
	for _, b := range blocks {
		for _, x := range append([]*request.Block{&b.Block}, b.Content...) {
			if n := len(x.Data); x.Type == request.Document && n > anthropic.LargestImage {
				if sum += n; n > size {
					largest, size = b, n
				}
			}
		}
	}
	if sum <= anthropic.LargestRequest {
		return
	}
	f := c.recordFinding("R26", largest.Record.UUID)
	f.Block, f.Detail, f.Text = largest.Index, fmt.Sprint(largest.Index), "Request exceeds the maximum size"
	f.Why = "The documents of the conversation are larger than the 32 MB that a request may have. The provider refuses " +
		"each prompt, and Claude Code then compacts the conversation."
	f.Refusal = &repair.RefusalError{
		EditOnly: true, Helps: true,
		Why: fmt.Sprintf("mend trim %s --hard replaces the largest files with lines of text.", c.base.Ref.Session),
	}
	c.report(f)
}

// checkStored reports violations of a block that do not depend on its neighbours, and violations that the request does
// not show.
func (c *State) checkStored(b *transcript.Block) {
	if b.Type == request.ToolUse && (len(b.ToolName) > request.MaxToolName || !provider.IsName(b.ToolName)) {
		c.reportBlock(b, "", "R24", "tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", "")
	}
	if b.LacksData() {
		c.reportBlock(b, "", "R18", "source.base64.data: Input should be a valid string",
			"The data of this file is not a text.")
	}
	c.checkShape(b)
	for i, inner := range b.Inner {
		switch path := fmt.Sprintf(".%d", i); {
		case inner.Type == request.Text && request.IsBlank(inner.Text):
			c.reportBlock(b, path, "R5", "messages: text content blocks must be non-empty",
				"The result of a tool call has an empty text, and the provider refuses that.",
				editBlock(b, "The empty text becomes \"(no content)\".", "",
					func([]byte) ([]byte, error) { return textBlock("(no content)"), nil }, "content", strconv.Itoa(i)))
		case inner.LacksData():
			c.reportBlock(b, path, "R18", "source.base64.data: Field required",
				"The result of a tool call has a file without its data.")
		case !slices.Contains(transcript.InnerTypes, inner.Kind):
			c.reportShape(b, path, "content")
		}
	}
}

// reportBlock reports a violation of a block, or of the value at a path in it.
func (c *State) reportBlock(b *transcript.Block, path, rule, message, why string, fixes ...repair.Fix) {
	f := c.recordFinding(rule, b.Record.UUID)
	f.Block, f.Detail, f.Text = b.Index, fmt.Sprint(b.Index)+path, message
	f.Unknown, f.Why, f.Fixes = rule == "R23" || rule == "R25", why, fixes
	if len(fixes) == 0 && rule != "R24" { // the engine fixes R24
		f.Refusal = c.refuseRepair()
	}
	c.report(f)
}

// lostFile returns the line that replaces a file.
func lostFile(b *request.Block, why string) string {
	kind := cmp.Or(b.Mime, string(b.Type))
	if len(b.Data) == 0 {
		return fmt.Sprintf("[%s: %s]", kind, why)
	}
	return fmt.Sprintf("[%s, %d KB: %s]", kind, len(b.Data)*3/4>>10, why)
}

// checkShape checks R23 and R25.
func (c *State) checkShape(b *transcript.Block) {
	allowed := transcript.BlockFields[b.Kind]
	if b.Record.IsString() || allowed == nil && !b.Unknown {
		return
	}
	if allowed == nil || b.IsThinking() && (b.NotText == "thinking" || b.NotText == "data") {
		c.reportShape(b, "", cmp.Or(b.NotText, "type"))
		return
	}
	for name, v := range b.Value.Children() {
		first, known := allowed[string(name)]
		switch {
		case !known:
			c.reportBlock(b, "", "R25", fmt.Sprintf("%s: Extra inputs are not permitted", name),
				fmt.Sprintf("The block has the field %q, which the provider does not accept.", name),
				editBlock(b, fmt.Sprintf("The field %q is removed.", name), "the field", func(raw []byte) ([]byte, error) {
					return jsonedit.EditMembers(raw, func(name string, raw []byte) ([]byte, bool) {
						_, known := allowed[name]
						return raw, known
					})
				}))
			return
		case string(name) != "content" && first != "" && strings.IndexByte(first, v.Raw()[0]) < 0:
			c.reportShape(b, "", string(name))
			return
		}
	}
}

// reportShape reports a violation of R23.
func (c *State) reportShape(b *transcript.Block, path, field string) {
	c.reportBlock(b, path, "R23", b.Kind+"."+field+": Input should be valid",
		fmt.Sprintf("The field %q of the block has a value that the provider does not accept.", field))
}
