package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"mend/internal/fail"
)

// The exit codes, documented in "mend help exit-codes". They never change.
const (
	exitDone      = int(fail.Done)
	exitProblems  = int(fail.Problems)
	exitUsage     = int(fail.Usage)
	exitConflict  = int(fail.Conflict)
	exitUnusable  = int(fail.Unusable)
	exitRefused   = int(fail.Refused)
	exitPending   = int(fail.Pending)
	exitSignalled = 128 // plus the number of the signal
)

// exitCodes lists the exit codes for the help and for explain.
var exitCodes = []struct{ code, name, meaning string }{
	{"0", "", "done, or healthy"},
	{"1", "problems", "problems found (scan), not everything could be fixed (repair, fix), or the goal was not reached (trim)"},
	{"2", "usage", "usage error, or an unknown session, repair or command"},
	{"3", "conflict", "conflict: another program has changed the data; nothing was written"},
	{"4", "unusable", "the store or the journal cannot be used"},
	{"5", "refused", "refused: the agent is using the session, another mend is running, there is no terminal to confirm on and no --yes, a file of yours is in the way, or there is nothing to undo, redo, resolve or uncompact"},
	{"6", "pending", "a repair is still pending: run \"mend recover\""},
	{"130, 143", "signal", "interrupted; a change in progress was completed or rolled back"},
}

// errProblems only sets the exit code; the problems were reported.
var errProblems error = fail.New(fail.Problems, "", "problems found")

// A reportedError has been printed. It only sets the exit code.
type reportedError struct{ err error }

func (e *reportedError) Error() string { return e.err.Error() }
func (e *reportedError) Unwrap() error { return e.err }

// A signalError is returned if a signal ended the command.
type signalError struct {
	signal os.Signal
	*changes
}

func (e *signalError) Error() string { return "interrupted: " + e.String() }

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	if signalled, ok := errors.AsType[*signalError](err); ok {
		if n, ok := signalled.signal.(syscall.Signal); ok {
			return exitSignalled + int(n)
		}
	}
	code, _ := fail.Of(err)
	return int(code)
}

// codeName returns the name of an exit code in JSON answers.
func codeName(code int) string {
	if code > exitPending {
		return "signal"
	}
	return fail.Code(code).String()
}

// hint returns the user's next step for an error, in terms of this command line, or "".
func (env *environment) hint(err error) string {
	code, text := fail.Of(err)
	if code == fail.Unusable {
		text = cmp.Or(systemHint(err), text)
	}
	if text == generalHint && env.command != "" && env.parsed {
		text = fmt.Sprintf("see \"mend %s --help\"", env.command)
	}
	return env.withStore(text)
}

// systemHint returns the user's next step for a system error, or "".
func systemHint(err error) string {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "run mend as the user who owns it, or change its owner or mode"
	case errors.Is(err, syscall.EROFS):
		return "make its file system writable"
	case errors.Is(err, syscall.ENOSPC):
		return "free some space there, then run the command again"
	case errors.Is(err, syscall.EXDEV):
		return "a mount inside the agent's folder is in the way: put the whole folder on one file system, then run the command again"
	}
	return ""
}
