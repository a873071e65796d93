package repair

import (
	"mend/session"
)

// A known is what the records of a session tell, damaged ones included: the
// source of every value that a completed record needs and has not itself.
type known struct {
	s        *session.Session
	messages []*session.Message // see [known.legible]
	read     bool
}

// legible are the messages of which anything can be read, in their order: a damaged
// one has the members that can be read to their end, and no others.
func (k *known) legible() []*session.Message {
	if k.read {
		return k.messages
	}
	k.read = true
	for i := range k.s.Messages {
		m := &k.s.Messages[i]
		if m.Malformed() {
			if m = salvaged(k.s, m); m == nil {
				continue
			}
		}
		k.messages = append(k.messages, m)
	}
	return k.messages
}

// salvaged is the message with what can be read of its record, nil if that is
// nothing.
func salvaged(s *session.Session, m *session.Message) *session.Message {
	if m.Unreadable() {
		return nil
	}
	r, v := s.Salvage(m.Record)
	data := uncut(r.Data, v)
	if len(session.Names(data)) == 0 {
		return nil
	}
	left := session.NewMessage(with(r, data))
	if left.Created == 0 {
		left.Created = m.Created
	}
	left.Parts = m.Parts
	return &left
}

// A model is asked by both of its names.
type modelNames struct{ provider, model []byte }

func (n modelNames) of(name string) []byte {
	if name == "providerID" {
		return n.provider
	}
	return n.model
}

// modelOf are the names of the model that a message says it asks, or was written
// by; false where one of them is missing.
func modelOf(m *session.Message) (n modelNames, ok bool) {
	if m.Role == session.RoleUser {
		n = modelNames{given(m, "model", "providerID"), given(m, "model", "modelID")}
	}
	if n.provider == nil && n.model == nil { // a damaged record may not tell its role
		n = modelNames{given(m, "providerID"), given(m, "modelID")}
	}
	if n.provider == nil && n.model == nil {
		n = modelNames{given(m, "model", "providerID"), given(m, "model", "modelID")}
	}
	return n, n.provider != nil && n.model != nil
}

// sessionModel are the names of the model in the session's own record.
func (k *known) sessionModel() (n modelNames, ok bool) {
	raw, _ := infoField(k.s, "model")
	text := func(name string) []byte {
		if v, ok := session.Field(raw, name); ok && v[0] == '"' && len(v) > 2 {
			return v
		}
		return nil
	}
	n = modelNames{text("providerID"), text("id")}
	return n, n.provider != nil && n.model != nil
}

// sessionText is a text in the session's own record, nil if there is none.
func (k *known) sessionText(name string) []byte {
	if c, ok := k.s.Info.Col(name); ok {
		if c.Class != session.ClassText || len(c.Bytes) == 0 {
			return nil
		}
		return session.Quote(string(c.Bytes))
	}
	if raw, ok := session.Field(k.s.Info.Data, name); ok && raw[0] == '"' && len(raw) > 2 {
		return raw
	}
	return nil
}
