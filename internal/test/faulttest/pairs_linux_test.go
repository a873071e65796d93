package faulttest_test

import (
	"fmt"
	"testing"

	"mend/internal/test/faulttest"
)

// TestEveryPair: after a repair was killed at any call, its recovery may be cut at any call, by a kill or by a power cut.
func TestEveryPair(t *testing.T) {
	if level() != "torture" {
		t.Skip("FAULTTEST is not torture")
	}
	for _, k := range []kind{tree, sqlite} {
		n := len(newSandbox(t, nil, built, repairFirst(k)).calls)
		for at := 1; at <= n; at++ {
			s := recovery(k, fmt.Sprintf("killed at call %d", at), func([]faulttest.Call) int { return at })
			t.Run(fmt.Sprintf("%s/%d", k, at), func(t *testing.T) {
				t.Parallel()
				report(t, newSandbox(t, nil, built, s).sweep(killed))
			})
			t.Run(fmt.Sprintf("%s/%d on disk", k, at), func(t *testing.T) {
				t.Parallel()
				report(t, newSandbox(t, newDisk(t, ext4), built, s).sweep(powerCuts))
			})
		}
	}
}
