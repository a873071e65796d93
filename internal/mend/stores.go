package mend

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"mend/agent"
)

// A Located is a store that a search found.
type Located = agent.Located

// ErrNoStore means that no store was found.
var ErrNoStore = agent.ErrNoStore

// Stores lists the user's stores, for each agent the one in use first.
func (as Agents) Stores() []Located {
	var all []Located
	for _, a := range as {
		found, _ := a.Find()
		for _, l := range found {
			l.Agent = a.Name()
			all = append(all, l)
		}
	}
	return all
}

// open opens the named store, or else the first one that an agent finds, and returns the name of that agent. If no
// agent can open the named store, it returns the error of the first agent that recognizes it, else the first error
// about access or a link, else the list of the places that were searched.
func (o Options) open() (st agent.Store, name string, err error) {
	var errs []error
	for _, a := range o.Agents {
		at := Located{Path: o.Store, Layout: o.Layout}
		if o.Store == "" {
			found, err := a.Find()
			if err != nil {
				errs = append(errs, err)
				continue
			}
			st, err = a.Open(found[0], o.Note)
			return st, a.Name(), err
		}
		if st, err = a.Open(at, o.Note); err == nil {
			return st, a.Name(), nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return nil, "", ErrNoStore
	}
	for _, isSpecific := range []func(error) bool{
		func(err error) bool { return !errors.Is(err, ErrNoStore) },
		func(err error) bool { return errors.Is(err, fs.ErrPermission) || errors.Is(err, agent.ErrLink) },
	} {
		if i := slices.IndexFunc(errs, isSpecific); i >= 0 {
			return nil, "", errs[i]
		}
	}
	return nil, "", joinNoStore(errs)
}

// joinNoStore returns the error of agents that have found no store.
func joinNoStore(errs []error) error {
	looked := []string{errs[0].Error()}
	for _, err := range errs[1:] {
		if where, ok := strings.CutPrefix(err.Error(), ErrNoStore.Error()+": looked in "); ok {
			looked = append(looked, where)
		}
	}
	text, ok := strings.CutPrefix(strings.Join(looked, "; "), ErrNoStore.Error()+": ")
	if !ok {
		return errs[0]
	}
	return fmt.Errorf("%w: %s", ErrNoStore, text)
}
