package repair

import (
	"strings"

	"mend/session"
	"mend/wire"
)

// plain reports whether the session is one with which nothing can be wrong in any
// setting: it has nothing but the usual parts in the usual order, complete and as
// every version of the agent writes and reads them. Most sessions are so, and this
// is many times faster than to simulate their requests. A session that is not
// plain need not be broken.
//
// Every version makes the same of a plain session: its messages are in the order
// of their ids as of their times, all are sent, and by one model; each step is
// thinking, then text, then calls with their results.
func plain(s *session.Session) bool {
	if len(s.Messages) == 0 || s.Messages[0].Role != session.RoleUser || len(s.Stray) > 0 || !plainInfo(s) {
		return false
	}
	calls := map[string]bool{}
	for i := range s.Messages {
		m := &s.Messages[i]
		if !plainMessage(m) || !sameModel(m, &s.Messages[0]) || i > 0 && !follows(m, &s.Messages[i-1]) || !plainCalls(m, calls) {
			return false
		}
	}
	prompt := wire.NextPrompt(s)
	if m := s.LatestAssistant(); m != nil && (endsWithCall(m) || m.Parent == prompt) {
		return false // the tool loop is open, or the prompt would count as answered
	}
	return s.Messages[len(s.Messages)-1].ID < prompt
}

// plainInfo reports whether the session's own record says nothing that changes
// the request.
func plainInfo(s *session.Session) bool {
	if s.Info.Defect != nil || s.Newer != "" || archived(s) {
		return false
	}
	for _, name := range [...]string{"revert", "model"} {
		c, isColumn := s.Info.Col(name)
		if isColumn && c.Class != session.ClassNull {
			return false
		}
		if _, ok := session.Field(s.Info.Data, name); ok {
			return false
		}
	}
	return true
}

func sameModel(m, as *session.Message) bool {
	return m.ProviderID == as.ProviderID && m.ModelID == as.ModelID
}

// follows reports whether m is behind the message before it in every order, and
// may stand there: an answer follows a prompt, or calls.
func follows(m, before *session.Message) bool {
	if m.ID <= before.ID || m.Created < before.Created {
		return false
	}
	return m.Role == session.RoleUser || before.Role == session.RoleUser || endsWithCall(before)
}

func endsWithCall(m *session.Message) bool {
	return lastOf(m.Parts, func(p *session.Part) bool { return p.Type == session.TypeText || p.Type == session.TypeTool }).Type == session.TypeTool
}

func plainMessage(m *session.Message) bool {
	if !plainRecord(&m.Record) || m.ID != m.Ref.Message || !strings.HasPrefix(m.ID, "msg") {
		return false
	}
	switch m.Role {
	case session.RoleUser:
		return promptForm.fits(m.Data) && plainPrompt(m)
	case session.RoleAssistant:
		return answerForm.fits(m.Data) && plainSteps(m)
	}
	return false
}

func plainRecord(r *session.Record) bool { return r.Defect == nil && r.Class == 0 }

func plainPart(p *session.Part) bool {
	form, known := partForms[p.Type]
	return known && plainRecord(&p.Record) && strings.HasPrefix(p.ID, "prt") && form.fits(p.Data)
}

// plainPrompt reports whether the prompt is text.
func plainPrompt(m *session.Message) bool {
	for i := range m.Parts {
		if m.Parts[i].Type != session.TypeText || !plainPart(&m.Parts[i]) {
			return false
		}
	}
	return len(m.Parts) > 0
}

// plainSteps reports whether each step of an answer is thinking, then text, then
// calls, and says something; each but the last has calls.
func plainSteps(m *session.Message) bool {
	const nothing, thought, said, called = 0, 1, 2, 3
	at := nothing
	for i := range m.Parts {
		p := &m.Parts[i]
		next := at
		switch p.Type {
		case session.TypeStepStart:
			if at == thought || at == said {
				return false
			}
			at, next = nothing, nothing
		case session.TypeReasoning:
			next = thought
		case session.TypeText:
			next = said
		case session.TypeTool:
			next = called
		}
		if next < at || !plainPart(p) {
			return false
		}
		at = next
	}
	return at == said || at == called
}

// plainCalls reports whether the calls of a message have ids and names as they
// must be, and no id is among those of earlier calls.
func plainCalls(m *session.Message, ids map[string]bool) bool {
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Type != session.TypeTool {
			continue
		}
		if ids[p.CallID] || !isName(p.CallID) || !isName(p.Tool) || len(p.Tool) > 128 {
			return false
		}
		ids[p.CallID] = true
	}
	return true
}

// isName reports whether the name is made of letters, digits, _ and -.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return s != ""
}
