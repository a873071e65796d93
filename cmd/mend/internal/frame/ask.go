package frame

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"mend/change"
	"mend/cmd/mend/internal/show"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/term"
)

// YesOrNo are the answers to a yes-or-no question.
var YesOrNo = []term.Answer{{"yes", "do it"}, {"no", "change nothing"}}

// DiffOf returns a function that prints the diff of each op, or nil without ops.
func DiffOf(ops []change.Op) func(*term.Terminal) {
	if len(ops) == 0 {
		return nil
	}
	return func(t *term.Terminal) { show.Ops(t, ops) }
}

// AskChange asks about a change that was shown. On "diff" it prints the diff and asks again.
func AskChange(ctx context.Context, t *term.Terminal, question string, answers []term.Answer, diff func(*term.Terminal)) (string, error) {
	for {
		key, err := t.Ask(ctx, question, answers)
		if err != nil || key != "d" {
			return key, err
		}
		t.Page(diff)
	}
}

// ConfirmChange asks whether to make a change that was shown, unless the user has agreed with --yes or it is
// a dry run. diff prints the diff of the change, and may be nil. The error is [term.ErrDeclined] for
// no, or from [term.Terminal.Ask].
func ConfirmChange(ctx context.Context, t *term.Terminal, f WriteFlags, question string, diff func(*term.Terminal)) error {
	if f.Yes || f.DryRun {
		return nil
	}
	answers := YesOrNo
	if diff != nil {
		answers = append(slices.Clone(YesOrNo), term.Answer{"diff", "show the diff of every change"})
	}
	key, err := AskChange(ctx, t, question, answers, diff)
	if err == nil && key != "y" {
		return term.ErrDeclined
	}
	return err
}

// freeMemory returns the garbage of planning to the system, because applying may need as much memory again. It does
// nothing if the garbage is less than half of the heap: freeing takes time in proportion to the heap, and an operation
// may have many plans. If little memory is still in use, the collector runs as rarely as in other Go programs until end
// is called.
func freeMemory() (end func()) {
	if os.Getenv("GOGC") != "" { // as in [prepare]
		return func() {}
	}
	var m runtime.MemStats
	if runtime.ReadMemStats(&m); m.HeapSys-m.HeapReleased > m.HeapAlloc+max(m.HeapAlloc/2, 16<<20) {
		debug.FreeOSMemory()
	}
	if m.HeapAlloc > 32<<20 {
		return func() {}
	}
	percent := debug.SetGCPercent(100)
	return func() { debug.SetGCPercent(percent) }
}

// applyPlan applies a plan. This may take long, because a large database is checked first.
func applyPlan(ctx context.Context, env *Env, c *mend.Store, p change.Plan) (change.Entry, error) {
	defer env.Busy("checking and writing ...")()
	defer freeMemory()()
	var e change.Entry
	err := env.Made.Apply(func() (err error) {
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
