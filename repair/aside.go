package repair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/request"
)

// If no fix holds for a finding, its records can be set aside: they are removed from the session, the journal keeps
// their bytes, and undo restores them.

const textAside = "It has no fix, so it is set aside: it is removed from the session."

// setAside sets aside the findings that the search has not fixed. The next pass handles the findings that this
// uncovers.
func (s *search) setAside() *search {
	left := map[key]bool{}
	for _, d := range s.failed {
		left[d.finding] = true
	}
	t := &search{c: s.c, originals: s.originals, aside: true}
	t.filter = func(f Finding) bool { return left[f.keyAt(s.originals.first(f.Ref))] && s.filter(f) }
	t.run()
	t.fixed, t.changed = append(s.fixed, t.fixed...), s.changed || t.changed
	return t
}

// asideAdvice tells a user how to set a finding aside.
func asideAdvice(d Diagnosis) string {
	flags := "--set-aside"
	if d.Severity == Latent {
		flags = "--at-risk " + flags
	}
	return fmt.Sprintf(" To continue without it: mend fix %s %s.", d.Ref.Session, flags)
}

func (s *search) canSetAside() map[key]bool {
	can := map[key]bool{}
	if s.auto || s.aside {
		return can
	}
	for _, d := range (&search{c: s.c, filter: s.filter, originals: originalRefs{}, aside: true}).run().fixed {
		can[d.finding] = true
	}
	return can
}

// asideFixes returns the ways to set a finding's content aside, smallest first: the block with its call or its
// results, the part, the message. Only messages and their parts are set aside, and only if the whole message can be
// read: the journal could not keep the rest.
func (s *search) asideFixes(f Finding) (fixes []Fix) {
	c := s.c
	records := f.Records
	if len(records) == 0 {
		records = []change.Ref{f.Ref}
	}
	isBarred := func(ref change.Ref) bool { return ref.Message == "" || !s.refs.isReadable(ref.Message) }
	if f.Severity > Latent || slices.ContainsFunc(records, isBarred) {
		return nil
	}
	if len(f.Records) > 0 {
		return []Fix{asideFix(c, records, nil)}
	}
	m := c.Stored(f.Ref)
	if _, b := m.Step(f.Ref, f.Block); b != nil {
		fixes = append(fixes, asideFix(c, nil, joinCall(c, b)))
	} else if f.Ref.Kind == change.KindPart {
		fixes = append(fixes, asideFix(c, records, nil))
	}
	records = []change.Ref{messageRef(f.Ref)}
	var blocks []*request.Block
	for _, b := range m.Blocks() {
		records, blocks = append(records, messageRef(b.Ref())), append(blocks, joinCall(c, b)...)
	}
	slices.SortFunc(records, change.Ref.Compare)
	return append(fixes, asideFix(c, slices.Compact(records), blocks))
}

// joinCall returns a block with its call or its results, because a call is sent only with its results.
func joinCall(c *Case, b *request.Block) []*request.Block {
	calls := c.Calls()
	call := calls.call(b)
	all := []*request.Block{call}
	for _, r := range calls.Results(call) {
		if keyOf(r) != keyOf(call) {
			all = append(all, r)
		}
	}
	return all
}

// asideFix returns the fix that sets aside records, and blocks of other records. If all blocks of a record are set
// aside, the record is removed.
func asideFix(c *Case, records []change.Ref, blocks []*request.Block) Fix {
	chosen := map[blockKey]bool{}
	for _, b := range blocks {
		chosen[keyOf(b)] = true
	}
	var rest []*request.Block
	whole := slices.Clone(records)
	for _, b := range slices.Backward(blocks) { // backward, because removing a block changes the index of later ones
		isOther := func(o *request.Block) bool { return o.Ref() == b.Ref() && !chosen[keyOf(o)] }
		switch {
		case slices.Contains(whole, b.Ref()), slices.Contains(records, messageRef(b.Ref())):
		case slices.ContainsFunc(c.Stored(b.Ref()).Blocks(), isOther):
			rest = append(rest, b)
		default:
			whole = append(whole, b.Ref())
		}
	}
	isWhole := len(records) > 0 || slices.ContainsFunc(blocks, func(b *request.Block) bool {
		return b.Ref().Message != blocks[0].Ref().Message
	})
	out := itemsSetAside(c, blocks)
	for i := 0; len(blocks) == 0 && i < len(records); i++ {
		out = append(out, leftItem{"unread record", records[i].ID()})
	}
	return Fix{
		Text: textAside, Loses: strings.Join(out.words(), ", "), aside: out,
		Whole: isWhole, Alike: true,
		Edit: func(d Editor) error {
			for _, b := range rest {
				if err := d.Remove(b); err != nil {
					return err
				}
			}
			for _, ref := range whole {
				if err := d.SetAside(ref); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// asideItems describes, for a person, the content that is set aside.
type asideItems []leftItem

type leftItem struct{ kind, name string }

// itemsSetAside lists the blocks as items: each prompt and each answer is one item, and so is a call with its results.
func itemsSetAside(c *Case, blocks []*request.Block) (out asideItems) {
	calls, seen := c.Calls(), map[blockKey]bool{}
	for _, b := range blocks {
		it, at := leftItem{"other block", string(b.Type)}, keyOf(b)
		switch {
		case b.Type == request.Image || b.Type == request.Document:
			it = leftItem{"file", cmp.Or(b.Name, b.Mime)}
		case b.IsThinking():
			it = leftItem{kind: "thinking block"}
		case b.Type == request.Text:
			it, at = leftItem{"answer", request.Short(b.Text, 40)}, blockKey{ref: messageRef(b.Ref()), index: -1}
			if c.Stored(b.Ref()).Role == change.RoleUser {
				it.kind = "prompt"
			}
		case isCall(b) || b.Type == request.ToolResult:
			call := calls.call(b)
			it, at = leftItem{"tool call", call.ToolName}, keyOf(call)
			if len(call.Output) > 0 || len(calls.Results(call)) > 0 {
				it.kind = "tool result"
			}
		}
		if !seen[at] {
			seen[at] = true
			out = append(out, it)
		}
	}
	return out
}

// words returns the number of items of each kind, with the first names.
func (out asideItems) words() (all []string) {
	for _, kind := range []string{
		"prompt", "answer", "tool result", "tool call", "file", "thinking block", "other block", "unread record",
	} {
		n, names := 0, []string{}
		for _, it := range out {
			if it.kind != kind {
				continue
			}
			if n++; it.name != "" && len(names) < 3 && !slices.Contains(names, it.name) {
				names = append(names, it.name)
			}
		}
		text := fmt.Sprintf("%d %s", n, kind)
		if n > 1 {
			text += "s"
		}
		if len(names) > 0 {
			text += fmt.Sprintf(" (%s)", strings.Join(names, "; "))
		}
		if n > 0 {
			all = append(all, text)
		}
	}
	return all
}
