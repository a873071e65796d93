package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/internal/jsonedit"
	"mend/internal/keep"
	"mend/internal/mend"
	"mend/internal/request"
	"mend/internal/term"
	"mend/repair"
)

// printConversation prints a conversation as Markdown, with the content that the agent no longer sends, and with a note
// at each record that cannot be read.
func printConversation(ctx context.Context, env *frame.Env, c *mend.Store, head change.Head) error {
	found, err := c.ScanOne(ctx, head)
	if err != nil {
		return err
	}
	unread := slices.DeleteFunc(found.Diagnoses, func(d repair.Diagnosis) bool {
		return d.Class != repair.UnreadableRecord && d.Severity != repair.Lost
	})
	items, elsewhere, err := c.Conversation(ctx, head, unread)
	if err != nil {
		return err
	}
	return printMarkdown(env, c, head, "", elsewhere, items)
}

// printKept prints a conversation that the store no longer has, from its copy or from another store of the agent.
func printKept(ctx context.Context, env *frame.Env, c *mend.Store, head change.Head) error {
	return frame.WithKept(env, func(k *keep.Keep) error {
		items, copied, err := c.KeptConversation(ctx, k, head)
		if err != nil {
			return err
		}
		note := "gone"
		if !copied.IsZero() {
			note += ", as it was kept on " + copied.Local().Format(time.DateTime)
		}
		return printMarkdown(env, c, head, note, nil, items)
	})
}

func printMarkdown(
	env *frame.Env, c *mend.Store, head change.Head, note string, elsewhere []repair.Diagnosis, items []mend.ConversationItem,
) error {
	var m markdown
	m.line("# " + cmp.Or(term.OneLine(head.Title, 200), "(no title)"))
	used := time.UnixMilli(max(head.Updated, head.Created)).Local().Format(time.DateTime)
	about := fmt.Sprintf("%s, %s, %s, last used %s", agents.Title(c.ID()), head.ID, cmp.Or(term.OneLine(head.Directory, 500), "no folder"), used)
	if note != "" {
		about += ", " + note
	}
	m.line(about)
	m.notes(elsewhere)
	for _, x := range items {
		m.add(agents.Title(c.ID()), x)
	}
	if env.JSON {
		env.SetAnswer("session", head.ID)
		env.SetAnswer("text", m.String())
		return nil
	}
	env.PrintText(m.String())
	return nil
}

// A markdown writes a conversation as Markdown.
type markdown struct {
	strings.Builder
	who string // the last heading
}

// line writes a paragraph.
func (m *markdown) line(text string) {
	if m.Len() > 0 {
		m.WriteString("\n")
	}
	m.WriteString(strings.TrimRight(text, "\n") + "\n")
}

// quote writes a paragraph as a quotation.
func (m *markdown) quote(text string) {
	m.line("> " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n> "))
}

// fence writes a text unchanged between two fences, which are longer than any in the text.
func (m *markdown) fence(text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	m.line(fence + "\n" + strings.TrimRight(text, "\n") + "\n" + fence)
}

func (m *markdown) notes(ds []repair.Diagnosis) {
	for _, d := range ds {
		m.quote("**Incomplete:** " + d.Why)
	}
}

// add writes an item, and before it a heading with its author if that is not the author of the item before.
func (m *markdown) add(agent string, x mend.ConversationItem) {
	who := agent
	switch {
	case x.Summary:
		who = "Summary of what came before"
	case x.Role == change.RoleUser && !x.Added:
		who = "You"
	}
	if who != m.who {
		m.who = who
		m.line("## " + who)
	}
	m.notes(x.Faults)
	switch b := x.Block; {
	case b == nil:
	case b.Type == request.ToolUse:
		m.line("**" + b.ToolName + "**")
		m.fence(allInput(b))
		m.result(cmp.Or(x.Result, b), x)
	case b.Type == request.ToolResult:
		m.line("Result of a call that does not exist:")
		m.result(b, x)
	case b.IsThinking() && strings.TrimSpace(b.Text) != "":
		m.quote(b.Text)
	case b.Type == request.Image || b.Type == request.Document:
		m.line(fmt.Sprintf("[%s %s]", b.Type, cmp.Or(b.Name, b.Mime)))
	case x.Added:
		m.quote(b.Text)
	case b.Type == request.Text || b.Type == request.Summary:
		m.line(b.Text)
	}
}

// allInput returns the input of a tool call, one line per member, and texts without quotes.
func allInput(b *request.Block) string {
	var all []string
	for name, v := range jsonedit.Parse(b.Input).Children() {
		text, ok := jsonedit.Text(v.Raw())
		if !ok {
			text = string(jsonedit.Minify(v.Raw()))
		}
		all = append(all, string(name)+": "+text)
	}
	return cmp.Or(strings.Join(all, "\n"), b.InputText())
}

// result writes the result of a tool call.
func (m *markdown) result(b *request.Block, x mend.ConversationItem) {
	var text []string
	if b.Output != nil {
		text = append(text, b.OutputText())
	}
	for _, c := range b.Content {
		if c.Type == request.Text {
			text = append(text, c.Text)
		} else {
			text = append(text, fmt.Sprintf("[%s %s]", c.Type, cmp.Or(c.Name, c.Mime)))
		}
	}
	switch {
	case len(text) > 0:
		m.fence(strings.Join(text, "\n"))
	case !x.Ended:
		m.line("No result.")
	}
}
