package live

import (
	"errors"
	"strings"
	"testing"

	"mend/repair"
)

// TestToastLength checks that a toast can be read while it is shown.
func TestToastLength(t *testing.T) {
	texts := []string{
		repairedText("qevajo", true, false), repairedText("qevajo", false, true), alreadyRepairedText("qevajo"),
		endedText(3, "qevajo"), sendAgainText("qevajo"), beforeRequestText("qevajo"), limitText(3), failedText(errors.New("locked")),
		failedText(errors.New("planning for ses_1: the agent is using this session, and a great deal more that nobody has time to read")),
		unexplainedText(repair.APIError{}), unexplainedText(repair.APIError{Rule: "R7", Class: repair.ThinkingSignature}),
	}
	for _, n := range notices {
		texts = append(texts, n.message)
	}
	for _, text := range texts {
		if n := len(strings.Fields(text)); n > maxToast {
			t.Errorf("%q has %d words, want at most %d", text, n, maxToast)
		}
	}
}

// TestToastNextStep checks that a repair says how the user goes on.
func TestToastNextStep(t *testing.T) {
	if text := repairedText("qevajo", false, false); !strings.Contains(text, "Send your prompt again") || !strings.Contains(text, "mend undo qevajo") {
		t.Errorf("repairedText = %q", text)
	}
	if text := repairedText("qevajo", false, true); strings.Contains(text, "prompt again") {
		t.Errorf("repairedText of a turn that continues = %q", text)
	}
}
