package repair

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/request"
)

// Fixes of calls with an id, an input or a name that the provider rejects, and of calls without results
// (docs/providers.md, R1, R13, R14, R17).

func whyCallID(x *Fault) string {
	switch {
	case x.block == nil:
		return "The provider rejects the id of a tool call."
	case x.block.ToolID == "":
		return "The tool call's id is empty; the provider rejects that."
	}
	return fmt.Sprintf("The tool call's id %q contains characters that the provider rejects.", x.block.ToolID)
}

// maxShortID is the lowest limit of any provider for the length of a call's id.
const maxShortID = 64

func whyIDLength(x *Fault) string {
	if x.block != nil && len(x.block.ToolID) > maxShortID {
		return fmt.Sprintf("The id of the tool call has %d characters; the provider accepts %d.",
			len([]rune(x.block.ToolID)), maxShortID)
	}
	return whyCallID(x)
}

// fixCallID gives the call an id derived from its record's.
func fixCallID(x *Fault) (fixes []Fix) {
	if x.block == nil {
		return nil
	}
	call := x.Calls().call(x.block)
	results := x.Calls().Results(call)
	isOwn := func(r *request.Block) bool { return r.Ref() == call.Ref() }
	for _, id := range callIDs(call) { // two, because another call may already have the first
		fixes = append(fixes, Fix{
			Text:  fmt.Sprintf("The call gets the new id %s.", id),
			Whole: len(results) > 0 && !slices.ContainsFunc(results, isOwn), Alike: true,
			Edit: func(d Editor) error {
				if call.ToolID == id {
					return errors.New("it has that id already")
				}
				return d.SetCallID(call, results, id)
			},
		})
	}
	return fixes
}

// Calls are the tool calls of a session with their results.
type Calls struct {
	results  map[blockKey][]*request.Block // by call
	byResult map[blockKey]*request.Block   // call by result
}

// pairCalls pairs each result with the newest earlier call that has its id, or else with the last call that has it.
func pairCalls(blocks iter.Seq[*request.Block]) Calls {
	c, newest := Calls{map[blockKey][]*request.Block{}, map[blockKey]*request.Block{}}, map[string]*request.Block{}
	pair := func(result *request.Block) bool {
		call := newest[result.ToolID]
		if call != nil {
			c.results[keyOf(call)], c.byResult[keyOf(result)] = append(c.results[keyOf(call)], result), call
		}
		return call != nil
	}
	var early []*request.Block
	for b := range blocks {
		switch {
		case b.Source == nil: // the agent adds it
		case isCall(b):
			newest[b.ToolID] = b
		case b.Type == request.ToolResult && !pair(b):
			early = append(early, b)
		}
	}
	for _, b := range early {
		pair(b)
	}
	return c
}

// call returns the call of a result, or the block itself if it is a call or has none.
func (c Calls) call(b *request.Block) *request.Block {
	if isCall(b) {
		return b
	}
	return cmp.Or(c.byResult[keyOf(b)], b)
}

// Results returns the results of a call.
func (c Calls) Results(call *request.Block) []*request.Block { return c.results[keyOf(call)] }

// maxIDPart is how many bytes of a record's id go into the id of its call.
const maxIDPart = 48

// callIDs returns two ids for a call, derived from its record's.
func callIDs(b *request.Block) []string {
	record := b.Ref().ID()
	if b.Index > 0 {
		record += fmt.Sprintf("_%d", b.Index)
	}
	id := CallID(record)
	return []string{id, id + "_mend"}
}

// CallID returns an id for the call in the record with the given id.
func CallID(record string) string {
	id := notInName().ReplaceAllLiteralString(strings.TrimPrefix(record, "prt_"), "_")
	return "call_" + id[max(0, len(id)-maxIDPart):]
}

// isLongItem reports whether the id that is too long belongs to an item rather than to a call.
func (x *Fault) isLongItem() bool {
	return x.block != nil && !isCall(x.block) && x.block.Type != request.ToolResult
}

func classOfLongID(x *Fault) Class {
	if x.isLongItem() {
		return ItemID
	}
	return InvalidToolCall
}

func whyLongID(x *Fault) string {
	if x.isLongItem() {
		return "The id of the item is longer than the provider accepts."
	}
	return whyIDLength(x)
}

// fixLongID gives a call a new id. It removes an item's id that is too long.
func fixLongID(x *Fault) []Fix {
	if x.isLongItem() {
		return fixItemIDs(x)
	}
	return fixCallID(x)
}

// fixInput turns the input of a call into an object.
func fixInput(x *Fault) []Fix {
	if x.block == nil {
		return nil
	}
	input, text := request.InputObject(x.block.Input), "The input is parsed from text into an object."
	switch {
	case string(input) == "{}":
		text = "The input becomes an empty object."
	case len(input) > len(x.block.Input):
		text = `The input is wrapped in an object, under "input".`
	}
	return alike(Fix{Text: text, Edit: func(d Editor) error { return d.SetInput(x.block, input) }})
}

func whyToolName(x *Fault) string {
	name := ""
	if x.block != nil {
		name = x.block.ToolName
	}
	return fmt.Sprintf("The tool's name %q is invalid: providers accept at most %d letters, digits, _ and -.", name,
		request.MaxToolName)
}

func fixToolName(x *Fault) []Fix {
	if x.block == nil {
		return nil
	}
	name := notInName().ReplaceAllLiteralString(x.block.ToolName, "_")
	name = name[:min(len(name), request.MaxToolName)]
	if name == "" {
		name = "invalid"
	}
	return alike(Fix{
		Text:  fmt.Sprintf("The tool is renamed to %s.", name),
		Loses: "The name that the model used.",
		Edit:  func(d Editor) error { return d.SetToolName(x.block, name) },
	})
}

func whyGeminiCall(x *Fault) string {
	if x.block != nil && x.block.ToolName == "" {
		return "The tool call has no name; the provider rejects that."
	}
	return "The input of the tool call is not an object; the provider rejects that."
}

func fixGeminiCall(x *Fault) []Fix {
	if x.block != nil && x.block.ToolName == "" {
		return fixToolName(x)
	}
	return fixInput(x)
}

func classOfLostCall(x *Fault) Class {
	if x.block != nil && x.block.IsThinking() {
		return ThinkingBlockOrder
	}
	return ToolResultMissing
}

func whyLostCall(x *Fault) string {
	switch {
	case x.block == nil:
		return "A tool call would be sent without its result right after it."
	case isCall(x.block):
		return fmt.Sprintf("The %s would be sent without its result right after it.", callName(x.block))
	}
	before := "a call"
	for _, b := range x.step {
		if b == x.block {
			break
		}
		if isCall(b) {
			before = "the " + callName(b)
		}
	}
	return fmt.Sprintf("%s follows %s in the same step. Only more tool calls may follow there.", nameOf(x.block), before)
}

// fixLostCall fixes a block between a call and its result. One fix moves all content of the step after the results.
func fixLostCall(x *Fault) []Fix {
	switch {
	case x.block == nil || isCall(x.block):
		return nil
	case x.block.IsThinking():
		return x.moveOrRemove()
	}
	var fixes []Fix
	if isBlank(x.block) {
		fixes = fixBlank(x)
	}
	return append(fixes, Fix{
		Text: "A step-start marker is inserted before it, so that it is sent after the tool result. Its content is " +
			"unchanged.",
		Edit: func(d Editor) error { return d.SplitBefore(x.afterCalls()...) },
	})
}

// afterCalls returns the block of the finding or content before it, and all other content, that the step sends right
// after calls.
func (x *Fault) afterCalls() (all []*request.Block) {
	isAfter := false
	for _, b := range x.step {
		switch {
		case isCall(b):
			isAfter = true
		case isAfter && (b == x.block || isContent(b)) && x.Findings().Has(Finding{Code: x.Code, Ref: b.Ref()}):
			all, isAfter = append(all, b), false
		}
	}
	return all
}

// fixUnfinished ends an unfinished call with an error.
func fixUnfinished(x *Fault) []Fix {
	if x.block == nil || x.block.ToolID == "" {
		return nil
	}
	text := x.Texts.Cancelled
	return alike(Fix{
		Text: fmt.Sprintf("The call is marked as failed with %q. Its input stays.", text),
		Edit: func(d Editor) error { return d.FailCall(x.block, text) },
	})
}

// fixItemIDs removes the ids of all items of the message, because the items of one response belong together.
func fixItemIDs(x *Fault) []Fix {
	return alike(Fix{
		Text:  "The ids of the provider's items are removed from the message, so its content is sent in full.",
		Loses: losesItems(x.message),
		Edit:  func(d Editor) error { return d.DropItemIDs(x.message.Ref) },
	})
}

// losesItems returns what is lost with the ids of items: reasoning that is sent only by its id.
func losesItems(messages ...Stored) string {
	for _, m := range messages {
		for _, b := range m.Blocks() {
			if b.IsThinking() && b.Reference {
				return "The model's hidden reasoning, which only the provider has. The readable text stays."
			}
		}
	}
	return ""
}

// fixRepeatedItem removes the ids of all items of the messages that have the same id, because it is unknown which
// message got it from the provider.
func fixRepeatedItem(x *Fault) []Fix {
	if x.block == nil || x.block.ItemID == "" {
		return nil
	}
	all := messagesByItem(x.Case)[x.block.ItemID]
	return []Fix{{
		Text: "The ids of the provider's items are removed from the messages with the same id, so their content is sent " +
			"in full.",
		Loses: losesItems(all...),
		Whole: true,
		Edit: func(d Editor) error {
			for _, m := range all {
				if err := d.DropItemIDs(m.Ref); err != nil {
					return err
				}
			}
			return nil
		},
	}}
}

// messagesByItem returns the messages that contain an item of the provider, by the item's id. A case computes them
// once.
func messagesByItem(c *Case) map[string][]Stored {
	if c.Findings().sharing != nil {
		return c.Findings().sharing
	}
	all := map[string][]Stored{}
	for _, ref := range c.Messages() {
		m := c.Stored(ref)
		for _, b := range m.Blocks() {
			if messages := all[b.ItemID]; b.ItemID != "" && (len(messages) == 0 || messages[len(messages)-1].Ref != m.Ref) {
				all[b.ItemID] = append(messages, m)
			}
		}
	}
	c.Findings().sharing = all
	return all
}

func messageRef(ref change.Ref) change.Ref {
	ref.Kind, ref.Part = change.KindMessage, ""
	return ref
}
