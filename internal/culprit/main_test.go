package culprit

import (
	"testing"

	"mend/internal/test/storetest"
)

func TestMain(m *testing.M) { storetest.RunInMemory(m) }
