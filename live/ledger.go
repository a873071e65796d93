package live

import "sync"

// A ledger remembers which answers were taken and how often a session was
// recovered. It forgets the oldest beyond a bound that no user reaches.
type ledger struct {
	limit int

	mu       sync.Mutex
	taken    bounded[bool] // true: by a sweep, of which the agent knows nothing
	attempts bounded[int]
}

// remembered is how many answers and sessions a ledger holds.
const remembered = 4096

func newLedger(limit int) *ledger { return &ledger{limit: limit} }

// claim takes an answer; false if it was taken before. What a sweep took can be
// taken once more when the agent tells of it.
func (l *ledger) claim(message string, swept bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.taken.get(message); ok && (swept || !before) {
		return false
	}
	l.taken.put(message, swept)
	return true
}

// release lets an answer be taken again.
func (l *ledger) release(message string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.taken.drop(message)
}

// try counts a recovery of the session; false if the limit was reached.
func (l *ledger) try(session string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, _ := l.attempts.get(session)
	if n >= l.limit {
		return false
	}
	l.attempts.put(session, n+1)
	return true
}

// well forgets the recoveries of a session of which a turn has ended well.
func (l *ledger) well(session string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.attempts.drop(session)
}

// A bounded is a map that drops what was put first when it is full. The zero
// value is empty.
type bounded[V any] struct {
	values map[string]V
	order  []string
}

func (b *bounded[V]) get(key string) (V, bool) {
	v, ok := b.values[key]
	return v, ok
}

func (b *bounded[V]) put(key string, v V) {
	if b.values == nil {
		b.values = map[string]V{}
	}
	if _, ok := b.values[key]; !ok {
		if len(b.order) == remembered {
			b.drop(b.order[0])
		}
		b.order = append(b.order, key)
	}
	b.values[key] = v
}

func (b *bounded[V]) drop(key string) {
	if _, ok := b.values[key]; !ok {
		return
	}
	delete(b.values, key)
	for i, k := range b.order {
		if k == key {
			b.order = append(b.order[:i], b.order[i+1:]...)
			return
		}
	}
}
