package live

import "sync"

// A dedupe records which failed messages were handled, and counts the recoveries of each session.
type dedupe struct {
	limit int // recoveries of a session

	mu       sync.Mutex
	claimed  map[string]bool // by message
	attempts map[string]int  // by session
}

func newDedupe(limit int) *dedupe {
	return &dedupe{limit: limit, claimed: map[string]bool{}, attempts: map[string]int{}}
}

// claim reports whether the message may be handled, and records it as handled.
func (d *dedupe) claim(message string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.claimed[message] {
		return false
	}
	d.claimed[message] = true
	return true
}

// release lets the message be claimed again.
func (d *dedupe) release(message string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.claimed, message)
}

// attempt counts a recovery of the session. It returns false at the limit.
func (d *dedupe) attempt(session string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.attempts[session] >= d.limit {
		return false
	}
	d.attempts[session]++
	return true
}

// uncount takes one recovery off the count: it did not fail, or nothing was tried.
func (d *dedupe) uncount(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attempts[session] = max(0, d.attempts[session]-1)
}

// reset clears the attempt count after a turn of the session succeeded.
func (d *dedupe) reset(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.attempts, session)
}
