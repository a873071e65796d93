package opencode

import (
	"context"
	"fmt"
	"path/filepath"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/git"
)

// setUsedProject sets the project as which the agent uses the folder of a session in a database, where the folder
// says so: that is surer than which of two projects was used last. The agent itself takes over sessions of the
// project global when it is started in a repository.
func (s *store) setUsedProject(ctx context.Context, loaded *record.Session) error {
	if s.tree != nil || loaded.InWorkspace || loaded.ProjectMissing || loaded.Info.Ref.Kind == 0 {
		return nil
	}
	switch used := s.projectOf(loaded.Directory); used {
	case "":
	case loaded.Project:
		loaded.Newer = ""
	default:
		if loaded.Project == record.GlobalProject {
			return nil
		}
		row, err := s.Read(ctx, []change.Ref{{Kind: change.KindProject, Project: used}})
		if err != nil {
			return fmt.Errorf("reading project %s: %w", used, err)
		}
		if row[0] != nil { // else the agent has not been started there since
			loaded.Newer = used
		}
	}
	return nil
}

// storedProject returns the id of the project as which the agent uses a folder: the one that it has stored in the
// repository, or global outside of one; "" if that is not known.
func storedProject(folder, program string) string {
	repo, found, err := git.Find(folder)
	switch {
	case err != nil:
		return ""
	case !found:
		return record.GlobalProject
	}
	return idIn(filepath.Join(repo.Common, program))
}
