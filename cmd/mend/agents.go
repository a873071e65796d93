package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"mend/agent"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
)

// agentNames lists the names of all agents, for the help.
func agentNames() string {
	var names []string
	for _, ag := range agents {
		names = append(names, ag.Name())
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// selectAgent restricts the options to the agent of --agent.
func (env *environment) selectAgent() error {
	if env.agentName == "" {
		return nil
	}
	i := slices.IndexFunc(agents, func(ag agent.Agent) bool { return ag.Name() == env.agentName })
	if i < 0 {
		return usagef("--agent %s: no such agent; there are %s", env.agentName, agentNames())
	}
	env.opt.Agents = agents[i : i+1]
	return nil
}

// agentOptions returns the options for each agent that has a store here. If the user names a store or an
// agent, or if there is no store, it returns only the command's own options.
func agentOptions(env *environment) []mend.Options {
	if env.opt.Store != "" || env.agentName != "" {
		return []mend.Options{env.opt}
	}
	var all []mend.Options
	var unreadable []*fs.PathError
	for _, ag := range env.opt.Agents {
		found, err := ag.Find(env.opt.Layout)
		if denied, ok := errors.AsType[*fs.PathError](err); ok && (errors.Is(denied, fs.ErrPermission) || errors.Is(denied, agent.ErrLink)) {
			unreadable = append(unreadable, denied)
		} else if err == nil && len(found) > 0 {
			o := env.opt
			o.Agents = []agent.Agent{ag}
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return []mend.Options{env.opt}
	}
	for _, denied := range unreadable {
		env.noteSkipped(fmt.Errorf("sessions in %s are not examined: %w", filepath.Dir(denied.Path), denied.Err))
	}
	return all
}

// openAll opens the store of each agent. It returns the stores that can be opened, with the worst error of
// the others.
func openAll(ctx context.Context, env *environment, write bool) (all []*mend.Store, left error) {
	for _, o := range agentOptions(env) {
		c, err := openWith(ctx, env, o, write)
		switch {
		case err == nil:
			all = append(all, c)
		case exitCode(err) == exitUsage:
			return nil, err // the same for all stores
		default:
			left = env.skipStore(ctx, left, err)
		}
	}
	return all, left
}

// skipStore reports the error of a store, so that the verb continues with the others. It returns the worse of
// the error and left, its result for the previous stores.
func (env *environment) skipStore(ctx context.Context, left, err error) error {
	if !env.JSON && ctx.Err() == nil {
		env.printError(err)
		err = &reportedError{err}
	}
	return fail.Worst(left, err)
}

// both returns the worse of two errors of a verb, where left is from [environment.skipStore]. The other one
// is printed, too.
func (env *environment) both(ctx context.Context, left, err error) error {
	if _, printed := errors.AsType[*reportedError](err); left == nil || err == nil || printed || errors.Is(err, errProblems) {
		return fail.Worst(left, err)
	}
	return env.skipStore(ctx, left, err)
}

// agentOf returns the name of a store's agent within a sentence.
func agentOf(id change.StoreID) string {
	return cmp.Or(agentNamed(id.Agent).Title(), id.Agent)
}

// agentNamed returns the agent with this name. For an unknown name, as in a journal of another version, it returns an
// agent without a title.
func agentNamed(name string) agent.Agent {
	if i := slices.IndexFunc(agents, func(ag agent.Agent) bool { return ag.Name() == name }); i >= 0 {
		return agents[i]
	}
	return unknownAgent{}
}

// An unknownAgent is an agent that this mend does not know.
type unknownAgent struct{ agent.Agent }

func (unknownAgent) Title() string          { return "" }
func (unknownAgent) Resume(string) []string { return nil }
func (unknownAgent) Reload(string) string   { return "" }
