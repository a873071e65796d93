package live

// A sessionState is what a [Watch] knows of a session.
type sessionState struct {
	aborted   bool   // the user aborted the turn
	prompt    string // the id of the newest prompt
	asked     bool   // that has no answer, not even a failed one
	overflows int    // requests in a row that were too long, if the agent compacts the session
}

// step is the policy of a [Watch]: it returns the state of a session after an event, and why the session is to be
// judged, 0 if it is not. It reads no clock and no store.
func step(s sessionState, u update) (next sessionState, cause Cause) {
	switch {
	case u.deleted:
		return sessionState{}, 0
	case u.prompted: // also set when the agent sends an old prompt again after summarising it
		s.aborted = false
		if u.prompt != s.prompt { // else it is reported again, with a summary
			s.prompt, s.asked = u.prompt, true
		}
	case u.succeeded:
		s.asked = false
		if u.answered { // not only completed, as before a compaction
			s.overflows = 0
		}
	case u.failure != nil:
		return s.failed(u)
	case u.idle && s.aborted:
		s.aborted = false
	case u.idle && s.asked:
		s.asked = false
		return s, AfterSilence
	case u.idle:
		return s, AtIdle
	}
	return s, 0
}

// failed handles an answer that ended with an error.
func (s sessionState) failed(u update) (sessionState, Cause) {
	switch {
	case IsAbort(u.failure.Error):
		s.asked, s.aborted = false, true
	case u.tooLong && !s.asked: // reported before
	case u.tooLong:
		s.asked = false
		if s.overflows++; compactsItself(u.failure.Error) && s.overflows < maxCompactions {
			return s, 0 // a compaction of the agent may still help
		}
		s.overflows = 0
		return s, AfterOverflow
	case u.recoverable:
		s.asked = false
		return s, AfterError
	}
	return s, 0
}
