package storetest

import (
	"flag"
	"os"
	"testing"
)

// AllCases reports whether sweeps and tables run every case, as in `make night`, which sets MEND_SWEEP=all. Otherwise slow
// ones run a fixed sample.
func AllCases() bool { return os.Getenv("MEND_SWEEP") == "all" }

// Includes reports whether a slow sweep cuts at call k: at each if [AllCases], otherwise at 0 and at the powers of two.
func Includes(k int) bool { return AllCases() || k&(k-1) == 0 }

// Long skips a test that takes seconds in a short run: with the race detector, where it starts no goroutines, and in
// make e2e.
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

// Count returns the number of examples of a test: all if [AllCases], otherwise sample.
func Count(all, sample int) int {
	if AllCases() {
		return all
	}
	return sample
}
