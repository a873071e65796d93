package live

import (
	"context"

	"mend/repair"
)

const (
	titleRepaired = "Session repaired"
	titleTrimmed  = "Context window"
)

func rowOf(c Cause) row {
	switch c {
	case AfterError: // the provider refused the request because of stored data
		return row{
			reported: true, limited: true, aborts: true,
			detect: findFailure, request: failureRequest, resumes: resumesThinking,
			done:    func(a *attempt, entry string) string { return repairedText(entry, a.result.All, resumesThinking(a)) },
			nothing: explanation,
		}
	case AfterOverflow: // old tool outputs are marked, so that the agent no longer sends them; nothing is removed
		return row{
			reported: true, limited: true, aborts: true, title: titleTrimmed,
			propose: trim, resumes: func(a *attempt) bool { return a.opt.AutoResume },
			done:    func(a *attempt, entry string) string { return trimmedText(a.changed, entry) },
			nothing: func(*attempt) (text, why string) { return nothingTrimmedText, "nothing can be trimmed" },
		}
	case AtIdle: // tool calls without a result get one; forced: recent records look busy, but the agent is idle
		return row{
			reported: true, limited: true, quiet: true, title: notices[repair.ToolResultMissing].title,
			detect: findInterrupted,
			request: func(a *attempt) repair.Request {
				return repair.Request{
					Classes: []repair.Class{repair.ToolResultMissing}, Latent: true, Force: true,
					Cancelled: interruptedText,
				}
			},
			done: func(a *attempt, entry string) string { return endedText(a.changed, entry) },
		}
	case AfterSilence: // a turn ends without an answer if the agent cannot read a stored record
		return row{
			limited: true, title: titleRepaired,
			detect:  func(ctx context.Context, a *attempt) bool { return !a.Busy(ctx, a.Head.ID) },
			request: func(a *attempt) repair.Request { return repair.Request{Except: a.opt.Disabled, Force: true} },
			check: func(ctx context.Context, a *attempt, _ repair.Result) error {
				if a.Busy(ctx, a.Head.ID) {
					return errWorking
				}
				return nil
			},
		}
	case BeforeRequest, AtStart, Stored:
	}
	text := preflightText
	if c == Stored {
		text = foundText
	}
	return row{
		title: titleRepaired, request: preflightRequest, check: checkPreflight,
		done: func(_ *attempt, entry string) string { return text(entry) },
	}
}

// storedTurn returns the row for an error that was found in the store.
func storedTurn() row {
	return row{reported: true, limited: true, patient: true, title: titleRepaired, request: failureRequest}
}
