package opencode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"mend/agent"
	"mend/agent/opencode/database"
	"mend/agent/opencode/diagnose"
	"mend/agent/opencode/tree"
	"mend/internal/fail"
	"mend/internal/ownfile"
	"mend/internal/request"
	"mend/internal/userdir"
	"mend/repair"
)

const (
	// Database is the layout of a store that is a database.
	Database = "sqlite"
	// jsonTree is the layout of a store of OpenCode 1.0 and 1.1.
	jsonTree = "opencode"
)

// Agent is OpenCode, or a program derived from it, see [Kilo].
type Agent struct{ derived *program } // nil for OpenCode

// Name implements [agent.Agent].
func (a Agent) Name() string { return a.program().name }

// Title implements [agent.Agent].
func (a Agent) Title() string { return a.program().title }

// Guide implements [agent.Agent].
func (Agent) Guide() repair.Guide {
	return repair.Guide{Classes: diagnose.Classes(), Rules: diagnose.Explanations, Class: diagnose.ExplainClass}
}

// ParseAPIError implements [agent.Agent].
func (a Agent) ParseAPIError(input []byte) request.APIError {
	e := diagnose.ParseAPIError(input)
	e.Explanation = a.program().text(e.Explanation)
	return e
}

// Find implements [agent.Agent]. Databases come first: OpenCode reads its database if it exists, even if the JSON tree
// that it imported still exists.
func (a Agent) Find() ([]agent.Located, error) {
	p := a.program()
	home, errHome := userdir.Home("XDG_DATA_HOME") // without a home folder only variables are used
	var found []agent.Located
	for _, path := range p.databases().Find(os.Getenv, home) {
		found = append(found, agent.Located{Path: path, Layout: Database})
	}
	if root := tree.Find(os.Getenv, home); root != "" && p == &openCode {
		found = append(found, agent.Located{Path: root, Layout: jsonTree})
	}
	switch {
	case len(found) > 0:
		return found, nil
	case errHome != nil && os.Getenv("XDG_DATA_HOME") == "":
		return nil, fmt.Errorf("%w: the location of %s's data is unknown: %w", agent.ErrNoStore, p.title, errHome)
	}
	if p != &openCode {
		return nil, fmt.Errorf("%w: looked in %s's data folder", agent.ErrNoStore, p.title)
	}
	data := p.databases().DataDir(os.Getenv, home)
	wal := filepath.Join(data, "opencode.db-wal")
	if info, err := os.Stat(wal); err == nil && info.Size() > 0 {
		const hint = "do not start OpenCode: it would delete that file, which has the newest messages. Put the database " +
			"back beside it first. If it is lost, move the file away and keep it"
		return nil, fail.New(fail.Unusable, hint, "%s is there without its database", wal)
	}
	storage := filepath.Join(data, "storage")
	switch info, err := os.Stat(storage); {
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w: %w", agent.ErrNoStore, err)
	case err == nil && !info.IsDir():
		return nil, fmt.Errorf("%w: %s is %s, not a folder, so OpenCode 1.1 does not start; move it away", agent.ErrNoStore,
			storage, ownfile.KindName(info.Mode()))
	}
	return nil, fmt.Errorf("%w: looked in the current folder; OpenCode's data folder", agent.ErrNoStore)
}

// Open implements [agent.Agent]. A path may lead to a database or to a folder. Without a layout, a folder that
// contains a database is opened as that database.
func (a Agent) Open(at agent.Located, warn func(string)) (agent.Store, error) {
	p := a.program()
	if p == &openCode && isKilos(at.Path) {
		return nil, fmt.Errorf("%w: %s is Kilo's", agent.ErrNoStore, at.Path)
	}
	s := &store{program: p, at: at, warn: warn, models: newModels(p)}
	s.isLocal = sync.OnceValue(s.isUsedHere)
	s.Refresh()
	if at.Layout == Database || at.Layout == "" && hasDatabase(p, at.Path) {
		db, err := database.Open(at.Path, database.Options{Program: p.databases()})
		if err != nil {
			return nil, err
		}
		s.records = db
		return s, nil
	}
	if p != &openCode {
		return nil, fmt.Errorf("%w: %s has no database of %s", agent.ErrNoStore, at.Path, p.title)
	}
	if at.Layout != "" && at.Layout != jsonTree {
		return nil, fmt.Errorf("%w: %s is another agent's", agent.ErrNoStore, at.Path)
	}
	st, err := tree.Open(at.Path, at.Layout != "", tree.Options{Note: warn, ProjectOf: s.projectOf})
	if err != nil {
		return nil, err
	}
	s.records, s.tree = st, st
	return s, nil
}

// isKilos reports whether the path leads to a database of Kilo, or to a folder that has one but none of OpenCode.
func isKilos(path string) bool {
	info, err := os.Stat(path)
	return err == nil && kilo.databases().HasDatabase(path) && (!info.IsDir() || !hasDatabase(&openCode, path))
}

func hasDatabase(p *program, path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if !info.IsDir() {
		return true
	}
	for _, name := range []string{p.name + ".db", p.name + ".db-wal"} {
		if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
			return true
		}
	}
	return len(p.databases().Others(path)) > 0
}
