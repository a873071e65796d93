package codex

import (
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

// errorParser is made on first use: most runs of the program parse no error.
var errorParser = sync.OnceValue(func() *provider.ErrorParser {
	return provider.NewErrorParser(openai.ErrorTexts(), errorTexts)
})

// errorTexts are Codex's errors. The ranks are relative to the providers' ranks.
var errorTexts = provider.ErrorTexts{
	Agent: Agent{}.Name(),
	Kinds: []provider.ErrorKind{
		{
			Rank: 220, Class: repair.HiddenSession,
			Any: []provider.Words{
				{"no rollout found for thread id"},
				{"no saved session found with id"},
				{"does not have a canonical rollout filename"},
			},
			Explanation: "Codex finds no file of the session: its index names another path, or the file has another " +
				"name.",
		},
		{
			Rank: 230, Class: repair.UnreadableRecord,
			Any: []provider.Words{
				{"has no usable header record"},
				{"rollout", ".jsonl is empty"},
				{"failed to parse thread id from rollout"},
				{"stream did not contain valid utf-8"},
				{"failed to read session metadata"},
				{"failed to scan paginated model context lineage"},
				{"session metadata", "belongs to thread"},
				{"failed to parse first rollout record"},
				{"rollout session metadata id mismatch"},
				{"does not start with session metadata"},
				{"list_turns is not supported yet"},
			},
			Explanation: "The first line of the session's rollout does not name that session, a line is not UTF-8, or the " +
				"compressed rollout is cut short.",
		},
		{
			Rank: 235, Class: repair.OtherProvider,
			Any: []provider.Words{{"cannot change this thread's model provider"}, {
				"uses model provider",
				"no longer configured",
			}, {"modelprovidernotconfigured"}, {
				"failed to load configuration", "model provider",
				"not found",
			}},
			Explanation: "The session belongs to a model provider other than the one that the settings of Codex (config.toml) " +
				"name. While its own provider is in the settings, `codex resume` and `codex exec -c model_provider=NAME " +
				"resume` continue it. `mend fix --class other_provider` gives all such sessions the provider of the settings.",
		},
		{
			Rank: 240, Class: repair.IncompleteRecord,
			Any:         []provider.Words{{"missing an ordinal"}},
			Explanation: "The last line of the rollout has no ordinal: an older version or another tool appended it.",
		},
		{
			Rank: 241, Class: repair.IncompleteRecord,
			Any: []provider.Words{{"thread history projection", "expected ordinal"}},
			Explanation: "Two lines of the rollout have the same ordinal, or one is missing, so Codex stops reading " +
				"there. Codex 0.171.0 continues by itself; older versions do not.",
		},
		{
			Rank: 242, About: request.AboutStore, Class: repair.HiddenSession,
			Any: []provider.Words{
				{"state db rows point at missing"},
				{"rollout files are missing from the state db"},
				{"rollout files and state db", "differ"},
			},
			Explanation: "The index of Codex does not match its session files. A session that is missing in the index is " +
				"not listed, though its file is intact.",
		},
		{
			Rank: 243, About: request.AboutStore,
			Any: []provider.Words{{"already has an active writer"}, {"cannot resume running thread", "with stale path"}},
			Explanation: "Another process of Codex has this session open: the app, another terminal, or one that did not " +
				"end. Nothing stored is broken. Continue there, or close it.",
		},
		{
			// before the same errors of SQLite in OpenCode; only Codex's library has the words "error returned from"
			Rank: 225, About: request.AboutStore,
			Any: []provider.Words{
				{"thread history database"},
				{"thread_history_1.sqlite"},
				{"state_5.sqlite"},
				{"error returned from database: (code: 10)"},
				{"error returned from database: (code: 11)"},
				{"error returned from database: (code: 13)"},
				{"error returned from database: (code: 26)"},
				{"migration", "was previously applied but has been modified"},
				{"migration", "previously applied but is missing"},
			},
			Explanation: "Codex cannot use one of the databases that it makes from its sessions (state_5.sqlite, " +
				"thread_history_1.sqlite). The sessions themselves are files, and are not damaged by that. If the disk is " +
				"full or fails, free some space or check it first. If the database is locked, close what else runs of Codex. " +
				"Otherwise \"mend salvage\" sets the database aside, and Codex rebuilds it. Another version of Codex may have " +
				"written it: start the newest one first. Codex 0.171.0 fills an empty one by itself.",
		},
		{
			Rank: 165, Class: repair.ContextTooLong, // before a broken connection: usually the request is too long
			Any: []provider.Words{{"remote compact task", "stream disconnected"}, {
				"remote compact task",
				"expected exactly one",
			}, {"remote compact task", "timeout"}, {"context_window_exceeded"}, {"ran out of room " +
				"in the model's context window"}},
			Explanation: provider.TooLong.Explanation,
		},
	},
}

// home is the folder of Codex.
var home = sessionfile.Home{
	Title: Agent{}.Title(), Layout: Rollouts, Variable: variable, Folder: folder, What: "rollouts",
	Sessions: []string{rollout.Sessions, rollout.Archived}, Has: hasRollouts,
}

// StoreFolders implements [agent.FolderStore].
func (Agent) StoreFolders(root string) []string { return home.Folders(root) }

// Find implements [agent.Agent].
func (Agent) Find() ([]agent.Located, error) { return home.Find() }

// hasRollouts reports whether a folder is Codex's and has or had rollouts. Other agents may have a folder with the same
// name.
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
			Turn:  "input[%d]",
			Block: "content[%d]",
		},
	}}
	s.NewCase = s.newCase
	s.Store, err = sessionfile.New(root, rollout.Layout{}, sessionfile.Options{
		Note: warn, Step: a.Step, Lock: s.lock, Head: s.readHead, Stamped: s.readStamped, Index: s.openIndex, Database: s.file,
		InUse: func(p string) string { return s.whyBusy(rollout.NameID(p)) },
	})
	return s, err
}
