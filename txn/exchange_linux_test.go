package txn_test

import (
	"testing"

	"mend/internal/test/storetest"
)

// TestWithoutExchange runs the fault tests on a file system that can neither exchange two files nor
// refuse to overwrite one. Fault case 32.
func TestWithoutExchange(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	storetest.DenyExchange(t)
	t.Run("FaultAtEveryStep", TestFaultAtEveryStep)
	t.Run("RecoveryCutAtEveryStep", TestRecoveryCutAtEveryStep)
	t.Run("UndoCutAtEveryStep", TestUndoCutAtEveryStep)
}
