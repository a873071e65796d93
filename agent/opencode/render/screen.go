package render

import (
	"mend/agent/opencode/schema"
	"mend/change"
)

// Screen returns the failures that keep OpenCode from showing the session: its server lists none of
// the session's messages, with status 400 or 500, although a prompt may succeed (docs/opencode.md
// F12, F13, F15). Strict versions validate every record; others fail only on records that they
// cannot read.
func (v *View) Screen(p Profile) []Failure {
	var all []Failure
	for _, m := range v.messages {
		all = append(all, m.readFailures...)
		if !p.Strict() {
			continue
		}
		all = append(all, m.validate()...)
	}
	return all
}

// validate returns a failure for each invalid record of the message.
func (m *message) validate() (all []Failure) {
	add := func(ref change.Ref, why string) {
		if why != "" {
			all = append(all, Failure{FailureScreen, why, ref, nil})
		}
	}
	if v := m.JSON; v.Exists() {
		add(m.Ref, schema.CheckMessage(m.ID, v))
	}
	for _, part := range m.parts {
		add(part.Ref, schema.CheckPart(part.ID, part.JSON))
	}
	return all
}
