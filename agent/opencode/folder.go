package opencode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mend/agent/opencode/diagnose"
	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/git"
	"mend/internal/ownfile"
	"mend/internal/place"
	"mend/internal/userdir"
)

// folder returns why the agent cannot use the session's folder at that path. It returns "" if the agent can use it, if
// that is unknown, or if the agent may run on another machine. No version that reads trees requires the folder.
func (s *store) folder(path string) string {
	if s.tree != nil {
		return ""
	}
	fault := folderFault(path)
	if fault == "" || !place.IsLocal(path) && !s.isLocal() {
		return ""
	}
	return fault
}

// projectOf returns the id of OpenCode's project for a folder of this machine, "" if unknown.
// OpenCode 1.1 uses the innermost .git at or above the folder, where it has stored the id; without
// a .git the project is global.
func (s *store) projectOf(folder string) string {
	projects := &s.cache.Load().projects
	if id, ok := projects.Load(folder); ok {
		return id.(string)
	}
	id := s.findProject(folder)
	projects.Store(folder, id)
	return id
}

func (s *store) findProject(folder string) string {
	if !filepath.IsAbs(folder) || folderFault(folder) != "" || !place.IsLocal(folder) && !s.isLocal() {
		return ""
	}
	if s.tree == nil {
		return storedProject(folder, s.name)
	}
	for at := filepath.Clean(folder); ; at = filepath.Dir(at) {
		git := filepath.Join(at, ".git")
		switch info, err := os.Stat(git); {
		case err == nil && info.IsDir():
			return readID(filepath.Join(git, "opencode"))
		case err == nil || !errors.Is(err, fs.ErrNotExist):
			return ""
		case at == filepath.Dir(at):
			return record.GlobalProject
		}
	}
}

// readID returns the id in a file, or "".
func readID(path string) string {
	data, err := ownfile.ReadPlain(path, 2*change.MaxID)
	if id := strings.TrimSpace(string(data)); err == nil && change.ValidateID(id) == nil {
		return id
	}
	return ""
}

// folderFault returns why the path does not lead to a folder, "" if it does or may.
func folderFault(path string) string {
	if !filepath.IsAbs(path) {
		if isWindows(path) {
			return diagnose.FolderOfWindows
		}
		return "" // this is a problem of the session's row
	}
	path = filepath.Clean(path) // as the agent does before it checks
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir(), err != nil && !place.NoFolder(err):
		return ""
	case err == nil:
		return diagnose.FolderIsFile
	}
	if _, err := os.Lstat(path); err == nil {
		return diagnose.FolderIsLink
	}
	return diagnose.FolderMissing
}

// isWindows reports whether the path is absolute only on Windows.
func isWindows(path string) bool {
	return strings.HasPrefix(path, `\\`) || len(path) > 2 && path[1] == ':'
}

// isUsedHere reports whether the agent of this machine uses the store: it is at OpenCode's default
// location, or a process has it open. Another store may be a copy from another machine.
func (s *store) isUsedHere() bool {
	home, _ := userdir.Home("XDG_DATA_HOME")
	isDefault := slices.ContainsFunc(s.databases().Find(os.Getenv, home), func(path string) bool {
		real, err := filepath.EvalSymlinks(path)
		return err == nil && real == s.ID().Root
	})
	if isDefault {
		return true
	}
	started, err := s.Held(context.Background())
	return err == nil && !started.IsZero()
}

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
