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

// A reader for which quickAfter messages in a row were not slow takes it that the
// next one comes from memory too, and makes the calls for it without telling the
// scheduler, which costs a tenth of them. If it errs, a processor waits for the
// disk, for one message. A file system that has to ask somebody is not trusted in
// this: see [dir.local].
const quickAfter = 8

// A crew reads the messages of a session.
type crew struct {
	v        *view
	shelf    *dir // of the view of each reader
	messages []session.Ref
	visit    func(w *view, message session.Ref, i int)
	wg       sync.WaitGroup

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

// eachMessage calls visit for each of a session's messages and its number, several
// at a time, each with a view of its own, and takes into v what these saw.
func (v *view) eachMessage(messages []session.Ref, visit func(w *view, message session.Ref, i int)) {
	if len(messages) == 0 {
		return
	}
	c := &crew{v: v, messages: messages, visit: visit, size: 1, saw: make([]saw, len(messages))}
	if c.shelf = v.openShelf(messages[0]); c.shelf != nil {
		defer c.shelf.close()
	}
	c.wg.Go(c.read)
	c.wg.Wait()
	for _, m := range c.saw {
		v.seen.seen = append(v.seen.seen, m.sum[:]...)
		v.stray = append(v.stray, m.stray...)
	}
}

// read is one reader.
func (c *crew) read() {
	w := &view{Store: c.v.Store, ctx: c.v.ctx, root: c.v.root, shelf: c.shelf, seen: &tally{}, blind: c.v.blind}
	w.buf = c.v.buffers.Get().(*buffer)
	defer c.v.buffers.Put(w.buf)
	w.buf.keep = c.v.buf.keep
	inRow := 0
	for i, ok := c.take(w); ok; i, ok = c.take(w) {
		w.buf.quick = inRow >= quickAfter && w.local
		began := time.Now()
		c.visit(w, c.messages[i], i)
		c.saw[i] = saw{w.seen.take(), w.stray}
		w.stray = nil
		inRow++
		if time.Since(began) > slow {
			inRow = 0
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
