package provider_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/provider/bedrock"
	"mend/internal/provider/chat"
	"mend/internal/provider/gemini"
	"mend/internal/provider/openai"
)

var providers = []provider.Provider{anthropic.Provider{}, openai.Provider{}, chat.Provider{}, gemini.Provider{}, bedrock.Provider{}}

// TestRulesAreDocumented: docs/providers.md lists the rules of every provider, in order.
func TestRulesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	var rules []provider.Rule
	for _, p := range providers {
		rules = append(rules, p.Rules()...)
	}
	for _, row := range regexp.MustCompile(`(?m)^\| ([ROCVGB]\d+) \| (.*?) \| `).FindAllStringSubmatch(string(doc), -1) {
		code, text := row[1], strings.ReplaceAll(row[2], "`", "")
		if len(rules) == 0 || rules[0].Code != code || rules[0].Text != text {
			t.Fatalf("%s, %q is documented, but the next rule is %+v", code, text, rules[:min(1, len(rules))])
		}
		rules = rules[1:]
	}
	for _, r := range rules {
		t.Errorf("%s is not documented", r.Code)
	}
}

// TestRulesAreComplete: every rule has all required fields, and no two rules are the same.
func TestRulesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range providers {
		for _, r := range p.Rules() {
			if seen[r.Code+r.Text] || r.Text == "" || len(r.Words) > 0 != (r.Kind != nil) || r.Find != nil && r.Error == "" {
				t.Errorf("%s: %+v is incomplete or a duplicate", p.Name(), r)
			}
			seen[r.Code+r.Text] = true
		}
	}
}
