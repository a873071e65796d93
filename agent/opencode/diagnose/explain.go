package diagnose

import (
	"slices"
	"strings"

	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/provider/bedrock"
	"mend/internal/provider/chat"
	"mend/internal/provider/gemini"
	"mend/internal/provider/openai"
	"mend/repair"
)

// providers are the providers with known rules, by name.
var providers = []provider.Provider{
	anthropic.Provider{},
	bedrock.Provider{},
	chat.Provider{},
	gemini.Provider{},
	openai.Provider{},
}

// ExplainClass explains a class. An unknown class has only a code.
func ExplainClass(c repair.Class) repair.Explanation { return rules().ExplainClass(c) }

// Explanations explains all rules: the providers' rules, then the rules on records.
func Explanations() []repair.Explanation {
	var all []repair.Explanation
	add := func(e repair.Explanation) {
		if !slices.ContainsFunc(all, func(o repair.Explanation) bool { return o.Code == e.Code }) {
			all = append(all, rules().Explain(e))
		}
	}
	for _, p := range providers {
		for _, r := range p.Rules() {
			e := repair.Explanation{Code: r.Code, Provider: p.Name(), Meaning: sentence(r.Text), Words: r.Error}
			if r.Kind != nil {
				e.Class = r.Kind.Class
			}
			add(e)
		}
	}
	for _, code := range rules().Codes() {
		add(repair.Explanation{Code: code})
	}
	return all
}

// sentence returns the text of a rule as a sentence, unless it begins with a name.
func sentence(text string) string {
	if !strings.HasPrefix(text, "tool_use") {
		text = strings.ToUpper(text[:1]) + text[1:]
	}
	return text + "."
}
