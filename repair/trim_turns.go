package repair

import (
	"fmt"

	"mend/change"
	"mend/internal/request"
)

// A TakenTurn is a turn, a prompt with everything up to the next one, that a trim sets aside.
type TakenTurn struct {
	Prompt string `json:"prompt"` // its beginning
	Tokens int    `json:"tokens"` // reduction of the request
}

// turnsNote follows the first prompt in place of the turns that were set aside.
const turnsNote = "[%d turns that followed were taken out of this conversation to make room]"

// takeTurns sets aside whole turns, oldest first, until the request is small enough; none without a goal. The
// first prompt, which often explains what the rest is for, stays with a note after it. Summaries of compactions and
// the newest turns stay, too.
func (x *trimming) takeTurns(d *Draft, t *Trimmed) {
	if t.Goal == 0 || t.After <= t.Goal {
		return
	}
	turns := x.turns(wholeRequest(d.Case()))
	if len(turns) == 0 {
		return
	}
	note := firstText(x.c.Stored(turns[0].messages[0]))
	if note == nil {
		return
	}
	after := t.After
	var gone []change.Ref
	for i, turn := range turns {
		if after <= t.Goal {
			break
		}
		if i == 0 {
			turn.Tokens -= x.ofMessage[turn.messages[0].Message]
			turn.messages = turn.messages[1:]
		}
		if len(turn.messages) == 0 { // its answer was already set aside
			continue
		}
		t.Turns, gone = append(t.Turns, turn.TakenTurn), append(gone, turn.messages...)
		after -= turn.Tokens
	}
	setAside := func(d Editor) error {
		for _, ref := range gone {
			if err := d.SetAside(ref); err != nil {
				return err
			}
		}
		return nil
	}
	if d.Apply(Fix{Edit: setAside, Whole: true}) != nil {
		t.Turns = nil // the remaining conversation would lack its beginning
	}
	if len(t.Turns) > 0 {
		text := fmt.Sprintf(turnsNote, len(t.Turns))
		if !apply(d, func(d Editor) error { return d.InsertText(note, text) }) {
			apply(d, func(d Editor) error { return d.SetText(note, note.Text+"\n\n"+text) }) // no note if that fails
		}
	}
}

// firstText returns the first text of a message that is not blank, or nil.
func firstText(m Stored) *request.Block {
	for _, b := range m.Blocks() {
		if b.Type == request.Text && !isBlank(b) {
			return b
		}
	}
	return nil
}

// A turn is a prompt with everything up to the next one.
type turn struct {
	TakenTurn
	messages []change.Ref
}

// turns returns the turns in a request that may be set aside, oldest first: those after the newest summary.
func (x *trimming) turns(q request.Request) (all []turn) {
	isPrompt := map[change.Ref]bool{}
	for _, ref := range x.c.Prompts() {
		isPrompt[ref] = true
	}
	x.ofMessage = map[string]int{}
	for b := range q.Blocks {
		x.ofMessage[b.Ref().Message] += b.Tokens()
	}
	counted := map[string]bool{}
	for _, ref := range x.c.Messages() {
		m := x.c.Stored(ref)
		switch {
		case x.kept[ref.Message]:
			return all
		case m.Summary:
			all = nil
			continue
		case isPrompt[ref] && x.ofMessage[ref.Message] > 0:
			next := turn{}
			if b := firstText(m); b != nil {
				next.Prompt = request.Short(b.Text, shownOfText)
			}
			all = append(all, next)
		case len(all) == 0:
			continue
		}
		last := &all[len(all)-1]
		last.messages = append(last.messages, ref)
		if !counted[ref.Message] {
			counted[ref.Message] = true
			last.Tokens += x.ofMessage[ref.Message]
		}
	}
	return all
}
