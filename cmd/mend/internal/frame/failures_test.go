package frame

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"mend/agent"
	"mend/change"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/journal"
	"mend/repair"
	"mend/txn"
	"mend/undo"
)

// TestFailures: each kind of failure has its exit code, its name in JSON answers and its hint, even wrapped or joined
// with others.
func TestFailures(t *testing.T) {
	entry := change.Entry{ID: "qevajo"}
	denied := &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}
	pending := &txn.PendingError{Entry: entry, Err: syscall.ENOSPC}
	_, noRecord := undo.Select(nil, []string{"x"})
	for _, r := range []struct {
		err  error
		code int
		name string
		hint string // a part of it
	}{
		{errors.New("boom"), 4, "unusable", ""},
		{denied, 4, "unusable", "as the user who owns it"},
		{syscall.EROFS, 4, "unusable", "make its file system writable"},
		{syscall.ENOSPC, 4, "unusable", "free some space there"},
		{syscall.EXDEV, 4, "unusable", "put the whole folder on one file system"},
		{os.NewSyscallError("getwd", syscall.ENOENT), 4, "unusable", "the current folder does not exist any more"},
		{&fs.PathError{Op: "stat", Path: os.TempDir(), Err: syscall.ENOENT}, 4, "unusable", "set TMPDIR to"},
		{Usagef("bad"), 2, "usage", `see "mend --help"`},
		{&journal.AmbiguousError{Prefix: "q", IDs: []string{"qa", "qb"}}, 2, "usage", ""},
		{journal.ErrNotFound, 2, "usage", `"mend log" lists the repairs`},
		{mend.ErrNoSession, 2, "usage", `"mend scan --all" lists the sessions`},
		{&mend.AmbiguousNameError{Name: "x", Fits: make([]int, 2)}, 2, "usage", `"mend scan --all" lists the sessions`},
		{noRecord, 2, "usage", ""},
		{pending, 6, "pending", `run "mend recover"`},
		{txn.UndecidedError{pending}, 6, "pending", "mend recover qevajo --keep"},
		{&change.ConflictError{}, 3, "conflict", "--only ID"},
		{&txn.ConflictedError{Entry: change.Entry{ID: "qevajo"}, Err: &change.ConflictError{}}, 3, "conflict", `"mend recover qevajo" resolves it`},
		{&mend.StaleError{Entry: entry}, 3, "conflict", `"mend log qevajo" shows that change`},
		{&repair.TooLargeError{}, 5, "refused", "use --trim to make room"},
		{&journal.LockedError{}, 5, "refused", "another mend is running"},
		{&change.LinkedError{}, 5, "refused", "nothing was changed. When that is done"},
		{&change.SizeError{}, 4, "unusable", "a machine with more memory"},
		{&change.DamagedError{Why: "x"}, 4, "unusable", `"mend salvage" brings back every row`},
		{repair.ErrBusy, 5, "refused", "wait until the agent is done, or end it; --force overrides"},
		{repair.ErrNotCompacted, 5, "refused", "nothing is missing from its requests"},
		{errors.ErrUnsupported, 5, "refused", ""},
		{change.ErrInUse, 5, "refused", "end that process"},
		{change.ErrLocked, 5, "refused", "try again; nothing was changed"},
		{(&term.Terminal{}).MayAsk(), 5, "refused", "pass --yes"},
		{term.ErrDeclined, 5, "refused", ""},
		{mend.ErrUndone, 5, "refused", `"mend undo --redo ID"`},
		{mend.ErrNothingToDo, 5, "refused", ""},
		{journal.ErrForgotten, 5, "refused", "only the log entry is left"},
		{journal.ErrDamaged, 4, "unusable", `"mend verify" shows the damage`},
		{agent.ErrNoStore, 4, "unusable", "name one with --store PATH"},
		{change.ErrMalformed, 4, "unusable", `"mend salvage" brings back every row`},
		{ErrProblems, 1, "problems", ""},
		{changedMeanwhile(&change.ConflictError{}, "mend fix x"), 3, "conflict", "To plan the repair again, run mend fix x"},
		{ForcedError(&change.ConflictError{}), 3, "conflict", "mend never restores"},
		{&ReportedError{&change.ConflictError{}}, 3, "conflict", "--only ID"},
		{&SignalError{os.Interrupt, &changes{}}, 130, "signal", ""},
		{&SignalError{syscall.SIGTERM, &changes{}}, 143, "signal", ""},

		// Several failures joined into one error.
		{fmt.Errorf("%w, and no such session", journal.ErrNotFound), 2, "usage", `"mend log" lists the repairs`},
		{fmt.Errorf("%w: %w", agent.ErrNoStore, denied), 4, "unusable", "as the user who owns it"},
		{fmt.Errorf("%w: %w", mend.ErrUndone, errors.New("x")), 5, "refused", "mend undo --redo ID"},
		{errors.Join(journal.ErrDamaged, nil), 4, "unusable", `"mend verify" shows the damage`},
		{errors.Join(&change.ConflictError{}, errors.New("x")), 3, "conflict", "--only ID"},
	} {
		for _, err := range []error{r.err, fmt.Errorf("doing it: %w", r.err)} {
			a := &Env{Terminal: &term.Terminal{}}
			got := a.errorJSON(err)
			if ExitCode(err) != r.code || got.Code != r.name || !strings.Contains(got.Hint, r.hint) || r.hint == "" && got.Hint != "" {
				t.Errorf("%v: %d %s, hint %q\nwant %d %s, hint %q", err, ExitCode(err), got.Code, got.Hint, r.code, r.name, r.hint)
			}
		}
	}
}

// TestPrintJoined: joined errors are printed in one line, each once.
func TestPrintJoined(t *testing.T) {
	var errs strings.Builder
	env := &Env{Terminal: &term.Terminal{Err: &errs}}
	env.PrintError(errors.Join(errors.New("a"), errors.New("b"), errors.New("a")))
	env.NoteSkipped(errors.Join(errors.New("c"), errors.New("d")))
	if want := "mend: a; b\nnote: c; d\n"; errs.String() != want {
		t.Errorf("printed %q, want %q", errs.String(), want)
	}
}

// TestConflictsOfFailure: a change that was not made and one that was made in part name the records in conflict.
func TestConflictsOfFailure(t *testing.T) {
	conflict := &change.ConflictError{Conflicts: []change.Conflict{{Ref: change.Ref{Kind: change.KindSession, Session: "ses_1"}, Why: "changed since"}}}
	for _, err := range []error{conflict, &txn.ConflictedError{Entry: change.Entry{ID: "qevajo"}, Err: conflict}} {
		for json, want := range map[bool]string{true: `"why": "changed since"`, false: "conflict ses_1: changed since"} {
			var out strings.Builder
			env := &Env{Terminal: &term.Terminal{Out: &out, JSON: json}}
			if NewBatch(t.Context(), env, 1).Fail(Step{}, err); json {
				_ = env.printAnswer(err)
			}
			if !strings.Contains(out.String(), want) {
				t.Errorf("%v: printed %q, want %q", err, out.String(), want)
			}
		}
	}
}
