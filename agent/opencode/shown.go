package opencode

import (
	"context"
	"fmt"
	"path/filepath"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/git"
)

// setUsedProject sets the project that the agent uses for the folder of a session in a database, if the folder shows
// it. That is more reliable than the times at which two projects were used last. When the agent is started in a
// repository, it takes over sessions of the project global.
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
		if row[0] != nil { // without the row, the agent has not been started there since
			loaded.Newer = used
		}
	}
	return nil
}

// storedProject returns the id of the agent's project for a folder: the one that it has stored in the repository,
// or global outside of a repository; "" if unknown.
func storedProject(folder, program string) string {
	repo, found, err := git.Find(folder)
	switch {
	case err != nil:
		return ""
	case !found:
		return record.GlobalProject
	}
	return readID(filepath.Join(repo.Common, program))
}
