package opencode

import (
	"slices"

	"mend/agent"
	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/provider/chat"
	"mend/internal/request"
)

// The names by which a user chooses a provider: those of the APIs, and those of the vendors
// behind chat completions that are stricter than others.
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

// nextAgent returns the name of the agent that the next prompt most likely has: that of the
// newest prompt.
func nextAgent(s *record.Session) string {
	for i := range slices.Backward(s.Messages) {
		if m := &s.Messages[i]; m.Role == change.RoleUser {
			if name := m.JSON.TextAt("agent"); name != "" {
				return name
			}
		}
	}
	return "build"
}

// targetAs returns where requests of an agent go if the user chose a provider, "" for none.
func (k *knownModels) targetAs(name, agent string) func(request.Model) render.Target {
	for _, c := range chosenTargets {
		if c.name == name {
			return func(m request.Model) render.Target {
				t := k.target(m, agent)
				if t.API(m).String() == name {
					return t
				}
				return c.target
			}
		}
	}
	return func(m request.Model) render.Target { return k.target(m, agent) }
}

// targetName returns the name of a provider: its API, or the vendor behind one that others
// copy.
func targetName(m request.Model, t render.Target) string {
	api := t.API(m)
	if api == render.Chat && t.Vendor != "" {
		return t.Vendor
	}
	return api.String()
}

// placeOf returns how the provider's errors number turns and blocks.
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
