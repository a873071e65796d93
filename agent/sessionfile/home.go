package sessionfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mend/agent"
	"mend/internal/userdir"
)

// A Home is an agent's folder, which is its only store.
type Home struct {
	Title    string   // of the agent
	Layout   string   // of each store
	Variable string   // the environment variable with the folder
	Folder   string   // its default name in the user's home
	Marker   string   // what identifies the folder, for messages
	Sessions []string // names of its folders with sessions
	// IsHome reports whether a folder is the agent's. The error means that this cannot be determined.
	IsHome func(root string) (bool, error)
}

// Find implements [agent.Agent].
func (h Home) Find() ([]agent.Located, error) {
	root, err := userdir.Agent(h.Variable, h.Folder)
	if err != nil {
		return nil, fmt.Errorf("%w: the location of %s's folder is unknown: %w", agent.ErrNoStore, h.Title, err)
	}
	if ok, err := h.IsHome(root); err != nil {
		return nil, fmt.Errorf("%w: %w", agent.ErrNoStore, err)
	} else if !ok {
		return nil, fmt.Errorf("%w: looked in %s's folder, %s", agent.ErrNoStore, h.Title, root)
	}
	return []agent.Located{{Path: root, Layout: h.Layout}}, nil
}

// Folders returns the folders that identify the store with the given canonical root: nil for a root other than the
// agent's own.
func (h Home) Folders(root string) (folders []string) {
	own, err := userdir.Agent(h.Variable, h.Folder)
	if err != nil {
		return nil
	}
	if parent, err := filepath.EvalSymlinks(filepath.Dir(own)); err == nil {
		own = filepath.Join(parent, filepath.Base(own))
	}
	if own != root {
		return nil
	}
	for _, name := range h.Sessions {
		folders = append(folders, filepath.Join(root, name))
	}
	return folders
}

// Root returns the root of the store at a path: the root itself, or anything below the folders of sessions.
func (h Home) Root(at agent.Located) (string, error) {
	if at.Layout != "" && at.Layout != h.Layout {
		return "", fmt.Errorf("%w: %s is another agent's", agent.ErrNoStore, at.Path)
	}
	path, err := filepath.Abs(at.Path)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %w", agent.ErrNoStore, err)
	}
	for dir, rest := path, "."; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		ok, err := h.IsHome(dir)
		first, _, _ := strings.Cut(rest, string(filepath.Separator))
		if ok && (rest == "." || slices.Contains(h.Sessions, first)) {
			return dir, nil
		}
		if err != nil && dir == path {
			return "", fmt.Errorf("%w: %w", agent.ErrNoStore, err)
		}
		if filepath.Dir(dir) == dir {
			return "", fmt.Errorf("%w: %s is not a folder of %s: it has no %s", agent.ErrNoStore, path, h.Title, h.Marker)
		}
	}
}
