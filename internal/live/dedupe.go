package live

import (
	"slices"
	"sync"
)

// A dedupe records which failed messages were handled, and counts the recoveries of
// each session. It keeps the newest maxRemembered of both.
type dedupe struct {
	limit int // recoveries of a session

	mu       sync.Mutex
	claimed  boundedMap[bool] // the value is the argument unreported of claim
	attempts boundedMap[int]
}

// maxRemembered is how many messages and sessions a dedupe keeps.
const maxRemembered = 4096

func newDedupe(limit int) *dedupe { return &dedupe{limit: limit} }

// claim reports whether the message may be handled, and records it as handled. A
// message that was claimed as unreported can be claimed once more when the agent
// reports it.
func (d *dedupe) claim(message string, unreported bool) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if before, ok := d.claimed.get(message); ok && (unreported || !before) {
		return false
	}
	d.claimed.set(message, unreported)
	return true
}

// release lets the message be claimed again.
func (d *dedupe) release(message string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.claimed.remove(message)
}

// attempt counts a recovery of the session. It returns false at the limit.
func (d *dedupe) attempt(session string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, _ := d.attempts.get(session)
	if n >= d.limit {
		return false
	}
	d.attempts.set(session, n+1)
	return true
}

// progress subtracts the count of a recovery that changed the store: it did not fail.
func (d *dedupe) progress(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n, _ := d.attempts.get(session)
	d.attempts.set(session, max(0, n-1))
}

// reset clears the attempt count after a turn of the session succeeded.
func (d *dedupe) reset(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.attempts.remove(session)
}

// A boundedMap is a map that removes its oldest key when it is full. The zero value
// is empty.
type boundedMap[V any] struct {
	values map[string]V
	order  []string // the keys, oldest first
}

func (b *boundedMap[V]) get(key string) (V, bool) {
	v, ok := b.values[key]
	return v, ok
}

func (b *boundedMap[V]) set(key string, v V) {
	if b.values == nil {
		b.values = map[string]V{}
	}
	if _, ok := b.values[key]; !ok {
		if len(b.order) == maxRemembered {
			b.remove(b.order[0])
		}
		b.order = append(b.order, key)
	}
	b.values[key] = v
}

func (b *boundedMap[V]) remove(key string) {
	if _, ok := b.values[key]; !ok {
		return
	}
	delete(b.values, key)
	i := slices.Index(b.order, key)
	b.order = slices.Delete(b.order, i, i+1)
}
