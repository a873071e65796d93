package live

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"mend/repair"
)

// TestToastLength: a toast is short enough to be read while it is shown.
func TestToastLength(t *testing.T) {
	texts := []string{
		repairedText("qevajo", true, false), repairedText("qevajo", false, true), alreadyRepairedText("qevajo"),
		endedText(3, "qevajo"), sendAgainText("qevajo"), preflightText("qevajo"), limitText(3), failedText(errors.New("locked")),
		failedText(errors.New("planning for ses_1: the agent is using this session, and a great deal more that nobody has time to read")),
		trimmedText(12, "qevajo"), nothingTrimmedText,
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

// TestToastNextStep: the toast of a repair names the user's next step and the way to undo the repair.
func TestToastNextStep(t *testing.T) {
	for _, text := range []string{
		repairedText("qevajo", false, false), repairedText("qevajo", true, false), alreadyRepairedText("qevajo"), endedText(3, "qevajo"),
		sendAgainText("qevajo"), trimmedText(12, "qevajo"),
	} {
		if !strings.Contains(text, "Send your prompt again.") && !strings.Contains(text, "Send a prompt to continue.") || !strings.Contains(text, "mend undo qevajo") {
			t.Errorf("the toast %q does not name the next step and the undo", text)
		}
	}
	if text := repairedText("qevajo", false, true); strings.Contains(text, "prompt again") {
		t.Errorf("repairedText of a turn that continues = %q", text)
	}
}

// TestToastTime: the toast of a result is shown as long as the setting says.
func TestToastTime(t *testing.T) {
	for set, want := range map[time.Duration]int{time.Second: 1_000, time.Minute: 60_000} {
		f, info := failedSession(emptyText)
		f.hook(Options{ToastTime: set}).recover(t.Context(), info)
		var got []int
		for _, toast := range f.toasts {
			got = append(got, toast.Duration)
		}
		if !slices.Equal(got, []int{announceTime, want}) {
			t.Errorf("ToastTime %v: toasts of %v ms, want %d for the result", set, got, want)
		}
	}
}
