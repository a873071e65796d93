package journal

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"mend/change"
	"mend/internal/test/storetest"
)

// childWork begins and finishes entries, and prints the number of each. It forgets every fifth. It ends when a call fails.
func childWork(dir string) int {
	limitFileSize(os.Getenv("MEND_TEST_FSIZE"))
	j, err := Open(dir, Options{batchSize: 30_000})
	if err != nil {
		fmt.Println("error", err)
		return 3
	}
	for i := range 400 {
		e, err := j.Begin(newPlan(scanCause(), change.Op{Ref: partRef(i), Pre: &change.Image{Data: randomBytes(uint64(i), 25_000)}, Post: &change.Image{Data: randomBytes(uint64(i), 26_000)}}))
		if err == nil {
			fmt.Println("begun", e.Seq)
			e, err = j.Finish(e, change.Outcome{State: change.Committed})
		}
		if err == nil {
			fmt.Println("done", e.Seq)
			if i%5 == 4 {
				_, err = j.Forget(ctx, []string{e.ID})
			}
		}
		if err != nil {
			fmt.Println("error", err)
			return 3
		}
	}
	return 0
}

// runChild runs childWork in another process. If after is not 0, it kills the process that time after its first entry. It
// returns the highest numbers that the process printed, and its error.
func runChild(t *testing.T, dir string, after time.Duration, env ...string) (begun, done int, failed string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "MEND_TEST_DO=work", "MEND_TEST_DIR="+dir), env...)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		what, rest, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.Atoi(rest)
		switch what {
		case "begun":
			if begun = n; n == 1 && after != 0 {
				time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
			}
		case "done":
			done = n
		default:
			failed = lines.Text()
		}
	}
	_ = cmd.Wait() // it was killed, or failed as intended
	return begun, done, failed
}

// checkChild opens the journal that the child process left.
func checkChild(t *testing.T, what, dir string, begun, done int) {
	t.Helper()
	j, err := Open(dir, Options{})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer mustClose(t, j)
	r, err := j.Verify("")
	if err != nil || r.Unfinished {
		t.Errorf("%s: %+v, %v", what, r, err)
	}
	all, err := j.List(Query{})
	if err != nil || len(all) < begun || len(all) > begun+1 {
		t.Errorf("%s: %d entries, %v, %d were begun", what, len(all), err, begun)
		return
	}
	for _, e := range all {
		if int(e.Seq) <= done && e.State != change.Committed {
			t.Errorf("%s: entry %d is %s, but was finished", what, e.Seq, e.State)
		}
		if _, err := j.Ops(e); err != nil && !errors.Is(err, ErrForgotten) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, tempName)); err == nil {
		t.Errorf("%s: %s is still there", what, tempName)
	}
}

// TestKill: after a kill at a random time, the journal has every entry that the process printed.
func TestKill(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range storetest.Count(15, 5) {
		dir := filepath.Join(storetest.FastDir(t), "mend")
		begun, done, failed := runChild(t, dir, time.Duration(1+rng.IntN(80))*time.Millisecond)
		if failed != "" || begun == 0 {
			t.Errorf("kill %d: %d entries begun, %s", i, begun, failed)
		}
		checkChild(t, fmt.Sprintf("kill %d", i), dir, begun, done)
	}
}

// TestFileTooLarge: if a file reaches a limit of its size, at whatever call, the journal has every entry that the process
// printed. In a plain run each limit is half as large again as the one before.
func TestFileTooLarge(t *testing.T) {
	storetest.Long(t)
	failures := 0
	for kb := 8; kb < 3000; kb += kb/storetest.Count(4, 2) + 1 {
		dir := filepath.Join(storetest.FastDir(t), "mend")
		begun, done, failed := runChild(t, dir, 0, fmt.Sprintf("MEND_TEST_FSIZE=%d", kb<<10))
		if failed == "" {
			continue
		}
		failures++
		if !strings.Contains(failed, "file too large") {
			t.Errorf("%d KB: %s", kb, failed)
		}
		checkChild(t, fmt.Sprintf("%d KB", kb), dir, begun, done)
	}
	if failures < 10 {
		t.Errorf("only %d limits were reached", failures)
	}
}
