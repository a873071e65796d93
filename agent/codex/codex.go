package codex

import (
	_ "embed"
	"io/fs"
	"os"
	"slices"
	"sync"

	"mend/agent"
	"mend/agent/codex/rollout"
	"mend/agent/sessionfile"
	"mend/internal/provider"
	"mend/internal/provider/openai"
	"mend/internal/request"
	"mend/repair"
)

// Rollouts is the layout of every store of Codex.
const Rollouts = "rollouts"

// Agent is Codex.
type Agent struct {
	agent.BaseAgent

	Step func(call string) error // as in [sessionfile.Options]
}

var _ agent.Agent = Agent{}

// Name implements [agent.Agent].
func (Agent) Name() string { return "codex" }

// Title implements [agent.Agent].
func (Agent) Title() string { return "Codex" }

// Resume implements [agent.Agent].
func (Agent) Resume(id string) []string { return []string{"codex", "resume", id} }

// Guide implements [agent.Agent].
func (Agent) Guide() repair.Guide { return rollout.Guide() }

// Providers implements [agent.Agent].
func (Agent) Providers() []string { return []string{openai.Provider{}.Name()} }

// ParseAPIError implements [agent.Agent].
func (Agent) ParseAPIError(input []byte) request.APIError { return errorParser().Parse(input) }

// errorParser is made on first use: most runs of mend parse no error.
var errorParser = sync.OnceValue(func() *provider.ErrorParser {
	return provider.NewErrorParser(openai.ErrorTexts(),
		provider.ErrorTexts{Agent: Agent{}.Name(), Kinds: provider.ParseKinds(errorText)})
})

// errorText has Codex's errors. The ranks are relative to the providers' ranks.
//
//go:embed errors.txt
var errorText string

// home is the folder of Codex.
var home = sessionfile.Home{
	Title: Agent{}.Title(), Layout: Rollouts, Variable: variable, Folder: folder, Marker: "rollouts",
	Sessions: []string{rollout.Sessions, rollout.Archived}, IsHome: hasRollouts,
}

// StoreFolders implements [agent.FolderStore].
func (Agent) StoreFolders(root string) []string { return home.Folders(root) }

// Find implements [agent.Agent].
func (Agent) Find() ([]agent.Located, error) { return home.Find() }

// hasRollouts reports whether a folder is Codex's and has or had rollouts. Other agents may have a folder with the
// same name.
func hasRollouts(root string) (bool, error) {
	hasAny := func(patterns ...string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			found, _ := fs.Glob(os.DirFS(root), pattern)
			return len(found) > 0
		})
	}
	return hasAny(rollout.Sessions, rollout.Archived) && hasAny("config.toml", "installation_id", rollout.Archived, locks,
		"state_*.sqlite", rollout.Sessions+"/*/*/*/*"+rollout.Suffix+"*", rollout.Sessions+"/rollout-*"), nil
}

// Open implements [agent.Agent]. A path may lead to the root, or to anything below its folders of rollouts.
func (a Agent) Open(at agent.Located, warn func(string)) (agent.Store, error) {
	root, err := home.Root(at)
	if err != nil {
		return nil, err
	}
	s := &store{step: a.Step, Versions: repair.Versions{Oldest: "0.169.0", Newest: rollout.Version}, Cases: agent.Cases{
		Version: rollout.Version, Provider: openai.Provider{}.Name(), Place: agent.Place{
			Turn: "input[%d]", Block: "content[%d]",
		},
	}}
	s.NewCase = s.newCase
	s.Store, err = sessionfile.New(root, rollout.Layout{}, sessionfile.Options{
		Note: warn, Step: a.Step, Lock: s.lock, Head: s.readHead, Stamped: s.readStamped, Index: s.openIndex,
		History: s.openHistory, Database: s.file,
		InUse: func(p string) string { return s.whyBusy(rollout.NameID(p)) },
	})
	return s, err
}
