package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/agent"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/running"
	"mend/internal/term"
	"mend/internal/test/codex"
	"mend/testdata"
)

// An agentRow names the places outside its own package that an agent has. A new agent gets a row. Then the test names
// the next place to write.
type agentRow struct {
	pkg     string                                // its package
	fixture func(dir string) (at string, _ error) // writes a healthy store of the agent
	damages string                                // the file or the folder of its damages
	page    string                                // in docs
	busy    string                                // the file that finds its processes
}

var agentRows = map[string]agentRow{
	"opencode": {
		pkg: "agent/opencode", damages: "internal/test/damage", page: "opencode.md", busy: "agent/opencode/tree/held_linux.go",
		fixture: func(dir string) (string, error) {
			_, err := testdata.Unpack(testdata.OpenCode1153, dir)
			return filepath.Join(dir, "opencode", "storage"), err
		},
	},
	"kilo": { // stores as OpenCode does
		pkg: "agent/opencode", damages: "internal/test/damage", page: "opencode.md", busy: "sqlstore/holders.go",
		fixture: func(dir string) (string, error) {
			if _, err := testdata.Unpack(testdata.OpenCode11833, dir); err != nil {
				return "", err
			}
			at := filepath.Join(dir, "kilo.db")
			return at, os.Rename(filepath.Join(dir, "opencode", "opencode.db"), at)
		},
	},
	"claude": {
		pkg: "agent/claude", damages: "internal/test/claude/damage.go", page: "claude-code.md", busy: "agent/claude/running_linux.go",
		fixture: func(dir string) (string, error) {
			return writeFixture(dir, ".claude/projects/-home-user-project/"+testdata.ClaudeSession+".jsonl", testdata.Claude)
		},
	},
	"codex": {
		pkg: "agent/codex", damages: "internal/test/codex/damage.go", page: "codex.md", busy: "agent/codex/lock.go",
		fixture: func(dir string) (string, error) {
			return writeFixture(dir, ".codex/"+codex.File, testdata.Codex)
		},
	},
}

// agentPlaces are the places that a new agent needs, in the order in which they are best written.
var agentPlaces = []struct {
	name  string
	check func(t *testing.T, a agent.Agent, r agentRow) error
}{
	{"its package, whose doc names its imports", func(_ *testing.T, _ agent.Agent, r agentRow) error {
		return contains(r.pkg+"/doc.go", "// It may import agent, ")
	}},
	{"its title in the first line of the README and of mend help", func(_ *testing.T, a agent.Agent, _ agentRow) error {
		if line, _, _ := strings.Cut(newRoot(&frame.Env{Terminal: &term.Terminal{}}).Long, ".\n"); !strings.Contains(line, a.Title()) {
			return fmt.Errorf("mend help has no %s", a.Title())
		}
		return contains("README.md", a.Title())
	}},
	{"a fixture in testdata that it wrote, with records whose refs are valid (package change)", checkFixture},
	{"its damages (internal/test)", func(_ *testing.T, _ agent.Agent, r agentRow) error { return exists(r.damages) }},
	{"how a running process of it shows", func(_ *testing.T, _ agent.Agent, r agentRow) error { return exists(r.busy) }},
	{"its hook or plugin, and the help of mend install", func(_ *testing.T, a agent.Agent, _ agentRow) error {
		if a.Installer() == nil {
			return errors.New("it has no Installer")
		}
		if !strings.Contains(running.Install(&frame.Env{}).Long, a.Title()) {
			return fmt.Errorf("mend install --help has no %s", a.Title())
		}
		return nil
	}},
	{"its page in docs, and the list of pages", func(_ *testing.T, _ agent.Agent, r agentRow) error {
		return errors.Join(exists("docs/"+r.page), contains("docs/README.md", "("+r.page+")"))
	}},
	{"its rules without a fix in docs/faults.md", func(_ *testing.T, a agent.Agent, _ agentRow) error {
		return contains("docs/faults.md", a.Title())
	}},
}

// writeFixture writes the file of a store below dir, and returns the folder of the store.
func writeFixture(dir, name string, data []byte) (at string, _ error) {
	file := filepath.Join(dir, name)
	at, _, _ = strings.Cut(name, "/")
	return filepath.Join(dir, at), errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, data, 0o600))
}

func checkFixture(t *testing.T, a agent.Agent, r agentRow) error {
	if r.fixture == nil {
		return errors.New("its row has no fixture")
	}
	at, err := r.fixture(t.TempDir())
	if err != nil {
		return err
	}
	s, err := a.Open(agent.Located{Path: at}, nil)
	if err != nil {
		return err
	}
	heads, err := s.List(t.Context())
	if err != nil || len(heads) == 0 {
		return fmt.Errorf("%d sessions, %w", len(heads), err)
	}
	records, err := s.Records(t.Context(), heads[0])
	if err != nil || len(records) == 0 {
		return fmt.Errorf("%d records, %w", len(records), err)
	}
	for _, r := range records {
		if err := r.Ref.Validate(); err != nil {
			return err
		}
	}
	return nil
}

func exists(path string) error {
	if path == "" {
		return errors.New("its row has no path")
	}
	_, err := os.Stat(filepath.Join("..", "..", filepath.FromSlash(path)))
	return err
}

func contains(path, text string) error {
	data, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	if err == nil && !bytes.Contains(data, []byte(text)) {
		err = fmt.Errorf("%s has no %s", path, text)
	}
	return err
}

// TestAgentPlaces: each agent is in all places that an agent needs.
func TestAgentPlaces(t *testing.T) {
	var names []string
	for _, a := range agents.All {
		r, ok := agentRows[a.Name()]
		if names = append(names, a.Name()); !ok {
			t.Errorf("%s: next: a row in agentRows", a.Name())
			continue
		}
		for _, p := range agentPlaces {
			if err := p.check(t, a, r); err != nil {
				t.Errorf("%s: next: %s: %v", a.Name(), p.name, err)
				break
			}
		}
	}
	for name := range agentRows {
		if !slices.Contains(names, name) {
			t.Errorf("agentRows has %s, and agents.All does not", name)
		}
	}
}

// A nowhereAgent is in no place.
type nowhereAgent struct{ agent.Agent }

func (nowhereAgent) Name() string { return "nowhere" }

func (nowhereAgent) Title() string { return "An Agent Nowhere" }

func (nowhereAgent) Installer() agent.Installer { return nil }

// TestAgentPlacesNewAgent: for an agent that is in no place, each place is reported as missing.
func TestAgentPlacesNewAgent(t *testing.T) {
	for _, p := range agentPlaces {
		if p.check(t, nowhereAgent{}, agentRow{pkg: "agent/nowhere"}) == nil {
			t.Errorf("%s: not reported as missing", p.name)
		}
	}
}
