package render

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mend/agent/opencode/js"
	"mend/agent/opencode/record"
	"mend/internal/request"
)

// A Target is where OpenCode sends the requests of a model. It is comparable.
type Target struct {
	// Package is the npm package used for the model. "" stands for Anthropic's.
	Package string
	// ModelID is the API's id of the model; "" for the request's.
	ModelID string
	// Store means that the option store is set: OpenAI then keeps the items of a response, and the request refers to
	// them by id.
	Store bool
	// Instructions means that the system prompt is sent beside the items of the input.
	Instructions bool
	// Thinks means that the settings turn thinking on.
	Thinks bool
	// KeepsBound means that the settings prevent the agent from omitting bound thinking; see [request.Binding].
	KeepsBound bool
	// Field is the member for reasoning, if the model has its own member for it.
	Field string
	// Vendor is the vendor of an API that is compatible with another, such as "moonshot"; "" if unknown.
	Vendor string
}

// An API is a kind of API with its own form of requests.
type API uint8

// The kinds of APIs.
const (
	Anthropic  API = iota // Messages
	OpenAI                // Responses
	Chat                  // chat completions, in the form that most vendors copy
	OpenRouter            // chat completions of OpenRouter
	Copilot               // chat completions of GitHub Copilot
	Gemini
	Bedrock // Converse
)

// apiNames are the names of APIs, as users write them.
var apiNames = [...]string{"anthropic", "openai", "chat", "openrouter", "copilot", "gemini", "bedrock"}

// String returns the name of the API.
func (a API) String() string { return apiNames[a] }

// Paths returns the formats of the numbers of turns and blocks in the API's errors.
func (a API) Paths() (turn, block string) {
	switch a {
	case OpenAI:
		return "input[%d]", "content[%d]"
	case Chat, OpenRouter, Copilot:
		return "messages[%d]", "content[%d]"
	case Gemini:
		return "contents[%d]", "parts[%d]"
	default:
		return "messages.%d", "content.%d"
	}
}

// packages are the packages that do not use [Chat], with the members of a part's metadata that belong to each; the
// first member that exists counts.
var packages = map[string]struct {
	api  API
	keys []string
}{
	"":                                {Anthropic, nil},
	"@ai-sdk/anthropic":               {Anthropic, nil},
	"@ai-sdk/google-vertex/anthropic": {Anthropic, nil},
	"@ai-sdk/openai":                  {OpenAI, []string{"openai"}},
	"@ai-sdk/azure":                   {OpenAI, []string{"azure", "openai"}},
	"@ai-sdk/amazon-bedrock/mantle":   {OpenAI, []string{"openai"}},
	"@ai-sdk/github-copilot":          {Copilot, []string{"copilot"}},
	"@openrouter/ai-sdk-provider":     {OpenRouter, []string{"openrouter"}},
	"@ai-sdk/google":                  {Gemini, []string{"google", "vertex"}},
	"@ai-sdk/google-vertex":           {Gemini, []string{"vertex", "google"}},
	"@ai-sdk/amazon-bedrock":          {Bedrock, []string{"bedrock"}},
}

// API returns the API used for the model. A gateway passes a request on to the vendor of the model.
func (t Target) API(m request.Model) API {
	model := t.modelID(m)
	if p, ok := packages[t.Package]; ok {
		if p.api == Copilot && isNewGPT(model) {
			return OpenAI
		}
		return p.api
	}
	if t.Package == "@ai-sdk/gateway" && strings.HasPrefix(model, "anthropic/") {
		return Anthropic
	}
	return Chat
}

// IsKnown reports whether the rules of the model's API are known. Unknown packages are judged by the rules of [Chat].
func (t Target) IsKnown(m request.Model) bool {
	_, known := packages[t.Package]
	return known || t.Package == Compatible || t.API(m) != Chat
}

// modelID returns the API's id of the model.
func (t Target) modelID(m request.Model) string {
	if t.ModelID != "" {
		return t.ModelID
	}
	return m.ModelID
}

var gptVersion = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^gpt-(\d+)`) })

// isNewGPT reports whether Copilot uses Responses for the model.
func isNewGPT(model string) bool {
	m := gptVersion().FindStringSubmatch(model)
	if m == nil || strings.HasPrefix(model, "gpt-5-mini") {
		return false
	}
	n, err := strconv.Atoi(m[1])
	return err != nil || n >= 5
}

// Compatible is the package of a provider without a package in the settings.
const Compatible = "@ai-sdk/openai-compatible"

// wellKnownPackages are the packages of the providers in OpenCode's own list.
var wellKnownPackages = map[string]string{
	"anthropic":                "@ai-sdk/anthropic",
	"google-vertex-anthropic":  "@ai-sdk/google-vertex/anthropic",
	"openai":                   "@ai-sdk/openai",
	"azure":                    "@ai-sdk/azure",
	"azure-cognitive-services": "@ai-sdk/azure",
	"google":                   "@ai-sdk/google",
	"google-vertex":            "@ai-sdk/google-vertex",
	"amazon-bedrock":           "@ai-sdk/amazon-bedrock",
	"openrouter":               "@openrouter/ai-sdk-provider",
	"github-copilot":           "@ai-sdk/github-copilot",
	"vercel":                   "@ai-sdk/gateway",
	"xai":                      "@ai-sdk/xai",
	"mistral":                  "@ai-sdk/mistral",
	"groq":                     "@ai-sdk/groq",
}

// WellKnown returns the target of a model with a provider that is neither in the settings nor in the list. OpenCode's
// own service uses the API of each vendor. A provider with a custom name that serves Claude counts as Anthropic's.
func WellKnown(m request.Model) Target {
	if npm, ok := wellKnownPackages[m.ProviderID]; ok {
		return Target{Package: npm}
	}
	zen := m.ProviderID == "opencode"
	switch {
	case m == (request.Model{}), strings.Contains(m.ProviderID, "anthropic"), strings.Contains(m.ModelID, "claude"):
		return Target{Package: "@ai-sdk/anthropic"}
	case zen && strings.HasPrefix(m.ModelID, "gpt-"):
		return Target{Package: "@ai-sdk/openai"}
	case zen && strings.HasPrefix(m.ModelID, "gemini-"):
		return Target{Package: "@ai-sdk/google"}
	}
	return Target{Package: Compatible}
}

// ownMetadata returns the metadata that the request's provider stored with a part; none if another model wrote the
// part.
func (a *assistantDraft) ownMetadata(p *record.Part) js.Value {
	if a.foreign {
		return js.Value{}
	}
	meta, keys := p.JSON.Get("metadata"), packages[a.target.Package].keys
	if len(keys) > 0 && keys[0] != a.Model.ProviderID {
		if v := meta.Get(a.Model.ProviderID); v.Exists() {
			return v
		}
	}
	for _, key := range keys {
		if v := meta.Get(key); !v.Nullish() {
			return v
		}
	}
	return js.Value{}
}

// readsFilesInResults reports whether files of that type are sent in the result of a tool. Others follow in a prompt.
func (r *builder) readsFilesInResults(mime string) bool {
	model := strings.ToLower(r.target.modelID(r.Model))
	switch r.api {
	case Anthropic, OpenAI:
		return true
	case Bedrock:
		return isImage(mime) && (strings.Contains(model, "anthropic.") || strings.Contains(model, "nova") ||
			strings.Contains(model, "llama4") || strings.Contains(model, "llama-4"))
	case Gemini:
		return r.target.Package == "@ai-sdk/google" && strings.Contains(model, "gemini-3") &&
			!strings.Contains(model, "gemini-2")
	default:
		return r.target.Package == "@ai-sdk/xai" && isImage(mime)
	}
}

// dropsSince is the first version that, as observed, asks the provider to leave out bound thinking that is no longer
// valid ("drop_block").
var dropsSince = []int{1, 18, 33}

// binding returns what happens to thinking after a change of the conversation before it. OpenCode asks the provider to
// leave that thinking out if it uses Claude through certain packages, except for one model.
func (r *builder) binding() request.Binding {
	model := r.target.modelID(r.Model)
	if !request.BindsThinking(model) {
		return request.Unbound
	}
	version, known := parseVersion(r.Version)
	native := slices.Contains([]string{
		"", "@ai-sdk/anthropic", "@ai-sdk/google-vertex/anthropic",
		"@ai-sdk/amazon-bedrock",
	}, r.target.Package)
	if !native || r.target.KeepsBound || r.Profile.IsKilo() || known && slices.Compare(version, dropsSince) < 0 ||
		strings.Contains(model, "mythos-5-1") {
		return request.Refused
	}
	return request.Dropped
}
