package repair

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/request"
)

// A TrimRequest describes how small the next request of a session should be. Sizes are in tokens, estimated by
// [request.Request.Tokens].
type TrimRequest struct {
	Options
	Goal      int      // the greatest size of the request; 0: Percent decides
	Percent   int      // of the model's context window; with 0 the request becomes as small as possible
	Actual    int      // the size of the request according to the provider, to correct the estimate; 0 if unknown
	Window    int      // the model's context window; 0: as the agent knows it
	TooLong   bool     // the provider refused the request as too long, so the window is at most the estimate
	KeepTurns int      // the number of newest prompts that stay whole with their answers
	Protected []string // names of tools whose outputs stay
	Hard      bool     // if the outputs are not enough, also large files and texts, and then whole turns
	Files     bool     // remove large files instead, whatever the size of the request, including files that are not sent
	Force     bool     // even if the agent is working in the session
}

// A Trimmed is the plan of a trim and its effects.
type Trimmed struct {
	Plan          change.Plan     // without ops if nothing can be trimmed
	Outputs       []TrimmedOutput // in the order in which they were chosen
	Removed       []RemovedContent
	Turns         []TakenTurn // oldest first
	Before, After int         // the estimated size of the next request
	Goal          int         // the requested greatest size
	Window        int         // the context window of the model in tokens; 0 if unknown
}

// A TrimmedOutput is an output of a tool that the agent will no longer send.
type TrimmedOutput struct {
	Ref    change.Ref
	Tool   string
	Tokens int
	Copy   bool // a later call used the same tool and the same input
}

// A RemovedContent is a file, or the middle of a text, that a line of text replaces in the store. The journal keeps
// its bytes.
type RemovedContent struct {
	Ref    change.Ref
	File   bool   // else a text
	Name   string // name of the file, or the beginning of the text
	Tokens int    // reduction of the request
}

// Defaults of trims.
const (
	DefaultPercent   = 60      // of the context window, see [TrimRequest]
	DefaultKeepTurns = 2       // see [TrimRequest]
	DefaultWindow    = 200_000 // tokens of the context window of a model whose window is unknown

	// MaxPercent is how much of the context window a request may use after a change that makes it larger. The rest is
	// for the system prompt, the tools and the answer.
	MaxPercent = 80
)

// ProtectedTools returns the names of tools whose outputs a model needs for the whole session, see [TrimRequest].
func ProtectedTools() []string {
	return []string{
		"lsp_rename", "session_read", "session_search", "session_write", "skill", "task", "todoread", "todowrite",
	}
}

// takenOut explains what happened to a file that a trim removed.
const takenOut = "it was taken out of this conversation to make room"

const (
	bytesPerToken = 4   // of the estimate; see [request.Block.Tokens]
	minTrimmed    = 50  // tokens of the smallest result worth clearing
	minRemoved    = 500 // tokens of the smallest large file or text

	// keptOfText is how many characters stay at each end of a text when its middle is removed. The beginning of a prompt
	// often explains what the rest is for.
	keptOfText  = 400
	shownOfText = 60 // characters shown to a person
)

// Trim plans to clear results of tools, as the agent itself does with old ones: it sends a short text instead. Copies
// go first: results of calls of the same tool with the same input, except the newest. Then the largest results go,
// oldest first among equals, until the estimate for the next request is at most the goal. If that is not enough and
// Hard is set, lines of text replace the largest files and the middle of the largest texts, and then whole turns are
// set aside, oldest first. If the model binds its thinking to the conversation before it, outputs, files and texts
// are removed from the end backwards instead, regardless of size or copies: thinking before the first change stays
// valid.
//
// The error wraps [ErrBusy] if the agent is working in the session and Force is not set. If the plan would break the
// session, the error explains how.
func Trim(id string, c *Case, r TrimRequest) (Trimmed, error) {
	if why := c.Busy; why != "" && !r.Force {
		return Trimmed{}, fmt.Errorf("trimming %s: %w: %s", id, ErrBusy, why)
	}
	after, t := trim(c, r)
	after, bound, err := removeSpoiled(c, after, false)
	if err != nil {
		return Trimmed{}, fmt.Errorf("trimming %s: %w", id, err)
	}
	if err := checkHarm(c, after); err != nil {
		return Trimmed{}, fmt.Errorf("trimming %s: %w", id, err)
	}
	t.Plan = change.Plan{
		Session: id, Cause: change.Cause{Kind: change.CauseTrim, Bound: bound}, Ops: change.Diff(c.Records, after.Records),
		Force: r.Force,
	}
	return t, nil
}

// trim returns the case of the trimmed session, and what was trimmed, without a plan. Content that cannot be changed
// stays.
func trim(c *Case, r TrimRequest) (after *Case, t Trimmed) {
	q := wholeRequest(c)
	t = Trimmed{Before: q.Tokens(), After: q.Tokens(), Window: cmp.Or(r.Window, c.Window())}
	t.Goal = goalOf(r, t)
	x := trimming{c: c, q: q, kept: keptMessages(c, r.KeepTurns), protected: r.Protected, sizes: sizesOf(q)}
	if r.Files {
		return x.takeFiles(t)
	}
	after, d := c, c.Draft()
	var whole []content // results that the agent cannot clear
	for _, o := range x.results() {
		if t.After <= t.Goal {
			break
		}
		if !apply(d, func(d Editor) error { return d.ClearResult(o.block) }) {
			if removable := (content{removedOf(o.block, o.Tokens), o.block}); removable.Tokens >= minRemoved {
				whole = append(whole, removable)
			}
		} else {
			t.Outputs = append(t.Outputs, o.TrimmedOutput)
			t.After -= o.Tokens - len(request.Cleared)/bytesPerToken
		}
	}
	if len(t.Outputs) > 0 {
		after = d.Case()
		t.After = sizeOf(after)
	}
	if !r.Hard {
		return after, t
	}
	for _, o := range append(whole, x.contents()...) {
		if t.After <= t.Goal {
			break
		}
		if apply(d, func(d Editor) error { return replaceContent(d, o.block) }) {
			t.Removed = append(t.Removed, o.RemovedContent)
			t.After -= o.Tokens
		}
	}
	if len(t.Removed) > 0 {
		after = d.Case()
		t.After = sizeOf(after)
	}
	if x.takeTurns(d, &t); len(t.Turns) > 0 {
		after = d.Case()
		t.After = sizeOf(after)
	}
	return after, t
}

// goalOf returns the greatest size that is requested.
func goalOf(r TrimRequest, t Trimmed) int {
	goal := cmp.Or(t.Window, DefaultWindow) * r.Percent / 100
	switch {
	case r.Goal > 0:
		return r.Goal
	case r.Actual > 0: // the estimate is in other units, and without the system prompt and the tools
		return int(int64(goal) * int64(t.Before) / int64(r.Actual))
	case r.TooLong:
		return min(goal, t.Before*r.Percent/100)
	}
	return goal
}

// apply edits the draft, and reports whether that was possible.
func apply(d *Draft, edit func(Editor) error) bool { return d.Apply(Fix{Edit: edit}) == nil }

// wholeRequest returns the next request with the whole conversation.
func wholeRequest(c *Case) request.Request {
	q, _ := c.Next()
	return q.Whole()
}

// sizeOf returns the estimated size of the next request.
func sizeOf(c *Case) int { return wholeRequest(c).Tokens() }

// A trimming selects the content to trim.
type trimming struct {
	c         *Case
	q         request.Request
	kept      map[string]bool // messages of the newest turns
	protected []string        // names of tools
	sizes     map[blockKey]int
	ofMessage map[string]int // the size of each message in the request; see [trimming.turns]
}

// sizesOf returns the size in tokens of each stored block in the request. The input of a call does not count. A file
// that an agent sends separately from its result counts with the result.
func sizesOf(q request.Request) map[blockKey]int {
	sizes := map[blockKey]int{}
	for b := range q.Blocks {
		if b.Type != request.ToolUse {
			sizes[keyOf(b)] += b.Tokens()
		}
	}
	return sizes
}

// keptMessages returns the messages of the newest turns. Each turn begins with a prompt.
func keptMessages(c *Case, turns int) map[string]bool {
	kept := map[string]bool{}
	if turns <= 0 {
		return kept
	}
	prompts := c.Prompts()
	var first change.Ref
	if turns <= len(prompts) {
		first = prompts[len(prompts)-turns]
	}
	for _, ref := range slices.Backward(c.Messages()) {
		kept[ref.Message] = true
		if ref == first {
			break
		}
	}
	return kept
}

// A result is a result that may be cleared.
type result struct {
	TrimmedOutput
	block *request.Block
	call  call
}

// A call is a tool with its input.
type call struct{ tool, input string }

// results returns the results in the request that may be cleared, in the order in which to clear them.
func (x *trimming) results() (all []result) {
	calls := map[string]call{}          // by id, newest so far
	newest := map[call]*request.Block{} // results by call
	for b := range x.q.Blocks {
		switch {
		case b.Type == request.ToolUse:
			calls[b.ToolID] = call{b.ToolName, b.InputText()}
		case b.Type == request.ToolResult && b.Source != nil && !b.Error:
			r := result{
				TrimmedOutput{Ref: b.Ref(), Tool: calls[b.ToolID].tool, Tokens: x.sizes[keyOf(b)]}, b, calls[b.ToolID],
			}
			newest[r.call] = b
			if !x.kept[b.Ref().Message] && r.Tokens >= minTrimmed && !x.isProtected(r.Tool) {
				all = append(all, r)
			}
		}
	}
	for i := range all {
		all[i].Copy = newest[all[i].call] != all[i].block
	}
	if x.isBound() {
		slices.Reverse(all)
		return all
	}
	slices.SortStableFunc(all, func(a, b result) int { return cmp.Compare(b.Tokens, a.Tokens) })
	request.MoveFirst(all, func(r result) bool { return r.Copy })
	return all
}

// isBound reports whether the request has thinking that a change before it would invalidate. Then the content nearest
// to the end is trimmed first.
func (x *trimming) isBound() bool {
	return x.q.Bound != request.Unbound && slices.ContainsFunc(x.q.Turns, func(t request.Turn) bool {
		return slices.ContainsFunc(t.Blocks, (*request.Block).IsThinking)
	})
}

// isProtected reports whether the results of a tool stay. Claude Code capitalizes the names, and since 2.1 its task
// tool is named Agent.
func (x *trimming) isProtected(tool string) bool {
	return slices.ContainsFunc(x.protected, func(p string) bool {
		return strings.EqualFold(p, tool) || strings.EqualFold(p, "task") && tool == "Agent"
	})
}

// A content is a file or a text that may be removed.
type content struct {
	RemovedContent
	block *request.Block // the stored block
}

// contents returns the large files and texts of the request: the last first if isBound, otherwise the largest, and of
// equal ones the oldest. Summaries of compactions stay: they are all that the model knows about earlier messages.
func (x *trimming) contents() (all []content) {
	seen := map[blockKey]bool{}
	for sent := range x.q.Blocks {
		id := keyOf(sent)
		size := x.sizes[id]
		if sent.Source == nil || sent.ToolID != "" || sent.IsThinking() || size < minRemoved || x.kept[id.ref.Message] ||
			seen[id] {
			continue
		}
		seen[id] = true
		m := x.c.Stored(id.ref)
		if _, b := m.Step(id.ref, id.index); b != nil && !m.Summary {
			if o := (content{removedOf(b, size), b}); o.Tokens >= minRemoved {
				all = append(all, o)
			}
		}
	}
	if x.isBound() {
		slices.Reverse(all)
		return all
	}
	slices.SortStableFunc(all, func(a, b content) int { return cmp.Compare(b.Tokens, a.Tokens) })
	return all
}

// takeFiles removes files from large records.
func (x *trimming) takeFiles(t Trimmed) (after *Case, _ Trimmed) {
	large := map[change.Ref]bool{}
	for r := range x.c.Records {
		large[r.Ref] = len(r.Data) >= minRemoved*bytesPerToken
	}
	d := x.c.Draft()
	for _, ref := range x.c.Messages() {
		if x.kept[ref.Message] {
			continue
		}
		for _, b := range x.c.Stored(ref).Blocks() {
			if !large[b.Ref()] || !mayHaveFile(b) ||
				!apply(d, func(d Editor) error { return d.ReplaceFiles(b, nil, takenOut) }) {
				continue
			}
			t.Removed = append(t.Removed, RemovedContent{Ref: b.Ref(), File: true, Name: cmp.Or(b.Name, b.Mime, b.ToolName)})
		}
	}
	if len(t.Removed) == 0 {
		return x.c, t
	}
	apply(d, Editor.WriteInPlace) // otherwise the files stay in the store
	after = d.Case()
	t.After = sizeOf(after)
	return after, t
}

// mayHaveFile reports whether a stored block is a file other than a text or a folder, or is a call or a result that may
// have files.
func mayHaveFile(b *request.Block) bool {
	switch b.Type {
	case request.Image, request.Document:
		return !strings.HasPrefix(b.Mime, "text/") && b.Mime != "application/x-directory"
	case request.ToolUse:
		return true
	case request.ToolResult:
		return len(b.Content) == 0 || slices.ContainsFunc(b.Content, func(in *request.Block) bool {
			return in.Type == request.Image || in.Type == request.Document
		})
	default:
		return false
	}
}

// removedOf describes the content that can be removed from a stored block with this size in tokens. It returns the zero
// value if the block is neither a file nor a long text.
func removedOf(b *request.Block, size int) RemovedContent {
	switch b.Type {
	case request.Image, request.Document:
		return RemovedContent{Ref: b.Ref(), File: true, Name: cmp.Or(b.Name, b.Mime), Tokens: size}
	case request.Text, request.ToolResult:
		if head, tail := headAndTail(textOf(b), keptOfText); tail != "" {
			return RemovedContent{
				Ref: b.Ref(), Name: request.Short(head, shownOfText), Tokens: size - (len(head)+len(tail))/bytesPerToken,
			}
		}
	default:
	}
	return RemovedContent{}
}

// replaceContent replaces a file, or the middle of a text, with a line of text.
func replaceContent(d Editor, b *request.Block) error {
	if b.Type != request.Text && b.Type != request.ToolResult {
		return d.ReplaceFiles(b, nil, takenOut)
	}
	text := textOf(b)
	head, tail := headAndTail(text, keptOfText)
	short := fmt.Sprintf("%s\n[%d bytes of this text were taken out of this conversation to make room]\n%s", head,
		len(text)-len(head)-len(tail), tail)
	if b.Type == request.ToolResult {
		return d.SetResult(b, short)
	}
	return d.SetText(b, short)
}

// textOf returns the text of a block, or of a result that is one text.
func textOf(b *request.Block) string {
	if b.Type == request.ToolResult && b.Output != nil {
		return b.OutputText()
	}
	return b.Text
}

// headAndTail returns the first and the last n characters of a text. If it has at most 2n, head is all of it.
func headAndTail(text string, n int) (head, tail string) {
	r := []rune(text)
	if len(r) <= 2*n {
		return text, ""
	}
	return string(r[:n]), string(r[len(r)-n:])
}

// harmful means that a plan would break something that was not broken before.
const harmful = "the change would break the session"

// checkHarm returns an error if a case has a finding, other than a note, that the earlier case did not have.
func checkHarm(before, after *Case) error {
	for _, f := range after.Findings().All() {
		if f.Severity != Note && !before.Findings().Has(f) {
			return fail.New(fail.Refused, "", "%s: %s", harmful, f.Text)
		}
	}
	return nil
}
