package session

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mend/jsonedit"
)

// NewPrompt makes a user's message that stands directly before an answer, under
// that id and without parts. Its model and its agent are those that the answer
// names, or else any message of the session; mode, white space and columns are
// the answer's, and its time is a millisecond earlier. Nothing in it depends on
// the clock or on chance.
//
// It reports false where no message of the session names a model and an agent,
// or where the answer's record is no JSON object.
func (s *Session) NewPrompt(answer *Message, id string) (Message, bool) {
	agent, provider, model := s.agentAndModel(answer)
	if agent == "" || provider == "" || model == "" || answer.Malformed() {
		return Message{}, false
	}
	ref := answer.Ref
	ref.Message = id
	created := max(0, answer.Created-1)
	r := Record{Ref: ref, Mode: answer.Mode}
	fields := []jsonedit.Member{textMember("role", RoleUser), {Name: "time", Raw: []byte("{}")}, textMember("agent", agent), {Name: "model", Raw: []byte("{}")}}
	if answer.Cols == nil {
		fields = append([]jsonedit.Member{textMember("id", id), textMember("sessionID", s.ID)}, fields...)
	} else {
		r.Cols = messageCols(answer, ref, created)
	}
	r.Data = styleOf(&answer.Record).Object(fields...)
	for _, f := range []struct {
		raw  []byte
		path []string
	}{
		{fmt.Appendf(nil, "%d", created), []string{"time", "created"}},
		{jsonedit.Quote(provider), []string{"model", "providerID"}},
		{jsonedit.Quote(model), []string{"model", "modelID"}},
	} {
		data, err := jsonedit.Set(r.Data, f.raw, f.path...)
		if err != nil {
			return Message{}, false
		}
		r.Data = data
	}
	return NewMessage(r), true
}

// agentAndModel returns the agent and the model of an assistant message, or what it lacks
// of them from the first message that has it.
func (s *Session) agentAndModel(answer *Message) (agent, provider, model string) {
	for _, m := range slices.Concat([]Message{*answer}, s.Messages) {
		for _, name := range []string{"agent", "mode"} { // the latter in records from before there was the former
			raw, _ := jsonedit.Get(m.Data, name)
			agent = cmp.Or(agent, jsonedit.Unquote(raw))
		}
		if provider == "" || model == "" {
			provider, model = m.ProviderID, m.ModelID
		}
	}
	return agent, provider, model
}

// messageCols is the columns of a new message: those of the neighbour, but for
// its ids and times.
func messageCols(neighbour *Message, ref Ref, created int64) []Col {
	r := Record{Cols: neighbour.Cols}
	for _, id := range idFields(ref) {
		r.setCol(TextCol(id.col, id.value))
	}
	for _, name := range []string{"time_created", "time_updated"} {
		r.setCol(IntCol(name, created))
	}
	return r.Cols
}

// InsertMessage adds a message at the place that its time and its id give it.
func (s *Session) InsertMessage(m Message) {
	s.Messages = append(slices.Clip(s.Messages), m)
	s.Sort()
}

// IDBefore is an id of the same tail that sorts directly before the message's
// own, and whether there is one: the clock in it shows one step less.
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
