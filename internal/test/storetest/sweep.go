package storetest

import (
	"flag"
	"os"
	"strconv"
	"testing"
	"time"
)

// AllCases reports whether sweeps and tables run every case, as in `make test-all`, which sets
// MEND_SWEEP=all. Otherwise they run a fixed sample: the longest of them a smaller one than in .ci/run, which sets
// MEND_SWEEP=sample.
func AllCases() bool { return os.Getenv("MEND_SWEEP") == "all" }

// Includes reports whether case i of a sweep runs: every case if [AllCases], otherwise every nth.
func Includes(i, n int) bool { return AllCases() || i%n == 0 }

// Thinned returns n for [Includes] where MEND_SWEEP is set, as .ci/run sets it, otherwise three times n.
func Thinned(n int) int {
	if os.Getenv("MEND_SWEEP") != "" {
		return n
	}
	return 3 * n
}

// Today returns a number that is greater by one each day, for a sample that is another each day. MEND_DAY=1 is tomorrow.
func Today() int {
	later, _ := strconv.Atoi(os.Getenv("MEND_DAY")) // 0 without it
	return int(time.Now().Unix()/(24*60*60)) + later
}

// InSample skips case number i in a short run, but for one of n, others each day.
func InSample(t *testing.T, i, n int) {
	t.Helper()
	if testing.Short() && (i+Today())%n > 0 {
		t.Skip("in turn: it runs on another day, and without -short")
	}
}

// InTurn skips one of the longest tests in a short run on two days of three: but for those whose
// number leaves that remainder.
func InTurn(t *testing.T, remainder int) {
	t.Helper()
	if testing.Short() && Today()%3 != remainder {
		t.Skip("a short run has it on each third day")
	}
}

// Long skips a test that takes seconds in a short run, as one with the race detector is.
func Long(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("not in a short run")
	}
}

// NeedAllCases skips a test that takes seconds unless [AllCases].
func NeedAllCases(t testing.TB) {
	t.Helper()
	if !AllCases() {
		t.Skip("runs with MEND_SWEEP=all")
	}
}

// NeedSample skips a test that takes seconds and is about speed or size unless MEND_SWEEP is set, as .ci/run sets it.
func NeedSample(t testing.TB) {
	t.Helper()
	if os.Getenv("MEND_SWEEP") == "" {
		t.Skip("runs with MEND_SWEEP=sample, as in .ci/run")
	}
}

// SampleChecks makes the property tests of the calling test try n examples unless [AllCases].
func SampleChecks(t testing.TB, n string) {
	t.Helper()
	checks := flag.Lookup("rapid.checks")
	if AllCases() || checks.Value.String() != checks.DefValue {
		return
	}
	if err := checks.Value.Set(n); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checks.Value.Set(checks.DefValue) })
}

// Count returns how many examples a test tries: all if [AllCases], otherwise sample.
func Count(all, sample int) int {
	if AllCases() {
		return all
	}
	return sample
}
