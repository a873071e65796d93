package diagnose

import (
	_ "embed"
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
	"mend/internal/request"
	"mend/repair"
)

// withSettings returns the simulation in the settings of an error, or in the session's own settings if e is nil. An
// error about an open tool loop (R3, R4) shows whether the model was asked to think; the request's setting overrides it.
func (c *simulation) withSettings(e *repair.APIError) *simulation {
	n := *c
	if e != nil || c.asked != nil {
		n = *c.withSession(c.s)
		n.env.Target = c.ownTarget
	}
	n.asked = e
	n.settings = n.settingsFor(n.s)
	if e == nil {
		return &n
	}
	if target, other := n.targetOf(*e); other {
		n.env.Target = func(request.Model) render.Target { return target }
		n.cache = cache{}
		n.settings = n.settingsFor(n.s)
		return &n
	}
	use := n.settings[own]
	use.thinking = e.Rule == "R3"
	if at := slices.Index(n.settings, use); at > own && (e.Rule == "R3" || e.Rule == "R4") && c.request.Thinking == nil {
		n.settings[own], n.settings[at] = n.settings[at], n.settings[own]
	}
	return &n
}

// targetOf returns the target of the provider that the error comes from, and whether it differs from the session's
// apparent target. It may differ because a gateway passed the error on, or because the settings are unknown.
func (c *simulation) targetOf(e repair.APIError) (render.Target, bool) {
	api := c.api()
	turn, _ := api.Paths()
	path, _, _ := strings.Cut(turn, "%")
	switch {
	case e.API == "", e.API == api.String(), e.API == render.Chat.String() && isChat(api):
		return render.Target{}, false
	case e.API == render.Anthropic.String() && api == render.Bedrock: // errors of both have the same texts
		return render.Target{}, false
	case strings.Contains(e.Text, path):
		return render.Target{}, false
	}
	for _, o := range Targets {
		if o.Name == e.API {
			return o.Target, true
		}
	}
	return render.Target{}, false
}

func isChat(a render.API) bool {
	return a == render.Chat || a == render.OpenRouter || a == render.Copilot
}

// ParseAPIError parses an error of a model API or of OpenCode itself: JSON as it is stored or reported, or plain text.
func ParseAPIError(input []byte) repair.APIError { return errorParser().Parse(input) }

// errorParser is made on first use: most runs of the program parse no error.
var errorParser = sync.OnceValue(func() *provider.ErrorParser {
	return provider.NewErrorParser(allErrorTexts()...)
})

// allErrorTexts returns the errors of the APIs, and OpenCode's own. Its ranks are relative to theirs.
func allErrorTexts() []provider.ErrorTexts {
	own := provider.ErrorTexts{
		Kinds: provider.ParseKinds(errorText), Tool: `(?:unavailable tool|no such tool)[:\s'"]+([^'".\s]+)`,
	}
	return []provider.ErrorTexts{
		anthropic.ErrorTexts(), openai.ErrorTexts(), chat.ErrorTexts(), gemini.ErrorTexts(), bedrock.ErrorTexts(), own,
	}
}

//go:embed errors.txt
var errorText string
