package main

import (
	"context"
	"errors"
	"fmt"

	"mend/change"
	"mend/session"
)

// movedUserFiles returns the user files that the entries moved away and that were not moved
// back.
func movedUserFiles(es []change.Entry) (refs []session.Ref) {
	for _, e := range es {
		for _, o := range e.Ops {
			if o.Ref.Kind == session.KindFile && o.Post == nil && e.State == change.Committed && e.UndoneBy == "" {
				refs = append(refs, o.Ref)
			}
		}
	}
	return refs
}

// plannedUserFiles returns the user files that the plans would move away.
func plannedUserFiles(ps []proposal) (refs []session.Ref) {
	for _, p := range ps {
		for _, o := range p.result.Plan.Ops {
			if o.Ref.Kind == session.KindFile {
				refs = append(refs, o.Ref)
			}
		}
	}
	return refs
}

func (a *app) printFiles(files []session.Ref) {
	for _, r := range files {
		fmt.Fprintf(a.err, "  %s\n", r)
	}
}

// confirmRepair asks for confirmation if the user did not name the session, or if user files
// would be moved away.
func (a *app) confirmRepair(ctx context.Context, named bool, todo []proposal) error {
	files := plannedUserFiles(todo)
	if named && len(files) == 0 {
		return nil
	}
	question := fmt.Sprintf("Repair %s?", count(len(todo), "session"))
	if len(files) > 0 {
		a.printFiles(files)
		question = fmt.Sprintf("Repair %s, and move %s of yours, named above, out of the agent's sight?", count(len(todo), "session"), count(len(files), "file"))
	}
	err := a.confirm(ctx, question)
	if errors.Is(err, errNoTerminal) && len(files) > 0 {
		return errNoTerminalForFiles
	}
	return err
}
