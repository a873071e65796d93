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

// TestExplainAll checks that everything that output can contain as a code is explained, in full sentences.
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
			t.Errorf("%s: the explanation does not say what mend does about it", topic.Code)
		}
		if topic.Provider == "anthropic" && topic.Words == "" {
			t.Errorf("%s: the explanation does not have the error text", topic.Code)
		}
	}
}

// Markdown pages also name rules by their codes.
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
