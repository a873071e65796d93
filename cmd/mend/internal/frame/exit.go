package frame

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
	ExitDone      = int(fail.Done)
	ExitProblems  = int(fail.Problems)
	ExitUsage     = int(fail.Usage)
	ExitConflict  = int(fail.Conflict)
	ExitUnusable  = int(fail.Unusable)
	ExitRefused   = int(fail.Refused)
	ExitPending   = int(fail.Pending)
	ExitSignalled = 128 // plus the number of the signal
)

// ExitCodes lists the exit codes for the help.
var ExitCodes = []struct{ Code, Meaning string }{
	{"0", "done, or healthy"},
	{"1", "problems found (scan), not everything could be fixed (fix), or the goal was not reached (trim)"},
	{"2", "usage error, or an unknown session, repair or command"},
	{"3", "conflict: another program has changed the data; nothing was written, unless the message names a repair made in part"},
	{"4", "the store or the journal cannot be used"},
	{"5", "refused: the agent is using the session, another mend is running, there is no terminal to confirm on and no --yes, a file of yours is in the way, or there is nothing to undo, redo or resolve, or no compaction to remove"},
	{"6", "a repair is still pending: run \"mend recover\""},
	{"130, 143", "interrupted; a change in progress was completed or rolled back"},
}

// ErrProblems only sets the exit code; the problems were reported.
var ErrProblems error = fail.New(fail.Problems, "", "problems found")

// A ReportedError has been printed. It only sets the exit code.
type ReportedError struct{ Err error }

func (e *ReportedError) Error() string { return e.Err.Error() }

func (e *ReportedError) Unwrap() error { return e.Err }

// A SignalError is the error of a command that a signal ended.
type SignalError struct {
	signal os.Signal
	*changes
}

func (e *SignalError) Error() string { return "interrupted: " + e.String() }

// ExitCode returns the exit code for an error.
func ExitCode(err error) int {
	if signalled, ok := errors.AsType[*SignalError](err); ok {
		if n, ok := signalled.signal.(syscall.Signal); ok {
			return ExitSignalled + int(n)
		}
	}
	code, _ := fail.Classify(err)
	return int(code)
}

// Hint returns the user's next step for an error, in terms of this command line, or "".
func (env *Env) Hint(err error) string {
	code, text := fail.Classify(err)
	if code == fail.Unusable {
		text = cmp.Or(systemHint(err), text)
	}
	if text == generalHint && env.Command != "" && env.Parsed {
		text = fmt.Sprintf("see \"mend %s --help\"", env.Command)
	}
	return env.WithStore(text)
}

// systemHint returns the user's next step for a system error, or "".
func systemHint(err error) string {
	call, _ := errors.AsType[*os.SyscallError](err)
	path, _ := errors.AsType[*fs.PathError](err)
	switch {
	case call != nil && call.Syscall == "getwd":
		return "the current folder does not exist any more: change to another one, and name folders by their whole path"
	case path != nil && path.Path == os.TempDir() && errors.Is(path, fs.ErrNotExist):
		return "set TMPDIR to a folder that exists"
	case errors.Is(err, fs.ErrPermission):
		return "run mend as the user who owns it, or change its owner or mode"
	case errors.Is(err, syscall.EROFS):
		return "make its file system writable"
	case errors.Is(err, syscall.ENOSPC):
		return "free some space there, then run the command again"
	case errors.Is(err, syscall.EXDEV):
		return "another file system is mounted inside the agent's folder: put the whole folder on one file system, then run the command again"
	}
	return ""
}
