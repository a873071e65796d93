package diagnose

import (
	"mend/agent/opencode/render"
	"mend/provider"
	"mend/provider/anthropic"
	"mend/provider/bedrock"
	"mend/provider/chat"
	"mend/provider/gemini"
	"mend/provider/openai"
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

// otherTargets are providers in whose words an error may be, with a model of each.
var otherTargets = []struct {
	api    render.API
	target render.Target
	model  string
}{
	{render.Anthropic, render.Target{}, "claude"},
	{render.OpenAI, render.Target{Package: "@ai-sdk/openai"}, "gpt"},
	{render.Chat, render.Target{Package: render.Compatible}, "model"},
	{render.Copilot, render.Target{Package: "@ai-sdk/github-copilot"}, "gpt"},
	{render.Gemini, render.Target{Package: "@ai-sdk/google"}, "gemini-3"},
	{render.Bedrock, render.Target{Package: "@ai-sdk/amazon-bedrock"}, "anthropic.claude"},
}

// vendorsOf returns the vendors that alone enforce the rule, nil for no vendor in particular.
func vendorsOf(p provider.Provider, code string) []string {
	for _, r := range p.Rules() {
		if r.Code == code {
			return r.Vendors
		}
	}
	return nil
}

// api returns the kind of API that the next request goes to.
func (c *simulation) api() render.API { return c.render(c.settings[own]).API }
