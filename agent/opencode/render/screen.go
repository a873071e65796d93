package render

import (
	"strings"

	"mend/agent/opencode/record"
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

// infoFailures returns the failures caused by the records of the session and of its project, which
// keep the agent from sending a request.
func infoFailures(s *record.Session, p Profile) []Failure {
	var words []string
	for _, f := range schema.SessionFaults(s, p.Strict()) {
		if f.BlocksPrompts {
			words = append(words, f.String())
		}
	}
	var all []Failure
	if len(words) > 0 {
		all = append(all, Failure{FailureSession, strings.Join(words, "; "), s.Info.Ref, nil})
	}
	if s.ProjectMissing && p.Strict() {
		all = append(all, Failure{FailureProject, s.Project, s.Info.Ref, nil})
	}
	if found := schema.ProjectFaults(s, p.Strict()); len(found) > 0 {
		all = append(all, Failure{FailureProjectRow, found[0].String(), s.ProjectRow.Ref, nil})
	}
	return all
}
