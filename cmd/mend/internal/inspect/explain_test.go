package inspect

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/diagnose"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/internal/provider/anthropic"
	"mend/internal/term"
)

func newTestApp() *frame.Env {
	a := &frame.Env{Terminal: &term.Terminal{}}
	a.Opt.Agents = agents.All
	return a
}

// TestExplainAll: every code that output can contain is explained, in full sentences.
func TestExplainAll(t *testing.T) {
	topics := allTopics(newTestApp())
	codes := []string{"broken", "latent", "lost", "note"}
	for _, r := range (anthropic.Provider{}).Rules() {
		codes = append(codes, r.Code)
	}
	for _, e := range diagnose.Explanations() {
		codes = append(codes, e.Code)
	}
	for _, c := range newTestApp().Opt.Agents.Classes() {
		codes = append(codes, string(c))
	}
	for _, code := range codes {
		if len(findTopics(topics, code)) == 0 {
			t.Errorf("%q is not explained", code)
		}
	}
	for _, topic := range topics {
		if topic.Meaning == "" || !strings.HasSuffix(topic.Meaning, ".") {
			t.Errorf("%s: the meaning %q is not a sentence", topic.Code, topic.Meaning)
		}
		if slices.Contains([]string{kindRule, kindClass, kindFinding}, topic.Kind) && topic.Fix == "" {
			t.Errorf("%s: the explanation has no fix", topic.Code)
		}
		if topic.Provider == "anthropic" && topic.Words == "" {
			t.Errorf("%s: the explanation has no error text", topic.Code)
		}
	}
}

// TestExplainDocs: every code that the pages name is explained.
func TestExplainDocs(t *testing.T) {
	topics := allTopics(newTestApp())
	for _, page := range []string{"docs/providers.md", "testdata/found.md"} {
		text, err := os.ReadFile("../../../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range regexp.MustCompile(`\bR\d+\b`).FindAllString(string(text), -1) {
			if len(findTopics(topics, code)) == 0 {
				t.Errorf("%s: %s is not explained", page, code)
			}
		}
	}
}
