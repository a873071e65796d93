package codex_test

import (
	"testing"

	"mend/internal/test/storetest"
)

func TestMain(m *testing.M) { storetest.RunInMemory(m) }
