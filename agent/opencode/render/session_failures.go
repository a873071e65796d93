package render

import (
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
)

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
