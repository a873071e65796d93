package txn_test

import (
	"testing"

	"mend/internal/storetest"
)

// Every crash and every error ends as well where the file system can neither
// exchange two files nor refuse to overwrite one. Fault case 32.
func TestWithoutExchange(t *testing.T) {
	if !storetest.InChild(t, 0) {
		return
	}
	storetest.NoExchange(t)
	t.Run("FaultAtEveryStep", TestFaultAtEveryStep)
	t.Run("RecoveryCutAtEveryStep", TestRecoveryCutAtEveryStep)
	t.Run("UndoCutAtEveryStep", TestUndoCutAtEveryStep)
}
