package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"mend/change"
	"mend/internal/live"
	"mend/internal/mend"
	"mend/journal"
	"mend/repair"
	"mend/txn"
	"mend/undo"
)

// The exit codes. They are documented in "mend help exit-codes" and never change.
const (
	exitDone      = 0
	exitProblems  = 1
	exitUsage     = 2
	exitConflict  = 3
	exitUnusable  = 4
	exitRefused   = 5
	exitPending   = 6
	exitSignalled = 128 // plus the number of the signal
)

// exitCodes lists the exit codes for the help and for explain.
var exitCodes = []struct{ code, name, meaning string }{
	{"0", "", "done, or healthy"},
	{"1", "problems", "problems found (scan), not everything could be fixed (repair, fix), or the goal was not reached (trim)"},
	{"2", "usage", "usage error, or an unknown session, repair or command"},
	{"3", "conflict", "conflict: something else changed the data since; nothing was changed"},
	{"4", "unusable", "the store or the journal cannot be used"},
	{"5", "refused", "refused: the agent is using the session, another mend is running, there is no terminal to confirm on and no --yes, a file of yours is in the way, or there is nothing to undo, redo, resolve or uncompact"},
	{"6", "pending", "a repair is still pending: run \"mend recover\""},
	{"130, 143", "signal", "interrupted; a change in progress was completed or rolled back"},
}

// codeNames are the names of the exit codes in JSON answers.
var codeNames = map[int]string{
	exitProblems: "problems", exitUsage: "usage", exitConflict: "conflict",
	exitUnusable: "unusable", exitRefused: "refused", exitPending: "pending",
}

var (
	errProblems   = errors.New("problems found") // already reported; only sets the exit code
	errNoTerminal = errors.New("cannot ask for confirmation: no terminal")
	errNoQuestion = errors.New("cannot ask for confirmation: --json asks no questions")
	// Used for all broken sessions.
	errNoTerminalForMany = fmt.Errorf("%w", errNoTerminal)
	// errNoTerminalForOther is the same for sessions of Claude Code, see errOtherAgent.
	errNoTerminalForOther = fmt.Errorf("%w", errNoTerminal)

	errDeclined = errors.New("cancelled; nothing was changed")
)

// A reportedError has been printed already. It only sets the exit code.
type reportedError struct {
	err  error
	code int
}

func (e *reportedError) Error() string { return e.err.Error() }
func (e *reportedError) Unwrap() error { return e.err }

// A signalError is returned if a signal ended the command.
type signalError struct {
	signal os.Signal
	*changes
}

func (e *signalError) Error() string { return "interrupted: " + e.String() }

// exitCode returns the exit code for an error. For joined errors it returns the code of the
// worst.
func exitCode(err error) int {
	var (
		signalled *signalError
		usage     *usageError
		pending   *txn.PendingError
		conflict  *change.ConflictError
		locked    *journal.LockedError
		ambiguous *journal.AmbiguousError
		several   *culpritError
		none      *noCulpritError
		large     *repair.TooLargeError
		linked    *change.LinkedError
		stale     *mend.StaleError
	)
	var reported *reportedError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &reported):
		return reported.code
	case errors.As(err, &signalled):
		if n, ok := signalled.signal.(syscall.Signal); ok {
			return exitSignalled + int(n)
		}
		return exitUnusable
	case errors.As(err, &usage), errors.As(err, &ambiguous), isAny(err, journal.ErrNotFound, mend.ErrNoSession, mend.ErrLayout, undo.ErrNoSuchRecord, live.ErrNotOpenCode):
		return exitUsage
	case errors.As(err, &pending):
		return exitPending
	case errors.As(err, &conflict), errors.As(err, &stale):
		return exitConflict
	case errors.As(err, &none):
		return exitProblems
	case errors.As(err, &several), errors.As(err, &large), errors.As(err, &locked), errors.As(err, &linked), isAny(err, repair.ErrBusy, repair.ErrNotCompacted, repair.ErrHarmful, errors.ErrUnsupported, mend.ErrInUse, mend.ErrLocked, mend.ErrHidden, errNoTerminal, errNoQuestion, errNoScreen, errDeclined, errFileExists, errNotOverwritten, errDisabled, errForeignPlugin, errForeignService, errEditedService, errTemporary, live.ErrUnauthorized, mend.ErrUndone, mend.ErrNothingToDo,
		mend.ErrNotCommitted, mend.ErrNoConflict, mend.ErrOtherStore, journal.ErrForgotten):
		return exitRefused
	case errors.Is(err, errProblems):
		return exitProblems
	}
	return exitUnusable
}

// worst returns the error with the worse exit code.
func worst(a, b error) error {
	order := []int{exitDone, exitProblems, exitRefused, exitUsage, exitConflict, exitUnusable, exitPending}
	rank := func(err error) int {
		if i := slices.Index(order, exitCode(err)); i >= 0 {
			return i
		}
		return len(order) // a signal
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(t error) bool { return errors.Is(err, t) })
}

// generalHint is the hint of a usage error that has no other. [app.hint] names the verb in it.
const generalHint = `see "mend --help"`

// hint returns what the user can do about an error, in terms of this command line.
func (a *app) hint(err error) string {
	text := hint(err)
	if text == generalHint && a.command != "" && a.parsed {
		text = fmt.Sprintf("see \"mend %s --help\"", a.command)
	}
	return a.withStore(text)
}

// hint returns what the user can do about an error, or "" if the error is enough.
func hint(err error) string {
	var (
		pending   *txn.PendingError
		undecided txn.UndecidedError
		conflict  *change.ConflictError
		forced    *forcedError
		locked    *journal.LockedError
		usage     *usageError
		changed   *changedError
		several   *culpritError
		none      *noCulpritError
		large     *repair.TooLargeError
		linked    *change.LinkedError
		size      *change.SizeError
		stale     *mend.StaleError
		damaged   *change.DamagedError
	)
	switch {
	case errors.As(err, &damaged):
		return damagedHint(damaged)
	case errors.As(err, &size):
		return "copy the store to a machine with more memory, and name it there with --store PATH"
	case errors.As(err, &linked):
		return "nothing was changed. When that is done, run the command again"
	case errors.As(err, &changed):
		return "nothing in it was changed; to plan again, run " + changed.again
	case errors.As(err, &stale):
		return fmt.Sprintf("nothing was changed: \"mend show %s\" shows what was; run the command again to plan with it", stale.Entry.ID)
	case errors.As(err, &several):
		return several.hint()
	case errors.As(err, &large):
		return "use --trim to make room, or a model with a larger context window"
	case errors.As(err, &none):
		return none.hint()
	case errors.As(err, &undecided):
		return fmt.Sprintf(`when that is repaired, run "mend recover"; or leave the records as they are now: mend resolve %s --keep`, undecided[0].Entry.ID)
	case errors.As(err, &pending):
		return `run "mend recover"; every byte needed is in the journal`
	case errors.As(err, &conflict) && errors.As(err, &forced):
		return "nothing was changed. Even by force no record is restored without the one that it refers to, or removed while others refer to it. If another program wrote meanwhile, try again"
	case errors.As(err, &conflict):
		return `nothing was changed. To undo only unchanged records: --only RECORD. To overwrite the newer changes, which the journal keeps: --force`
	case errors.As(err, &locked):
		return "another mend is running; try again when it is done"
	case errors.As(err, &usage):
		return cmp.Or(usage.hint, generalHint)
	}
	for _, h := range hints {
		if errors.Is(err, h.err) {
			return h.text
		}
	}
	return ""
}

// damagedHint returns what to do about a database whose file is damaged.
func damagedHint(e *change.DamagedError) string {
	name := shellWord(filepath.Base(e.File))
	var then string
	switch {
	case len(e.Indexes) == 0:
		return "nothing was changed, and mend writes nothing to it. The sessions that can be read are in the list. Save each with: opencode export SESSION > FILE, or restore the file from a backup"
	case e.Rebuild == nil: // an index of a primary key goes with its table
		then = fmt.Sprintf(`sqlite3 %s .dump | sqlite3 rebuilt.db && sqlite3 rebuilt.db "PRAGMA journal_mode=WAL; PRAGMA integrity_check"`, name)
	default:
		quoted := make([]string, len(e.Indexes))
		for i, index := range e.Indexes {
			quoted[i] = "'" + strings.ReplaceAll(index, "'", "''") + "'"
		}
		then = fmt.Sprintf(`sqlite3 %s ".backup rebuild.db" && sqlite3 rebuild.db %s && sqlite3 rebuild.db "VACUUM INTO 'rebuilt.db'" && sqlite3 rebuilt.db %s`, name,
			shellSQL("PRAGMA writable_schema=ON; DELETE FROM sqlite_schema WHERE name IN ("+strings.Join(quoted, ", ")+")"),
			shellSQL(strings.Join(strings.Fields(strings.Join(e.Rebuild, "; ")), " ")+"; PRAGMA journal_mode=WAL; PRAGMA integrity_check"))
	}
	return fmt.Sprintf("nothing was changed, and mend writes nothing to it until it is rebuilt. With the agent closed, in %s: %s. If the last line is ok, move %[3]s, %[3]s-wal and %[3]s-shm away, and rename rebuilt.db to %[3]s", escape(filepath.Dir(e.File)), then, name)
}

// shellSQL returns statements as they are typed in a shell, in double quotes where these need no escape.
func shellSQL(sql string) string {
	if strings.ContainsAny(sql, "\"$`\\!") {
		return shellWord(sql)
	}
	return `"` + escape(sql) + `"`
}

var hints = []struct {
	err  error
	text string
}{
	{fs.ErrPermission, "run mend as the user who owns it, or change its owner or mode"},
	{syscall.EROFS, "make its file system writable"},
	{syscall.ENOSPC, "free some space there, then run the command again"},
	{syscall.EXDEV, "a mount inside the agent's folder is in the way: put the whole folder on one file system, then run the command again"},
	{mend.ErrMalformed, `nothing was changed. Close the agent and keep a copy of the file with its -wal and -shm. Restore it from a backup, or read what is left of its rows: sqlite3 FILE .dump`},
	{mend.ErrNoStore, "name one with --store PATH"},
	{mend.ErrNoSession, `"mend scan --all" lists the sessions`},
	{mend.ErrInUse, "end that process. With --force mend appends the old lines again, and the process reads them after /resume"},
	{mend.ErrLocked, "try again; nothing was changed"},
	{repair.ErrBusy, "wait until the agent is done, or use --force"},
	{repair.ErrNotCompacted, "nothing is missing from its requests"},
	{mend.ErrHidden, "make it readable, then try again; nothing was changed"},
	{mend.ErrUndone, `"mend redo ID" applies it again`},
	{mend.ErrOtherStore, "leave out --store to use that one. A copy is used only when it is gone"},
	{journal.ErrNotFound, `"mend log" lists the repairs`},
	{journal.ErrForgotten, "its undo data was deleted by gc or forget; only the log entry is left"},
	{journal.ErrDamaged, `nothing was written to it. "mend verify" shows the damage; "mend log" and "mend show" read what is intact`},
	{journal.ErrExport, "it was cut, changed, or made by a later mend. Export it again"},
	{journal.ErrFormat, "use the version of mend that wrote it, or a later one"},
	{mend.ErrNotCommitted, `"mend show ID" shows its state; "mend resolve ID" resolves a conflict`},
	{live.ErrUnauthorized, "set $OPENCODE_SERVER_PASSWORD"},
	{errDisabled, `"mend config" shows where the value comes from`},
	{errForeignPlugin, "move it away, or use --project"},
	{errForeignService, "move it away"},
	{errEditedService, "move it away, and keep your changes elsewhere: \"systemctl --user edit mend-watch\" on Linux"},
	{errFileExists, "name another file, or use --force"},
	{errNotOverwritten, "name another file, or - for standard output"},
	{errNoScreen, `"mend scan" and "mend repair" need no terminal`},
	{errNoTerminalForOther, "pass --yes with --agent claude, or with a session to repair only that one"},
	{errNoTerminalForMany, "pass --yes; name a session to repair only that one"},
	{errNoTerminal, "pass --yes"},
	{errNoQuestion, "pass --yes"},
}
