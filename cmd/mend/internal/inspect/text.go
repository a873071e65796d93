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
	used := time.UnixMilli(max(head.Updated, head.Created)).Local().Format(time.DateTime)
	about := fmt.Sprintf("%s, %s, %s, last used %s", agents.Title(c.ID()), head.ID, cmp.Or(term.OneLine(head.Directory, 500), "no folder"), used)
	if note != "" {
		about += ", " + note
	}
	texts := []string{"# " + cmp.Or(term.OneLine(head.Title, 200), "(no title)"), about}
	for _, p := range paragraphs(agents.Title(c.ID()), elsewhere, items) {
		texts = append(texts, p.markdown())
	}
	text := strings.Join(texts, "\n\n") + "\n"
	if env.JSON {
		env.SetAnswer("session", head.ID)
		env.SetAnswer("text", text)
		return nil
	}
	env.PrintText(text)
	return nil
}

// A paragraph is a part of a conversation in Markdown.
type paragraph struct {
	kind  paragraphKind
	text  string
	fault repair.Diagnosis // of a note
}

type paragraphKind int

const (
	plain   paragraphKind = iota
	heading               // the author of what follows
	quote                 // thinking, and what the agent added
	fenced                // the input or the result of a tool call
	note                  // a finding about what follows
)

// markdown returns the paragraph as Markdown. Fenced text is unchanged, between fences longer than any in it.
func (p paragraph) markdown() string {
	text := strings.TrimRight(p.text, "\n")
	switch p.kind {
	case heading:
		return "## " + text
	case fenced:
		fence := "```"
		for strings.Contains(text, fence) {
			fence += "`"
		}
		return fence + "\n" + text + "\n" + fence
	case note:
		text = "**Incomplete:** " + p.fault.Why
	case quote:
	default:
		return text
	}
	return "> " + strings.ReplaceAll(text, "\n", "\n> ")
}

// paragraphs returns the paragraphs of a conversation, after the findings that are about none of its items.
func paragraphs(agent string, elsewhere []repair.Diagnosis, items []mend.ConversationItem) (all []paragraph) {
	add := func(kind paragraphKind, text string) { all = append(all, paragraph{kind: kind, text: text}) }
	notes := func(ds []repair.Diagnosis) {
		for _, d := range ds {
			all = append(all, paragraph{kind: note, fault: d})
		}
	}
	notes(elsewhere)
	last := ""
	for _, x := range items {
		who := agent
		switch {
		case x.Summary:
			who = "Summary of what came before"
		case x.Role == change.RoleUser && !x.Added:
			who = "You"
		}
		if who != last {
			last = who
			add(heading, who)
		}
		notes(x.Faults)
		switch b := x.Block; {
		case b == nil:
		case b.Type == request.ToolUse:
			add(plain, "**"+b.ToolName+"**")
			add(fenced, allInput(b))
			if text := resultText(cmp.Or(x.Result, b)); text != "" {
				add(fenced, text)
			} else if !x.Ended {
				add(plain, "No result.")
			}
		case b.Type == request.ToolResult:
			add(plain, "Result of a call that does not exist:")
			add(fenced, resultText(b))
		case b.IsThinking() && strings.TrimSpace(b.Text) != "":
			add(quote, b.Text)
		case b.Type == request.Image || b.Type == request.Document:
			add(plain, fmt.Sprintf("[%s %s]", b.Type, cmp.Or(b.Name, b.Mime)))
		case x.Added:
			add(quote, b.Text)
		case b.Type == request.Text || b.Type == request.Summary:
			add(plain, b.Text)
		}
	}
	return all
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

// resultText returns the result of a tool call, "" for none.
func resultText(b *request.Block) string {
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
	return strings.Join(text, "\n")
}
