package linestore_test

import (
	"testing"

	"mend/internal/test/storetest"
)

// TestNoExchange lets agents append and processes die on a system without a call that exchanges two files: nothing is
// lost, as elsewhere.
func TestNoExchange(t *testing.T) {
	if !storetest.RunInChild(t, 0) {
		return
	}
	storetest.DenyExchange(t)
	for name, test := range map[string]func(*testing.T){
		"AgentAppendsAtEveryStep": TestAgentAppendsAtEveryStep, "TwoAgentsAtEveryStep": TestTwoAgentsAtEveryStep,
		"WholeTranscript": TestReplaceTranscript, "Contract": TestContract,
	} {
		t.Run(name, test)
	}
}
