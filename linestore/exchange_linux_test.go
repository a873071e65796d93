package linestore_test

import (
	"testing"

	"mend/internal/test/storetest"
)

// TestNoExchange: without a system call that exchanges two files, no line and no change is lost, either.
func TestNoExchange(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	storetest.DenyExchange(t)
	for name, test := range map[string]func(*testing.T){
		"AgentAppendsAtEveryStep": TestAgentAppendsAtEveryStep, "TwoAgentsAtEveryStep": TestTwoAgentsAtEveryStep,
		"ReplaceTranscript": TestReplaceTranscript, "Contract": TestContract,
	} {
		t.Run(name, test)
	}
}
