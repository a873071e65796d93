package live

import "time"

// A sessionState is what a [Watch] knows of a session.
type sessionState struct {
	aborted   bool   // the user aborted the turn
	prompt    string // the id of the newest prompt
	asked     bool   // that has no answer, not even a failed one
	overflows int    // requests in a row that were too long, if the agent compacts the session
}

// A task is what a [Watch] is to do about a session.
type task struct {
	kind    taskKind
	failure Info      // of taskFailure and taskOverflow
	at      time.Time // when it was reported
}

// A taskKind is a kind of [task]. Those of one session are done in this order.
type taskKind int

// The kinds of tasks.
const (
	taskForget    taskKind = iota + 1 // the session was deleted
	taskSucceeded                     // a turn succeeded
	taskFailure                       // an answer ended with an error that can be recovered
	taskOverflow                      // a request was too long
	taskIdle                          // the agent does not work in the session
	taskSilent                        // a turn ended without an answer, or with an error that is not known
)

// taskRows has the attempts of the tasks that need only the session.
var taskRows = map[taskKind]row{taskIdle: interrupted, taskSilent: unanswered}

// step is the policy of a [Watch]: it returns the state of a session after an event, and what is to
// be done. It reads no clock and no store.
func step(s sessionState, u update) (next sessionState, tasks []task) {
	if u.deleted {
		return sessionState{}, []task{{kind: taskForget}}
	}
	switch {
	case u.prompted: // also set when the agent sends an old prompt again after summarising it
		s.aborted = false
		if u.prompt != s.prompt { // else it is reported again, with a summary
			s.prompt, s.asked = u.prompt, true
		}
	case u.succeeded:
		s.asked = false
		if u.answered { // not only completed, as before a compaction
			s.overflows = 0
			tasks = append(tasks, task{kind: taskSucceeded})
		}
	case u.failure != nil:
		return s.failed(u, tasks)
	case u.idle && s.aborted:
		s.aborted = false
	case u.idle:
		tasks = append(tasks, task{kind: taskIdle})
		if s.asked {
			tasks = append(tasks, task{kind: taskSilent})
		}
		s.asked = false
	}
	return s, tasks
}

// failed handles an answer that ended with an error.
func (s sessionState) failed(u update, tasks []task) (sessionState, []task) {
	switch {
	case IsAbort(u.failure.Error):
		s.asked, s.aborted = false, true
	case u.tooLong && !s.asked: // reported before
	case u.tooLong:
		s.asked = false
		if s.overflows++; compactsItself(u.failure.Error) && s.overflows < maxCompactions {
			return s, tasks // a compaction of the agent may still help
		}
		s.overflows = 0
		tasks = append(tasks, task{taskOverflow, *u.failure, u.at})
	case u.recoverable:
		s.asked = false
		tasks = append(tasks, task{taskFailure, *u.failure, u.at})
	}
	return s, tasks
}
