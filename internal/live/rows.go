package live

import (
	"cmp"
	"context"

	"mend/repair"
)

// The kinds of attempts.
var (
	// failedTurn is of an answer that ended with an error: the provider refused the request, because
	// of stored data.
	failedTurn = row{
		reported: true, limited: true, aborts: true,
		detect: findFailure, request: failureRequest, propose: repairFailure, resumes: resumesThinking,
		title:   func(a *attempt) string { return notices[a.err.Class].title },
		done:    func(a *attempt, entry string) string { return repairedText(entry, a.result.All, resumesThinking(a)) },
		nothing: explanation,
	}

	// storedTurn is of an error that is found in a store which is followed, see [Hook.RepairStored].
	storedTurn = row{
		reported: true, limited: true, patient: true,
		request: failureRequest,
		title:   repairedTitle, done: func(_ *attempt, entry string) string { return sendAgainText(entry) },
	}

	// overflow is of a request that was too long for the model. Outputs of tools are marked, so that
	// the agent no longer sends them; nothing is removed.
	overflow = row{
		reported: true, limited: true, aborts: true,
		propose: trim, resumes: func(a *attempt) bool { return a.opt.AutoResume },
		title:   func(*attempt) string { return trimTitle },
		done:    func(a *attempt, entry string) string { return trimmedText(a.changed, entry) },
		nothing: func(*attempt) (text, why string) { return nothingTrimmedText, "nothing can be trimmed" },
	}

	// interrupted is of an idle session whose last answer has tool calls without a result. Each gets
	// one. The agent has reported that it is idle, so the repair is forced although the records are
	// recent.
	interrupted = row{
		reported: true, limited: true, quiet: true,
		detect: findInterrupted,
		request: func(a *attempt) repair.Request {
			return repair.Request{
				Classes: []repair.Class{repair.ToolResultMissing}, Latent: true, Force: true, Cancelled: cmp.Or(a.opt.Cancelled, interruptedText),
			}
		},
		title: func(*attempt) string { return notices[repair.ToolResultMissing].title },
		done:  func(a *attempt, entry string) string { return endedText(a.changed, entry) },
	}

	// unanswered is of a turn that ended without an answer, or with an error that is not known. An
	// agent that cannot read a stored record ends the turn like that. All that is broken in the store
	// is repaired.
	unanswered = row{
		limited: true,
		detect:  func(ctx context.Context, a *attempt) bool { return !a.Busy(ctx, a.ref) },
		request: func(a *attempt) repair.Request { return repair.Request{Except: a.opt.Disabled, Force: true} },
		check: func(ctx context.Context, a *attempt, _ repair.Result) error {
			if a.Busy(ctx, a.ref) {
				return errWorking
			}
			return nil
		},
		title: repairedTitle, done: func(_ *attempt, entry string) string { return sendAgainText(entry) },
	}

	// beforeRequest is of a session that is broken before the agent makes a request for it, see
	// [Hook.AnswerQuestion].
	beforeRequest = row{
		request: preflightRequest, check: checkPreflight,
		title: repairedTitle,
		done:  func(a *attempt, entry string) string { return a.text(entry) },
	}
)

func repairedTitle(*attempt) string { return "Session repaired" }
