package record

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mend/change"
	"mend/internal/jsonedit"
)

// NewPrompt returns a new user message with the id and without parts, to be inserted directly before an answer. Model
// and agent are the answer's, or else from any message of the session. Mode and columns are the answer's. The
// prompt's time is a millisecond before the answer's. Nothing depends on the clock or on random numbers.
//
// ok is false if no message of the session names a model and an agent, or if the answer's record is
// not a JSON object.
func (s *Session) NewPrompt(answer *Message, id string) (Message, bool) {
	agent, provider, model := s.agentAndModel(answer)
	if agent == "" || provider == "" || model == "" || answer.IsMalformed() {
		return Message{}, false
	}
	ref := answer.Ref
	ref.Message = id
	created := max(0, answer.Created-1)
	r := change.Record{Ref: ref, Mode: answer.Mode}
	fields := []jsonedit.Member{
		textMember("role", change.RoleUser),
		{Name: "time", Raw: fmt.Appendf(nil, `{"created":%d}`, created)},
		textMember("agent", agent),
		{Name: "model", Raw: jsonedit.Object(textMember("providerID", provider), textMember("modelID", model))},
	}
	if !answer.IsRow() {
		fields = append([]jsonedit.Member{textMember("id", id), textMember("sessionID", s.ID)}, fields...)
	} else {
		r.Cols = messageCols(answer, ref, created)
	}
	r.Data = jsonedit.Object(fields...)
	return NewMessage(r), true
}

// agentAndModel returns the agent and the model of an assistant message. A missing value is taken
// from the first message that has it.
func (s *Session) agentAndModel(answer *Message) (agent, provider, model string) {
	for _, m := range slices.Concat([]Message{*answer}, s.Messages) {
		for _, name := range []string{"agent", "mode"} { // older records have mode and no agent
			raw, _ := jsonedit.Get(m.Data, name)
			agent = cmp.Or(agent, jsonedit.Unquote(raw))
		}
		if provider == "" || model == "" {
			provider, model = m.ProviderID, m.ModelID
		}
	}
	return agent, provider, model
}

// messageCols returns the columns of a new message: the neighbour's, with other ids and times.
func messageCols(neighbour *Message, ref change.Ref, created int64) change.Cols {
	r := change.Record{Cols: neighbour.Cols}
	for _, id := range idFields(ref) {
		r = r.WithCol(change.TextCol(id.col, id.value))
	}
	for _, name := range []string{"time_created", "time_updated"} {
		r = r.WithCol(change.IntCol(name, created))
	}
	return r.Cols
}

// InsertMessage adds a message. Its position follows from its time and its id.
func (s *Session) InsertMessage(m Message) {
	s.Messages = append(slices.Clip(s.Messages), m)
	s.Sort()
}

// IDBefore returns an id that sorts directly before the message's own, and whether such an id
// exists. It has the same tail, and its clock is one step earlier.
func (m *Message) IDBefore() (string, bool) {
	tail, made := strings.CutPrefix(m.Ref.Message, messagePrefix)
	if !made || !isClock(tail) {
		return "", false
	}
	n, err := strconv.ParseUint(tail[:clockDigits], 16, 64)
	if err != nil || n == 0 {
		return "", false
	}
	return messagePrefix + digits(n-1) + tail[clockDigits:], true
}
