package opencode

import (
	"mend/agent"
	"mend/agent/opencode/render"
	"mend/internal/provider/chat"
	"mend/internal/request"
)

// chosenTargets are the providers that a user can choose: the APIs, and the stricter vendors of the chat completions
// API.
var chosenTargets = []struct {
	name   string
	target render.Target
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

// Providers implements [agent.Agent].
func (Agent) Providers() (names []string) {
	for _, c := range chosenTargets {
		names = append(names, c.name)
	}
	return names
}

// targetAs returns where requests go if the user chose a provider; name is "" for none.
func (k *knownModels) targetAs(name string) func(request.Model) render.Target {
	for _, c := range chosenTargets {
		if c.name == name {
			return func(m request.Model) render.Target {
				t := k.target(m)
				if t.API(m).String() == name {
					return t
				}
				return c.target
			}
		}
	}
	return k.target
}

// targetName returns the name of a provider: its API, or the vendor if several vendors share the
// API.
func targetName(m request.Model, t render.Target) string {
	api := t.API(m)
	if api == render.Chat && t.Vendor != "" {
		return t.Vendor
	}
	return api.String()
}

// placeOf returns the formats with which the provider's errors number turns and blocks.
func placeOf(a render.API) agent.Place {
	switch a {
	case render.OpenAI:
		return agent.Place{Turn: "input[%d]", Block: "content[%d]"}
	case render.Chat, render.OpenRouter, render.Copilot:
		return agent.Place{Turn: "messages[%d]", Block: "content[%d]"}
	case render.Gemini:
		return agent.Place{Turn: "contents[%d]", Block: "parts[%d]"}
	default:
		return agent.Place{Turn: "messages.%d", Block: "content.%d"}
	}
}
