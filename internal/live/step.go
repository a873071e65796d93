package live

type sessionState struct {
	aborted    bool   // the user aborted the turn
	prompt     string // the id of the newest prompt
	unanswered bool   // the newest prompt has no answer yet, not even a failed one
	overflows  int    // requests in a row that were too long, if the agent compacts the session
}

// step is the policy of a [Watch]: it returns the state of a session after an event, and the cause to examine the
// session now, 0 for none. It reads no clock and no store.
func step(s sessionState, u update) (next sessionState, cause Cause) {
	switch {
	case u.deleted:
		return sessionState{}, 0
	case u.prompted: // also set when the agent reports an old prompt again, with a summary
		s.aborted = false
		if u.prompt != s.prompt {
			s.prompt, s.unanswered = u.prompt, true
		}
	case u.succeeded:
		s.unanswered = false
		if u.answered { // not merely completed, as before a compaction
			s.overflows = 0
		}
	case u.failure != nil:
		return s.handleFailure(u)
	case u.idle && s.aborted:
		s.aborted = false
	case u.idle && s.unanswered:
		s.unanswered = false
		return s, AfterSilence
	case u.idle:
		return s, AtIdle
	}
	return s, 0
}

// handleFailure handles an answer that ended with an error.
func (s sessionState) handleFailure(u update) (sessionState, Cause) {
	switch {
	case IsAbort(u.failure.Error):
		s.unanswered, s.aborted = false, true
	case u.tooLong && !s.unanswered: // a repeated report
	case u.tooLong:
		s.unanswered = false
		if s.overflows++; compactsItself(u.failure.Error) && s.overflows < maxCompactions {
			return s, 0 // the agent's compaction may still help
		}
		s.overflows = 0
		return s, AfterOverflow
	case u.recoverable:
		s.unanswered = false
		return s, AfterError
	}
	return s, 0
}
