package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
)

// yesOrNo are the answers to a question about one thing.
var yesOrNo = []term.Answer{{"yes", "do it"}, {"no", "change nothing"}}

// askChange is ask about a change that was shown. With "diff" it shows every record and asks again.
func askChange(ctx context.Context, t *term.Terminal, question string, answers []term.Answer, ops []change.Op) (string, error) {
	for {
		key, err := t.Ask(ctx, question, answers)
		if err != nil || key != "d" {
			return key, err
		}
		t.Page(func(t *term.Terminal) { printOps(t, ops) })
	}
}

// confirmChange asks whether a change that was shown is made, unless the user has agreed with
// --yes or it is a dry run. The error is [term.ErrDeclined] for no, or that of [term.Terminal.Ask].
func confirmChange(ctx context.Context, t *term.Terminal, f writeFlags, question string, ops []change.Op) error {
	if f.yes || f.dryRun {
		return nil
	}
	answers := yesOrNo
	if len(ops) > 0 {
		answers = append(slices.Clone(yesOrNo), term.Answer{"diff", "show the diff of every change"})
	}
	key, err := askChange(ctx, t, question, answers, ops)
	if err == nil && key != "y" {
		return term.ErrDeclined
	}
	return err
}

func printFiles(t *term.Terminal, files []change.Ref) {
	for _, r := range files {
		t.PrintErr("  %s\n", r)
	}
}

// applyPlan applies a plan. This may take long: a large database is checked first. Before, it
// returns the memory that planning took and that is garbage now: as much again may be needed.
func applyPlan(ctx context.Context, env *environment, c *mend.Store, p change.Plan) (change.Entry, error) {
	defer env.Busy("checking and writing ...")()
	if os.Getenv("GOGC") == "" { // as in [openWith]
		debug.FreeOSMemory()
	}
	var e change.Entry
	err := env.changes.apply(func() (err error) {
		e, err = c.Apply(ctx, p)
		return err
	})
	if _, conflict := errors.AsType[*change.ConflictError](err); conflict && !slices.Contains([]change.CauseKind{change.CauseUndo, change.CauseRedo}, p.Cause.Kind) {
		err = fail.WithHint(err, "nothing was changed: another program wrote to it meanwhile. Run the command again")
	}
	for _, path := range e.Kept {
		env.SayAt(2, fmt.Sprintf("%s another program wrote into a file that was just replaced; its bytes are in %s", term.Warn("note:"), term.Escape(path)))
	}
	return e, err
}
