package tree

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"mend/change"
	"mend/internal/safedir"
)

// Several workers read a session's messages, since a disk handles several requests at once: one for
// each perReader messages, and at most maxReaders.
const (
	maxReaders = 16
	perReader  = 8
)

// eachMessage calls visit for each of a session's messages with the name of its record and its
// index, several at a time, each with a reader of its own, and adds their findings to tr. ref is
// the ref of the messages, without an id.
func (tr *treeReader) eachMessage(ref change.Ref, names []string,
	visit func(w *treeReader, message change.Ref, name string, i int),
) {
	if len(names) == 0 {
		return
	}
	partsDir := tr.openIn(tr.root, "part", "", true)
	if partsDir != nil {
		defer partsDir.Close()
	}
	sums := make([]byte, len(names)*sha256.Size) // of the read entries, by message
	stray := make([][]change.Stray, len(names))  // by message
	var next atomic.Int64
	work := func(w *treeReader) {
		for i := int(next.Add(1)) - 1; i < len(names) && !w.failed(); i = int(next.Add(1)) - 1 {
			message := ref
			message.Message = strings.TrimSuffix(names[i], suffix)
			visit(w, message, names[i], i)
			sum := w.stamp.next()
			copy(sums[i*len(sum):], sum[:])
			stray[i], w.stray = w.stray, nil
		}
	}
	var running sync.WaitGroup
	workers := make([]*treeReader, min(maxReaders, 1+len(names)/perReader))
	for i := range workers {
		w := tr.newWorker(partsDir)
		workers[i] = w
		running.Go(func() { work(w) })
	}
	running.Wait()
	tr.stamp.data = append(tr.stamp.data, sums...)
	tr.stray = append(tr.stray, slices.Concat(stray...)...)
	for _, w := range workers {
		tr.buffers.Put(w.buf)
		tr.stamp.join(w.stamp)
		tr.err = cmp.Or(tr.err, w.err)
	}
}

// newWorker returns a reader for some messages of the session that tr reads.
func (tr *treeReader) newWorker(partsDir *safedir.Dir) *treeReader {
	return &treeReader{
		Store: tr.Store, ctx: tr.ctx, root: tr.root, budget: tr.budget, buf: tr.buffer(),
		partsDir: partsDir, stamp: &stampHasher{}, statOnly: tr.statOnly, raw: tr.raw,
	}
}
