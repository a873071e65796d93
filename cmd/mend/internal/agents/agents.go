// Package agents lists the coding agents that mend supports. Only this package and the demo import them.
//
// It may import agent, agent/claude, agent/codex, agent/opencode and change. Read [All] first.
package agents

import (
	"cmp"
	"slices"
	"strings"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/codex"
	"mend/agent/opencode"
	"mend/change"
)

// Names returns the names of all agents as a list for a sentence.
func Names() string {
	var names []string
	for _, ag := range All {
		names = append(names, ag.Name())
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Title returns the display name of a store's agent, or its name if this mend does not know the agent.
func Title(id change.StoreID) string {
	return cmp.Or(ByName(id.Agent).Title(), id.Agent)
}

// ByName returns the agent with this name. For an unknown name, as in a journal of another version, it returns an
// agent without a title.
func ByName(name string) agent.Agent {
	if i := slices.IndexFunc(All, func(ag agent.Agent) bool { return ag.Name() == name }); i >= 0 {
		return All[i]
	}
	return unknownAgent{}
}

// An unknownAgent is an agent that this mend does not know.
type unknownAgent struct{ agent.Agent }

func (unknownAgent) Title() string { return "" }

func (unknownAgent) Resume(string) []string { return nil }

func (unknownAgent) Reload(string) string { return "" }

// All are all supported agents.
var All = []agent.Agent{opencode.Agent{}, claude.Agent{}, codex.Agent{}, opencode.Kilo()}
