package fsstore

import (
	"crypto/sha256"
	"sync"
	"time"

	"mend/session"
)

// A session's messages are read by one reader as long as they come from memory. A
// disk answers several requests at once, so whenever a message takes longer than
// slow another reader joins, up to readers: their number follows the storage, not
// the processors.
const (
	readers = 16
	slow    = 500 * time.Microsecond
)

// A crew reads the messages of a session.
type crew struct {
	v     *view
	visit func(w *view, i int)
	wg    sync.WaitGroup

	mu   sync.Mutex
	next int
	size int   // how many readers there are
	saw  []saw // by message
}

// A saw is what there was to see of a message.
type saw struct {
	sum   [sha256.Size]byte
	stray []session.Stray
}

// eachMessage calls visit for the number of each of n messages, several at a time,
// each with a view of its own, and takes into v what these saw.
func (v *view) eachMessage(n int, visit func(w *view, i int)) {
	c := &crew{v: v, visit: visit, size: 1, saw: make([]saw, n)}
	c.wg.Go(c.read)
	c.wg.Wait()
	for _, m := range c.saw {
		v.seen.seen = append(v.seen.seen, m.sum[:]...)
		v.stray = append(v.stray, m.stray...)
	}
}

// read is one reader.
func (c *crew) read() {
	w := &view{Store: c.v.Store, ctx: c.v.ctx, root: c.v.root, seen: &tally{}, blind: c.v.blind}
	if c.v.buf != nil {
		w.buf = c.v.buffers.Get().(*buffer)
		defer c.v.buffers.Put(w.buf)
	}
	for i, ok := c.take(w); ok; i, ok = c.take(w) {
		began := time.Now()
		c.visit(w, i)
		c.saw[i] = saw{w.seen.take(), w.stray}
		w.stray = nil
		if time.Since(began) > slow {
			c.grow()
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.v.seen.join(w.seen)
	if c.v.err == nil {
		c.v.err = w.err
	}
}

// take is the number of the next message, and whether w is to read one more.
func (c *crew) take(w *view) (i int, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	return c.next - 1, c.next <= len(c.saw) && !w.failed()
}

// grow adds a reader.
func (c *crew) grow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size < readers && c.next < len(c.saw) {
		c.size++
		c.wg.Go(c.read)
	}
}
