package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"mend/change"
	"mend/internal/test/storetest"
)

// TestLargeImage writes and reads an image of 60 MB, and measures the memory that takes in
// addition to the image.
func TestLargeImage(t *testing.T) {
	storetest.NeedAllCases(t)
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	dir := storetest.FastDir(t)
	j := mustOpen(t, dir, Options{})
	data := randomBytes(1, 60_000_000)
	start := time.Now()
	var peak uint64
	j.opts.Step = func(string) error {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc)
		return nil
	}
	e := mustCommit(t, j, scanCause(), change.Op{Ref: partRef(1), Pre: &change.Image{Data: data, Mode: 0o600}})
	t.Logf("written in %v, heap at most %d MB", time.Since(start), peak>>20)
	if peak > 60_000_000+120<<20 {
		t.Errorf("the heap grew to %d MB", peak>>20)
	}
	start = time.Now()
	ops, err := j.Ops(e)
	if err != nil || !bytes.Equal(ops[0].Pre.Data, data) {
		t.Errorf("Ops: %v", err)
	}
	t.Logf("read in %v", time.Since(start))
	if r := mustVerify(t, j); r.Bytes != 60_000_000 || r.Images != 1 {
		t.Errorf("Verify = %+v", r)
	}
	if _, err := j.Forget(ctx, []string{e.ID}); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(filepath.Join(dir, fileName)); err != nil || info.Size() > 1<<20 {
		t.Errorf("the file has %d bytes after Forget, %v", info.Size(), err)
	}
}

// toolOutput returns a part of 2.5 KB as a tool writes it.
func toolOutput(n int) []byte {
	return fmt.Appendf(nil, "{\n  \"id\": \"prt_%06d\",\n  \"text\": \"%x\",\n  \"output\": \"%s\"\n}\n", n, randomBytes(uint64(n), 200), bytes.Repeat(fmt.Appendf(nil, "line %d of the output\\n", n), 90))
}

func manyOps(n int) []change.Op {
	ops := make([]change.Op, n)
	for i := range ops {
		pre := toolOutput(i)
		ops[i] = change.Op{
			Ref: partRef(i), Pre: &change.Image{Data: pre, Mode: 0o600},
			Post: &change.Image{Data: append(pre[:len(pre)-2:len(pre)-2], ",\"synthetic\":true}"...), Mode: 0o600},
		}
	}
	return ops
}

// TestManyOps: fault case 35.
func TestManyOps(t *testing.T) {
	dir := storetest.FastDir(t)
	j := mustOpen(t, dir, Options{})
	n := storetest.Count(20_000, 1000)
	if os.Getenv("MEND_TORTURE") != "" {
		n = 100_000
	}
	ops := manyOps(n)
	start := time.Now()
	e := mustBegin(t, j, scanCause(), ops...)
	t.Logf("begun in %v", time.Since(start))
	start = time.Now()
	e = mustFinish(t, j, e, change.Committed)
	t.Logf("finished in %v", time.Since(start))
	start = time.Now()
	got, err := j.Ops(e)
	if err != nil || len(got) != n || !got[n-1].Post.Equal(ops[n-1].Post) {
		t.Fatalf("Ops: %d, %v", len(got), err)
	}
	t.Logf("read in %v", time.Since(start))
	start = time.Now()
	mustCommit(t, j, undoCause(1), change.Inverse(ops)...)
	t.Logf("undone, with all images there already, in %v", time.Since(start))
	start = time.Now()
	r := mustVerify(t, j)
	info, _ := os.Stat(filepath.Join(dir, fileName))
	t.Logf("verified in %v: %+v; file of %d MB", time.Since(start), r, info.Size()>>20)
	if r.Images != 2*n {
		t.Errorf("Verify = %+v", r)
	}
	start = time.Now()
	freed, err := j.GC(ctx, time.Now().Add(time.Hour), nil)
	if err != nil || freed.Images != 2*n {
		t.Errorf("GC = %+v, %v", freed, err)
	}
	t.Logf("removed in %v: %+v", time.Since(start), freed)
	mustVerify(t, j)
}
