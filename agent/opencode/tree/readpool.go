package tree

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
	maxReaders = 16
	slow       = 500 * time.Microsecond
)

// A crew reads the messages of a session.
type readPool struct {
	tr       *treeReader
	partsDir *safedir.Dir // of the view of each reader
	ref      session.Ref  // a message, without its id
	names    []string     // of the messages' records
	visit    func(w *treeReader, message session.Ref, name string, i int)
	sums     []byte // by message, what there was to see of it
	wg       sync.WaitGroup

	mu      sync.Mutex
	next    int
	workers int // how many readers there are
	extras  []messageExtras
}

// A besideOf is what was found of a message besides its records.
type messageExtras struct {
	message int
	stray   []session.Stray
	files   []session.File
}

// eachMessage calls visit for each of a session's messages, the name of its record
// and its number, several at a time, each with a view of its own, and takes into v
// what these saw. The messages are of, but for their ids.
func (tr *treeReader) eachMessage(of session.Ref, names []string, visit func(w *treeReader, message session.Ref, name string, i int)) {
	if len(names) == 0 {
		return
	}
	before := len(tr.stamp.data)
	tr.stamp.data = append(tr.stamp.data, make([]byte, len(names)*sha256.Size)...)
	pool := &readPool{tr: tr, ref: of, names: names, visit: visit, sums: tr.stamp.data[before:], workers: 1}
	if pool.partsDir = tr.openPartsRoot(of); pool.partsDir != nil {
		defer pool.partsDir.Close()
	}
	pool.wg.Go(pool.work)
	pool.wg.Wait()
	slices.SortFunc(pool.extras, func(a, b messageExtras) int { return a.message - b.message })
	for _, b := range pool.extras {
		tr.stray = append(tr.stray, b.stray...)
		tr.files = append(tr.files, b.files...)
	}
}

// work is one reader.
func (pool *readPool) work() {
	w := &treeReader{Store: pool.tr.Store, ctx: pool.tr.ctx, root: pool.tr.root, budget: pool.tr.budget, partsDir: pool.partsDir, stamp: &stampHasher{}, statOnly: pool.tr.statOnly, buf: pool.tr.buffer(pool.tr.buf.Keep)}
	defer pool.tr.buffers.Put(w.buf)
	pool.tr.reading.Add(1)
	defer pool.tr.reading.Add(-1)
	began := time.Now()
	for i, ok := pool.nextMessage(w); ok; i, ok = pool.nextMessage(w) {
		message := pool.ref
		message.Message = strings.TrimSuffix(pool.names[i], suffix)
		pool.visit(w, message, pool.names[i], i)
		pool.addResult(w, i)
		now := time.Now()
		if now.Sub(began) > slow || pool.tr.reading.Load() < pool.tr.processors {
			pool.addWorker()
		}
		began = now
	}
	pool.mu.Lock()
	defer pool.mu.Unlock()
	pool.tr.stamp.join(w.stamp)
	if pool.tr.err == nil {
		pool.tr.err = w.err
	}
}

// nextMessage is the number of the next message, and whether w is to read one more.
func (pool *readPool) nextMessage(w *treeReader) (i int, ok bool) {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	pool.next++
	return pool.next - 1, pool.next <= len(pool.names) && !w.failed()
}

// addResult notes what w saw of a message.
func (pool *readPool) addResult(w *treeReader, i int) {
	sum := w.stamp.next()
	copy(pool.sums[i*len(sum):], sum[:])
	if !w.foundNonRecords() {
		return
	}
	pool.mu.Lock()
	defer pool.mu.Unlock()
	pool.extras = append(pool.extras, messageExtras{i, w.stray, w.files})
	w.stray, w.files = nil, nil
}

// addWorker adds a reader.
func (pool *readPool) addWorker() {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if pool.workers < maxReaders && pool.next < len(pool.names) {
		pool.workers++
		pool.wg.Go(pool.work)
	}
}
