package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend"
	"mend/agent"
	"mend/agent/claude"
	"mend/agent/opencode"
	"mend/change"
)

// agentNames returns the names of all agents, for the help.
func agentNames() string {
	var names []string
	for _, ag := range agents {
		names = append(names, ag.Name())
	}
	return strings.Join(names, " or ")
}

// selectAgent leaves the agent of --agent alone in the options.
func (a *app) selectAgent() error {
	if a.agentName == "" {
		return nil
	}
	i := slices.IndexFunc(agents, func(ag agent.Agent) bool { return ag.Name() == a.agentName })
	if i < 0 {
		return usagef("--agent %s: no such agent; there are %s", a.agentName, agentNames())
	}
	a.opt.Agents = agents[i : i+1]
	return nil
}

// agentOptions returns the options for each agent that has a store here. If the user names a
// store or an agent, or if there is no store, these are the options of the command alone.
func (a *app) agentOptions() []mend.Options {
	if a.opt.Store != "" || a.agentName != "" {
		return []mend.Options{a.opt}
	}
	var all []mend.Options
	for _, ag := range a.opt.Agents {
		if found, err := ag.Find(a.opt.Layout); err == nil && len(found) > 0 {
			o := a.opt
			o.Agents = []agent.Agent{ag}
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return []mend.Options{a.opt}
	}
	return all
}

// openAll opens the store of each agent.
func (a *app) openAll(cmd *cobra.Command, write bool) ([]*mend.Client, error) {
	var all []*mend.Client
	for _, o := range a.agentOptions() {
		c, err := a.openWith(cmd, o, write)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// openFor opens the store of the agent that has the named sessions: the first one without a
// name, or if no agent has them.
func (a *app) openFor(cmd *cobra.Command, write bool, names ...string) (*mend.Client, error) {
	options := a.agentOptions()
	if len(names) > 0 && len(options) > 1 {
		for _, o := range options[1:] {
			if a.hasSessions(cmd, o, names) && !a.hasSessions(cmd, options[0], names) {
				return a.openWith(cmd, o, write)
			}
		}
	}
	return a.openWith(cmd, options[0], write)
}

// hasSessions reports whether the names are those of sessions in the store, one or several
// each.
func (a *app) hasSessions(cmd *cobra.Command, o mend.Options, names []string) bool {
	c, err := mend.Open(o)
	if err != nil {
		return false
	}
	heads, err := c.Sessions(cmd.Context())
	return err == nil && !slices.ContainsFunc(names, func(name string) bool {
		_, err := mend.Named(heads, name, workingFolder())
		var several *mend.AmbiguousNameError
		return err != nil && !errors.As(err, &several)
	})
}

// agentOf returns the name of the agent of a store, as it is spelled for a person.
func agentOf(id change.StoreID) string {
	if id.Kind == "lines" {
		return "Claude Code"
	}
	return "OpenCode"
}

// agentName returns the name of the agent of a store.
func agentName(id change.StoreID) string {
	if id.Kind == "lines" {
		return claude.Agent{}.Name()
	}
	return opencode.Agent{}.Name()
}

// errOtherAgent says that a repair of all sessions, without a question, is limited to OpenCode.
var errOtherAgent = errors.New("repairing sessions of Claude Code with --yes needs --agent claude or a session")

// repairClients returns the stores whose sessions a repair is about. A script that repairs
// everything without a question must not begin to write to the stores of another agent, so
// that takes --agent.
func (a *app) repairClients(cmd *cobra.Command, names []string, f repairFlags) ([]*mend.Client, error) {
	if len(names) > 0 {
		c, err := a.openFor(cmd, !f.dryRun, names...)
		return []*mend.Client{c}, err
	}
	all, err := a.openAll(cmd, !f.dryRun)
	if err != nil || a.agentName != "" || a.opt.Store != "" || !f.yes && !a.asJSON {
		return all, err
	}
	if !f.dryRun && agentOf(all[0].Store()) != "OpenCode" {
		return nil, &usageError{errOtherAgent, "mend repair --yes --agent claude"}
	}
	for _, c := range all[1:] {
		a.printNote(fmt.Sprintf("sessions of %s are left alone: repair them with --agent %s", agentOf(c.Store()), agentName(c.Store())))
	}
	return all[:1], nil
}
