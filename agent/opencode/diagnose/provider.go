package diagnose

import (
	"slices"
	"strings"
	"sync"

	"mend/agent/opencode/render"
	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/provider/bedrock"
	"mend/internal/provider/chat"
	"mend/internal/provider/gemini"
	"mend/internal/provider/openai"
	"mend/repair"
)

// ProviderOf returns the provider that receives a request.
func ProviderOf(r render.Request) provider.Provider {
	switch r.API {
	case render.OpenAI:
		return openai.Provider{}
	case render.Chat:
		return chat.Provider{Field: r.Target.Field != ""}
	case render.OpenRouter:
		return chat.Provider{Flavor: chat.OpenRouter}
	case render.Copilot:
		return chat.Provider{Flavor: chat.Copilot}
	case render.Gemini:
		return gemini.Provider{}
	case render.Bedrock:
		return bedrock.Provider{}
	default:
		return anthropic.Provider{}
	}
}

// Targets are the providers that a user can choose, and that an error may come from: the APIs, and the stricter vendors
// of the chat completions API.
var Targets = []struct {
	Name   string
	Target render.Target
}{
	{"anthropic", render.Target{}},
	{"openai", render.Target{Package: "@ai-sdk/openai"}},
	{"chat", render.Target{Package: render.Compatible}},
	{"openrouter", render.Target{Package: "@openrouter/ai-sdk-provider"}},
	{"copilot", render.Target{Package: "@ai-sdk/github-copilot"}},
	{"gemini", render.Target{Package: "@ai-sdk/google"}},
	{"bedrock", render.Target{Package: "@ai-sdk/amazon-bedrock"}},
	{chat.Moonshot, render.Target{Package: render.Compatible, Vendor: chat.Moonshot, Field: "reasoning_content"}},
	{chat.DeepSeek, render.Target{Package: render.Compatible, Vendor: chat.DeepSeek, Field: "reasoning_content"}},
	{chat.Qwen, render.Target{Package: render.Compatible, Vendor: chat.Qwen}},
}

// rulesOfProviders are the rules of all providers, by code.
var rulesOfProviders = sync.OnceValue(func() map[string]provider.Rule {
	all := map[string]provider.Rule{}
	for _, p := range providers {
		for _, r := range p.Rules() {
			all[r.Code] = r
		}
	}
	return all
})

func isRule(code string) bool { return rulesOfProviders()[code].Code != "" }

// vendorsOf returns the vendors that enforce the rule, nil if it does not depend on the vendor.
func vendorsOf(code string) []string { return rulesOfProviders()[code].Vendors }

// api returns the kind of API that the next request goes to.
func (c *simulation) api() render.API { return c.render(c.settings[own]).API }

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
