package storetest

import (
	"flag"
	"os"
	"testing"
)

// AllCases reports whether sweeps and tables run every case, as in `make night`, which sets
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

// Long skips a test that takes seconds in a short run: with the race detector, and make e2e.
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

// SampleChecks makes the property tests of the calling test try n examples, the same in each run, unless [AllCases].
func SampleChecks(t testing.TB, n string) {
	t.Helper()
	if AllCases() {
		return
	}
	for name, value := range map[string]string{"rapid.checks": n, "rapid.seed": "1"} {
		f := flag.Lookup(name)
		if f.Value.String() != f.DefValue {
			continue
		}
		if err := f.Value.Set(value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
	}
}

// Count returns how many examples a test tries: all if [AllCases], otherwise sample.
func Count(all, sample int) int {
	if AllCases() {
		return all
	}
	return sample
}
