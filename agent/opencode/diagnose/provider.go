package diagnose

import (
	"sync"

	"mend/agent/opencode/render"
	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/provider/bedrock"
	"mend/internal/provider/chat"
	"mend/internal/provider/gemini"
	"mend/internal/provider/openai"
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
