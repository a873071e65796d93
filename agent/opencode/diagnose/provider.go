package diagnose

import (
	"mend/agent/opencode/render"
	"mend/provider"
	"mend/provider/anthropic"
	"mend/provider/bedrock"
	"mend/provider/chat"
	"mend/provider/gemini"
	"mend/provider/openai"
	"mend/repair"
	"mend/request"
)

// A session is checked by the rules of the provider of its next request. A fix must not break a
// rule of any other provider, because the user may switch to it.

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

// AllProviders is the option to check a session by the rules of all providers.
const AllProviders = "all"

// otherTargets are the providers to which a session may be switched, with a model of each. Its own
// model wrote the session, so nothing of what another provider signed is sent.
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

// otherSettings returns the settings in which the session is switched to another provider
// than the one of that kind.
func otherSettings(use setting, api render.API) (all []setting) {
	for _, o := range otherTargets {
		if o.api != api {
			all = append(all, setting{profile: use.profile, thinking: true, other: o.api.String()})
		}
	}
	return all
}

// otherModel returns the model to which the session is switched.
func (s setting) otherModel() request.Model {
	for _, o := range otherTargets {
		if o.api.String() == s.other {
			return request.Model{ProviderID: "another provider", ModelID: o.model}
		}
	}
	return request.Model{}
}

// otherTarget returns the target of requests to that model.
func (s setting) otherTarget(request.Model) render.Target {
	for _, o := range otherTargets {
		if o.api.String() == s.other {
			return o.target
		}
	}
	return render.Target{}
}

// comparesOthers reports whether requests to other providers are built, to compare them before
// and after a fix.
func (c *simulation) comparesOthers(v *repair.Findings) bool {
	return c.isDraft || len(v.All()) > 0 || c.request.Provider == AllProviders
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
