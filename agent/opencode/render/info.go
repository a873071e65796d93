package render

import (
	"strings"

	"mend/agent/opencode/schema"
	"mend/session"
)

// The codes of what is fatal in the session's own record.
const (
	FailureSession    = "session"     // a value that the agent cannot use
	FailureProject    = "project"     // it names a project that is not there
	FailureProjectRow = "project row" // the project's row has a value that the agent cannot use
)

// infoFatal is what of the session's own record ends the agent before it sends
// anything.
func infoFailures(s *session.Session, p Profile) []Failure {
	var words []string
	for _, f := range schema.SessionFaults(s, p.Strict) {
		if f.BlocksPrompts {
			words = append(words, f.String())
		}
	}
	var all []Failure
	if len(words) > 0 {
		all = append(all, Failure{FailureSession, strings.Join(words, "; "), s.Info.Ref})
	}
	if s.ProjectMissing && p.Strict {
		all = append(all, Failure{FailureProject, s.Project, s.Info.Ref})
	}
	if found := schema.ProjectFaults(s, p.Strict); len(found) > 0 {
		all = append(all, Failure{FailureProjectRow, found[0].String(), s.ProjectRow.Ref})
	}
	return all
}
