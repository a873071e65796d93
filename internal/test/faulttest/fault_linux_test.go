package faulttest_test

import (
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"

	"mend/internal/test/faulttest"
)

// A sweepFault is a fault that a sweep injects at each call.
type sweepFault struct {
	name  string
	fault func(sb *sandbox, k int) faulttest.Fault
}

var killed = sweepFault{"kill", func(*sandbox, int) faulttest.Fault { return faulttest.Fault{Action: faulttest.Kill} }}

func once(e syscall.Errno) sweepFault {
	return sweepFault{errnoName(e) + " once", func(*sandbox, int) faulttest.Fault { return faulttest.Fault{Action: faulttest.Fail, Errno: e} }}
}

func lasting(e syscall.Errno) sweepFault {
	return sweepFault{errnoName(e) + " from then on", func(*sandbox, int) faulttest.Fault {
		return faulttest.Fault{Action: faulttest.Fail, Errno: e, Lasts: true}
	}}
}

// errnos are the errors of failing calls. EINTR occurs only once, because a program retries after it.
var errnos = []syscall.Errno{
	syscall.EIO, syscall.ENOSPC, syscall.EROFS, syscall.EACCES, syscall.EDQUOT, syscall.EMFILE, syscall.EINTR,
}

func errnoName(e syscall.Errno) string {
	return map[syscall.Errno]string{
		syscall.EIO: "EIO", syscall.ENOSPC: "ENOSPC", syscall.EROFS: "EROFS", syscall.EACCES: "EACCES",
		syscall.EDQUOT: "EDQUOT", syscall.EMFILE: "EMFILE", syscall.EINTR: "EINTR",
	}[e]
}

// level returns how much is tested: "" in a plain run, otherwise "sample", "full" or "torture".
func level() string { return os.Getenv("FAULTTEST") }

// needLevel skips a test of the real mend in a plain run.
func needLevel(t *testing.T) {
	t.Helper()
	if level() == "" {
		t.Skip("FAULTTEST is not set")
	}
}

func sweepFaults() []sweepFault {
	switch level() {
	case "sample", "full":
		return []sweepFault{killed, once(syscall.EIO), lasting(syscall.ENOSPC)}
	}
	all := []sweepFault{killed}
	for _, e := range errnos {
		all = append(all, once(e))
		if e != syscall.EINTR {
			all = append(all, lasting(e))
		}
	}
	return all
}

func scenarios() []scenario {
	if level() != "torture" {
		return slices.Concat(all(tree), all(sqlite), all(lines), codexVerbs(), []scenario{repairFirst(newest), undo(newest), cleanEvents(), cleanSnapshots(), salvage(), undoSalvage()})
	}
	return slices.Concat(all(tree), all(sqlite), all(newest), all(lines), codexVerbs())
}

// TestFaultAtEveryCall: if a verb is killed at any call, or the call fails, the store is as before the change or as after it
// when it is recovered, as the journal says.
func TestFaultAtEveryCall(t *testing.T) {
	needLevel(t)
	for _, s := range scenarios() {
		t.Run(fmt.Sprintf("%s/%s", s.kind, s.name), func(t *testing.T) {
			t.Parallel()
			sb := newSandbox(t, nil, built, s)
			for _, f := range sweepFaults() {
				t.Run(f.name, func(t *testing.T) { report(t, sb.subtest(t).sweep(f)) })
			}
		})
	}
}
