package codex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"mend/agent"
	"mend/agent/codex/rollout"
	"mend/agent/sessionfile"
	"mend/internal/provider"
	"mend/internal/provider/openai"
	"mend/internal/request"
	"mend/internal/userdir"
	"mend/repair"
)

// Rollouts is the layout of every store of Codex.
const Rollouts = "rollouts"

// The folders of rollouts, below the root of a store.
const (
	sessions = "sessions"
	archived = "archived_sessions"
)

// Agent is Codex.
type Agent struct {
	agent.BaseAgent

	Step func(call string) error // that of [sessionfile.Options]
}

var _ agent.Agent = Agent{}

// Name implements [agent.Agent].
func (Agent) Name() string { return "codex" }

// Title implements [agent.Agent].
func (Agent) Title() string { return "Codex" }

// Resume implements [agent.Agent].
func (Agent) Resume(id string) []string { return []string{"codex", "resume", id} }

// Classes implements [agent.Agent].
func (Agent) Classes() []repair.Class { return rollout.Classes() }

// Explanations implements [agent.Agent].
func (Agent) Explanations() []repair.Explanation { return rollout.Explanations() }

// ExplainClass implements [agent.Agent].
func (Agent) ExplainClass(c repair.Class) repair.Explanation { return rollout.ExplainClass(c) }

// Providers implements [agent.Agent].
func (Agent) Providers() []string { return []string{openai.Provider{}.Name()} }

// ParseAPIError implements [agent.Agent].
func (Agent) ParseAPIError(input []byte) request.APIError { return errorParser().Parse(input) }

// errorParser is made when an error is read: most runs of the program read none.
var errorParser = sync.OnceValue(func() *provider.ErrorParser {
	return provider.NewErrorParser(openai.ErrorTexts(), errorTexts)
})

// errorTexts are those of Codex. The ranks are relative to those of the providers.
var errorTexts = provider.ErrorTexts{
	Kinds: []provider.ErrorKind{
		{
			Rank:        220,
			Any:         []provider.Words{{"no rollout found for thread id"}, {"no saved session found with id"}, {"does not have a canonical rollout filename"}},
			Class:       repair.HiddenSession,
			Explanation: "Codex finds no file of the session: its index names another place, or the name of the file is another one.",
		},
		{
			Rank:        230,
			Any:         []provider.Words{{"failed to read session metadata"}, {"session metadata", "belongs to thread"}, {"failed to parse first rollout record"}, {"rollout session metadata id mismatch"}, {"does not start with session metadata"}, {"list_turns is not supported yet"}},
			Class:       repair.UnreadableRecord,
			Explanation: "The first line of the session's rollout does not say that it is that session, or a line is not UTF-8.",
		},
		{
			Rank:        240,
			Any:         []provider.Words{{"paginated rollout record", "missing an ordinal"}},
			Class:       repair.IncompleteRecord,
			Explanation: "The last line of the rollout has no ordinal: an older version, or another tool, has appended it.",
		},
	},
}

// Find implements [agent.Agent].
func (Agent) Find(layout string) ([]agent.Located, error) {
	if layout != "" && layout != Rollouts {
		return nil, fmt.Errorf("%w of Codex: %q", agent.ErrLayout, layout)
	}
	root, err := home()
	if err != nil {
		return nil, fmt.Errorf("%w: the location of Codex's folder is unknown: %w", agent.ErrNoStore, err)
	}
	if !hasSessions(root) {
		return nil, fmt.Errorf("%w: looked in Codex's folder, %s", agent.ErrNoStore, root)
	}
	return []agent.Located{{Path: root, Layout: Rollouts}}, nil
}

// home returns the folder of Codex.
func home() (string, error) {
	if root := os.Getenv("CODEX_HOME"); root != "" {
		return root, nil
	}
	dir, err := userdir.Home("CODEX_HOME")
	return filepath.Join(dir, ".codex"), err
}

// hasSessions reports whether a folder has rollouts, or had some.
func hasSessions(root string) bool {
	return slices.ContainsFunc([]string{sessions, archived}, func(name string) bool {
		info, err := os.Lstat(filepath.Join(root, name))
		return err == nil && info.IsDir()
	})
}

// Open implements [agent.Agent]. A path may lead to the root, or to anything below its folders of rollouts.
func (a Agent) Open(at agent.Located, warn func(string)) (agent.Store, error) {
	if at.Layout != "" && at.Layout != Rollouts {
		return nil, fmt.Errorf("%w of Codex: %q", agent.ErrLayout, at.Layout)
	}
	root, err := findRoot(at.Path)
	if err != nil {
		return nil, err
	}
	s := &store{step: a.Step}
	s.Store, err = sessionfile.New(root, layout{}, sessionfile.Options{
		Note: warn, Step: a.Step, Lock: s.lock, InUse: func(p string) string { return s.whyBusy(rollout.NameID(p)) },
		Index: func() (sessionfile.Index, error) {
			db, err := s.openIndex()
			if db == nil {
				return nil, err // and no interface of a nil
			}
			return db, err
		},
	})
	return s, err
}

// findRoot returns the folder at path or above it that has rollouts.
func findRoot(at string) (string, error) {
	at, err := filepath.Abs(at)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(at); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: %w", agent.ErrNoStore, err)
	}
	for dir := at; ; dir = filepath.Dir(dir) {
		rel, err := filepath.Rel(dir, at)
		below := err == nil && (rel == "." || strings.HasPrefix(rel, sessions) || strings.HasPrefix(rel, archived))
		if below && hasSessions(dir) && isCodex(dir) {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", fmt.Errorf("%w: %s is no folder of Codex: it has no rollouts", agent.ErrNoStore, at)
		}
	}
}

// isCodex reports whether a folder with sessions is one of Codex, and not of another agent: other files of it are there, or a
// rollout.
func isCodex(root string) bool {
	for _, name := range []string{"config.toml", "installation_id", archived, locks} {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			return true
		}
	}
	for _, pattern := range []string{"state_*.sqlite", sessions + "/*/*/*/rollout-*", sessions + "/rollout-*"} {
		if found, _ := filepath.Glob(filepath.Join(root, pattern)); len(found) > 0 {
			return true
		}
	}
	return false
}
