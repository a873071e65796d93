package fsstore

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"time"

	"mend/internal/safedir"
	"mend/session"
)

// A session's messages are read by one reader, which others join while fewer read the
// store, all sessions together, than there are processors. A disk answers several
// requests at once, so whenever a message takes longer than slow another one joins,
// too, up to readers: their number then follows the storage.
const (
	readers = 16
	slow    = 500 * time.Microsecond
)

// A crew reads the messages of a session.
type crew struct {
	v     *view
	shelf *safedir.Dir // of the view of each reader
	of    session.Ref  // a message, without its id
	names []string     // of the messages' records
	visit func(w *view, message session.Ref, name string, i int)
	sums  []byte // by message, what there was to see of it
	wg    sync.WaitGroup

	mu     sync.Mutex
	next   int
	size   int // how many readers there are
	beside []besideOf
}

// A besideOf is what was found of a message besides its records.
type besideOf struct {
	message int
	stray   []session.Stray
	files   []session.File
}

// eachMessage calls visit for each of a session's messages, the name of its record
// and its number, several at a time, each with a view of its own, and takes into v
// what these saw. The messages are of, but for their ids.
func (v *view) eachMessage(of session.Ref, names []string, visit func(w *view, message session.Ref, name string, i int)) {
	if len(names) == 0 {
		return
	}
	before := len(v.seen.seen)
	v.seen.seen = append(v.seen.seen, make([]byte, len(names)*sha256.Size)...)
	c := &crew{v: v, of: of, names: names, visit: visit, sums: v.seen.seen[before:], size: 1}
	if c.shelf = v.openShelf(of); c.shelf != nil {
		defer c.shelf.Close()
	}
	c.wg.Go(c.read)
	c.wg.Wait()
	slices.SortFunc(c.beside, func(a, b besideOf) int { return a.message - b.message })
	for _, b := range c.beside {
		v.stray = append(v.stray, b.stray...)
		v.files = append(v.files, b.files...)
	}
}

// read is one reader.
func (c *crew) read() {
	w := &view{Store: c.v.Store, ctx: c.v.ctx, root: c.v.root, left: c.v.left, shelf: c.shelf, seen: &tally{}, blind: c.v.blind, buf: c.v.buffer(c.v.buf.Keep)}
	defer c.v.buffers.Put(w.buf)
	c.v.reading.Add(1)
	defer c.v.reading.Add(-1)
	began := time.Now()
	for i, ok := c.take(w); ok; i, ok = c.take(w) {
		message := c.of
		message.Message = strings.TrimSuffix(c.names[i], suffix)
		c.visit(w, message, c.names[i], i)
		c.note(w, i)
		now := time.Now()
		if now.Sub(began) > slow || c.v.reading.Load() < c.v.processors {
			c.grow()
		}
		began = now
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
	return c.next - 1, c.next <= len(c.names) && !w.failed()
}

// note notes what w saw of a message.
func (c *crew) note(w *view, i int) {
	sum := w.seen.take()
	copy(c.sums[i*len(sum):], sum[:])
	if !w.foundMore() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.beside = append(c.beside, besideOf{i, w.stray, w.files})
	w.stray, w.files = nil, nil
}

// grow adds a reader.
func (c *crew) grow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.size < readers && c.next < len(c.names) {
		c.size++
		c.wg.Go(c.read)
	}
}
