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

// TestLargeImage: writing an image of 60 MB takes at most 120 MB more, and Forget gives the space back.
func TestLargeImage(t *testing.T) {
	storetest.NeedAllCases(t)
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	dir := storetest.FastDir(t)
	j := mustOpen(t, dir, Options{})
	data := randomBytes(1, 60_000_000)
	var peak uint64
	j.opts.Step = func(string) error {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		peak = max(peak, m.HeapAlloc)
		return nil
	}
	e := mustCommit(t, j, scanCause(), change.Op{Ref: partRef(1), Pre: &change.Image{Data: data, Mode: 0o600}})
	if peak > 60_000_000+120<<20 {
		t.Errorf("the heap grew to %d MB", peak>>20)
	}
	ops, err := j.Ops(e)
	if err != nil || !bytes.Equal(ops[0].Pre.Data, data) {
		t.Errorf("Ops: %v", err)
	}
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

// TestManyOps: an entry of very many ops is written, read and undone, and GC removes each of its images.
func TestManyOps(t *testing.T) {
	j := mustOpen(t, storetest.FastDir(t), Options{})
	n := storetest.Count(20_000, 1000)
	if os.Getenv("MEND_TORTURE") != "" {
		n = 100_000
	}
	ops := manyOps(n)
	e := mustCommit(t, j, scanCause(), ops...)
	got, err := j.Ops(e)
	if err != nil || len(got) != n || !got[n-1].Post.Equal(ops[n-1].Post) {
		t.Fatalf("Ops: %d, %v", len(got), err)
	}
	mustCommit(t, j, undoCause(1), change.Inverse(ops)...) // with the same images
	if r := mustVerify(t, j); r.Images != 2*n {
		t.Errorf("Verify = %+v", r)
	}
	freed, err := j.GC(ctx, time.Now().Add(time.Hour), nil)
	if err != nil || freed.Images != 2*n {
		t.Errorf("GC = %+v, %v", freed, err)
	}
	mustVerify(t, j)
}
