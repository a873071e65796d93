package provider_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"mend/provider"
	"mend/provider/bedrock"
	"mend/provider/chat"
	"mend/provider/gemini"
	"mend/provider/openai"
)

// unchecked are the rules that only the provider can check, or that no request of the agent
// violates.
var unchecked = map[string]bool{"O8": true, "O10": true, "O14": true, "G8": true, "B9": true}

// docs/providers.md has the rules of every provider, in their order, with what each says.
func TestRulesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	var rules []provider.Rule
	for _, p := range []provider.Provider{openai.Provider{}, chat.Provider{}, gemini.Provider{}, bedrock.Provider{}} {
		rules = append(rules, p.Rules()...)
	}
	for _, row := range regexp.MustCompile(`(?m)^\| ([OCVGB]\d+) \| (.*?) \| .* \| (\S)`).FindAllStringSubmatch(string(doc), -1) {
		code, text := row[1], strings.ReplaceAll(row[2], "`", "")
		if unchecked[code] {
			continue
		}
		if len(rules) == 0 || rules[0].Code != code || rules[0].Text != text || rules[0].Confidence != row[3] {
			t.Fatalf("%s, %q, %s is documented, but is not the next of the rules: %+v", code, text, row[3], rules[:min(1, len(rules))])
		}
		rules = rules[1:]
	}
	for _, r := range rules {
		t.Errorf("%s is not documented", r.Code)
	}
}

// Every rule says where it is from, and codes are unique.
func TestRulesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range []provider.Provider{openai.Provider{}, chat.Provider{}, gemini.Provider{}, bedrock.Provider{}} {
		for _, r := range p.Rules() {
			if seen[r.Code] || r.Text == "" || r.Source == "" || r.Find == nil {
				t.Errorf("%s: %+v is incomplete, or there twice", p.Name(), r)
			}
			seen[r.Code] = true
		}
	}
}
