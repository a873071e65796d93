package render

import (
	"mend/agent/opencode/schema"
	"mend/session"
)

// FatalScreen is the code of a record that the agent's screen cannot show.
const FailureScreen = "screen"

// Screen lists the records for which the agent cannot show the session: its
// server refuses to list any message of it, with status 400 or 500, while a
// prompt may well go through (docs/opencode.md F12, F13, F15). From
// some version on every record must have exactly the form that the agent itself
// writes; a kind of part that it does not know is enough. A message is judged once,
// and so is what is stored beside a record that cannot be read.
func (is *View) Screen(p Profile) []Failure {
	var all []Failure
	for _, m := range is.messages {
		all = append(all, m.readFailures...)
		if !p.Strict {
			continue
		}
		if !m.validated {
			m.validated, m.invalid = true, m.validate()
		}
		all = append(all, m.invalid...)
	}
	return all
}

// unfit are the records of a message that have not the form which is wanted.
func (m *message) validate() (all []Failure) {
	add := func(ref session.Ref, why string) {
		if why != "" {
			all = append(all, Failure{FailureScreen, why, ref})
		}
	}
	if m.body.Exists() {
		add(m.ref, schema.CheckMessage(m.id, m.body))
	}
	for _, part := range m.parts {
		add(part.ref, schema.CheckPart(part.id, part.body))
	}
	return all
}
