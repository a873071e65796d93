package repairs

import (
	"os"
	"strings"
	"testing"

	"mend/cmd/mend/internal/agents"
	"mend/internal/culprit"
)

// TestProseMatchesWay: a user's own words about a lost conversation lead to the matching way.
func TestProseMatchesWay(t *testing.T) {
	for want, texts := range map[string][]string{
		"not_listed": {
			"I renamed my project folder and all my sessions are gone",
			"all my sessions disappeared after the update to 1.18",
			"gone after update",
			"my entire chat history disappeared",
			"Sessions not shown in the resume picker",
			"I can't find my conversation from yesterday",
			"where are my chats?",
			"I moved the repository to another disk, and opencode lists nothing",
		},
		"forgotten": {
			"resumed and only the last message is shown",
			"lost the history",
			"Claude forgot everything that we did before lunch",
			"The session is empty and I do not know why. Yesterday it had my whole conversation.",
		},
		"deleted": {
			"deleted all transcripts older than 30 days",
			"I deleted the wrong session by accident",
			"Claude Code wiped my conversations",
		},
		"damaged": {
			"after the power cut the database is corrupted",
			"my opencode db is malformed",
		},
		"each_prompt": {
			"there is an error at each prompt",
			"it fails on every single message",
		},
		"": {
			"out of cheese",
			"please make the parser faster",
		},
	} {
		for _, text := range texts {
			if got := wayNamed(text); got != want {
				t.Errorf("%q is %q, want %q", text, got, want)
			}
		}
	}
}

// TestErrorsMatchNoWay: errors of agents and of other programs match no way, except one line about a lost conversation.
func TestErrorsMatchNoWay(t *testing.T) {
	about := map[string]string{"The session is empty and I do not know why. Yesterday it had my whole conversation.": "forgotten"}
	for _, file := range []string{"no-errors.txt", "errors.tsv"} {
		all, err := os.ReadFile("../../../../testdata/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(all)) {
			text := strings.TrimSpace(line)
			if cells := strings.SplitN(text, "\t", 3); len(cells) == 3 {
				text = cells[2]
			}
			if got := wayNamed(text); got != about[text] {
				t.Errorf("%q is %q, want %q", text, got, about[text])
			}
		}
	}
}

func wayNamed(text string) string {
	if w := findWay(culprit.Readings(agents.All, []byte(text))); w != nil {
		return w.Name
	}
	return ""
}
