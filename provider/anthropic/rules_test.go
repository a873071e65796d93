package anthropic_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"mend/provider/anthropic"
)

// docs/providers.md lists the rules, and R7 and R8, which only the provider can check.
func TestRulesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := anthropic.Provider{}.Rules()
	for _, row := range regexp.MustCompile(`(?m)^\| (R\d+) \| (.*?) \| `).FindAllStringSubmatch(string(doc), -1) {
		code, text := row[1], strings.ReplaceAll(row[2], "`", "")
		if code == "R7" || code == "R8" {
			continue
		}
		if len(rules) == 0 || rules[0].Code != code || rules[0].Text != text {
			t.Fatalf("%s, %q is documented, but is not the next of Rules", code, text)
		}
		rules = rules[1:]
	}
	for _, r := range rules {
		t.Errorf("%s is not documented", r.Code)
	}
}
