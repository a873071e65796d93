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

// A session's messages are read by a pool that starts with one worker. A worker is added
// while fewer goroutines than processors read the store, all sessions together. A disk
// answers several requests at once, so a worker is also added when a message took longer
// than slow, up to maxReaders.
const (
	maxReaders = 16
	slow       = 500 * time.Microsecond
)

// A readPool reads the messages of a session.
type readPool struct {
	tr       *treeReader
	partsDir *safedir.Dir // for the reader of each worker
	ref      session.Ref  // of a message, without its id
	names    []string     // of the messages' records
	visit    func(w *treeReader, message session.Ref, name string, i int)
	sums     []byte // hash of what was read, by message
	wg       sync.WaitGroup

	mu      sync.Mutex
	next    int
	workers int
	extras  []messageExtras
}

// messageExtras are what was found of one message besides records.
type messageExtras struct {
	message int
	stray   []session.Stray
}

// eachMessage calls visit for each of a session's messages with the name of its record and
// its index, several at a time, each with a reader of its own, and adds their findings to
// tr. ref is that of the messages, without an id.
func (tr *treeReader) eachMessage(ref session.Ref, names []string, visit func(w *treeReader, message session.Ref, name string, i int)) {
	if len(names) == 0 {
		tr.unopened = true
		return
	}
	before := len(tr.stamp.data)
	tr.stamp.data = append(tr.stamp.data, make([]byte, len(names)*sha256.Size)...)
	pool := &readPool{tr: tr, ref: ref, names: names, visit: visit, sums: tr.stamp.data[before:], workers: 1}
	if pool.partsDir = tr.openPartsRoot(ref); pool.partsDir != nil {
		defer pool.partsDir.Close()
	}
	pool.wg.Go(pool.work)
	pool.wg.Wait()
	slices.SortFunc(pool.extras, func(a, b messageExtras) int { return a.message - b.message })
	for _, b := range pool.extras {
		tr.stray = append(tr.stray, b.stray...)
	}
}

// work is one worker.
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

// nextMessage returns the index of the next message; ok is false if there is none or
// reading failed.
func (pool *readPool) nextMessage(w *treeReader) (i int, ok bool) {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	pool.next++
	return pool.next - 1, pool.next <= len(pool.names) && !w.failed()
}

// addResult collects what w found of a message.
func (pool *readPool) addResult(w *treeReader, i int) {
	sum := w.stamp.next()
	copy(pool.sums[i*len(sum):], sum[:])
	if !w.foundNonRecords() {
		return
	}
	pool.mu.Lock()
	defer pool.mu.Unlock()
	pool.extras = append(pool.extras, messageExtras{i, w.stray})
	w.stray = nil
}

// addWorker adds a worker.
func (pool *readPool) addWorker() {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if pool.workers < maxReaders && pool.next < len(pool.names) {
		pool.workers++
		pool.wg.Go(pool.work)
	}
}
