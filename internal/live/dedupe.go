package live

import "sync"

// A dedupe records which failed messages were handled, and counts the recoveries of each session. It keeps the newest
// messages and sessions.
type dedupe struct {
	limit int // recoveries of a session

	mu       sync.Mutex
	claimed  Recent[struct{}]
	attempts Recent[int]
}

// claim reports whether the message may be handled, and records it as handled.
func (d *dedupe) claim(message string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, ok := d.claimed.Get(message); ok {
		return false
	}
	d.claimed.Set(message, struct{}{})
	return true
}

// release lets the message be claimed again.
func (d *dedupe) release(message string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claimed.Remove(message)
}

// attempt counts a recovery of the session. It returns false at the limit.
func (d *dedupe) attempt(session string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, _ := d.attempts.Get(session)
	if n >= d.limit {
		return false
	}
	d.attempts.Set(session, n+1)
	return true
}

// progress takes one recovery off the count: it did not fail, or nothing was tried.
func (d *dedupe) progress(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, _ := d.attempts.Get(session)
	d.attempts.Set(session, max(0, n-1))
}

// reset clears the attempt count after a turn of the session succeeded.
func (d *dedupe) reset(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attempts.Remove(session)
}
