package opencode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mend/agent/opencode/render"
	"mend/internal/provider/chat"
	"mend/internal/request"
)

// TestTarget: the settings that OpenCode reads determine the API that receives the requests of a model.
func TestTarget(t *testing.T) {
	const list = `{
		"openai": {"npm": "@ai-sdk/openai", "models": {"gpt-5": {}}},
		"zen": {"npm": "@ai-sdk/openai-compatible", "api": "https://zen.example/v1", "models": {"claude": {"provider": {"npm": "@ai-sdk/anthropic"}}, "glm": {"interleaved": {"field": "reasoning_content"}}, "kimi": {"interleaved": true}}},
		"qwen-plan": {"npm": "@ai-sdk/openai-compatible", "api": "https://coding-intl.dashscope.aliyuncs.com/v1", "models": {"q": {}}},
		"bare": {"models": {"m": {}}},
		"github-copilot": {"npm": "@ai-sdk/github-copilot", "models": {"gpt-4o": {}, "gpt-5.1": {}}}
	}`
	compat := render.Compatible
	for _, c := range []struct {
		name   string
		files  map[string]string // below the home; models.json is the list
		dir    string            // folder of the session, below the home
		model  string            // "provider/model"
		want   render.Target
		api    render.API
		chosen string // --provider
	}{
		{name: "no model", model: "/", want: render.Target{Package: "@ai-sdk/anthropic"}},
		{name: "well known", model: "amazon-bedrock/x", want: render.Target{Package: "@ai-sdk/amazon-bedrock"}, api: render.Bedrock},
		{name: "unknown", model: "my-gateway/x", want: render.Target{Package: compat}, api: render.Chat},
		{name: "unknown, serving Claude", model: "my-gateway/claude-4", want: render.Target{Package: "@ai-sdk/anthropic"}},
		{name: "a strict vendor", model: "deepseek/x", want: render.Target{Package: compat, Vendor: chat.DeepSeek}, api: render.Chat},
		{name: "listed", files: map[string]string{"models.json": list}, model: "openai/gpt-5", want: render.Target{Package: "@ai-sdk/openai"}, api: render.OpenAI},
		{name: "listed with a package of the model", files: map[string]string{"models.json": list}, model: "zen/claude", want: render.Target{Package: "@ai-sdk/anthropic"}},
		{name: "listed with a field", files: map[string]string{"models.json": list}, model: "zen/glm", want: render.Target{Package: compat, Field: "reasoning_content"}, api: render.Chat},
		{name: "interleaved without a field", files: map[string]string{"models.json": list}, model: "zen/kimi", want: render.Target{Package: compat}, api: render.Chat},
		{name: "listed at a strict vendor", files: map[string]string{"models.json": list}, model: "qwen-plan/q", want: render.Target{Package: compat, Vendor: chat.Qwen}, api: render.Chat},
		{name: "listed without a package", files: map[string]string{"models.json": list}, model: "bare/m", want: render.Target{Package: compat}, api: render.Chat},
		{name: "Copilot's chat", files: map[string]string{"models.json": list}, model: "github-copilot/gpt-4o", want: render.Target{Package: "@ai-sdk/github-copilot"}, api: render.Copilot},
		{name: "Copilot's responses", files: map[string]string{"models.json": list}, model: "github-copilot/gpt-5.1", want: render.Target{Package: "@ai-sdk/github-copilot"}, api: render.OpenAI},
		{
			name:  "the user's settings",
			files: map[string]string{".config/opencode/opencode.json": `{"provider": {"mine": {"npm": "@ai-sdk/google", "models": {"g": {"id": "gemini-3-pro"}}}}}`},
			model: "mine/g", want: render.Target{Package: "@ai-sdk/google", ModelID: "gemini-3-pro"}, api: render.Gemini,
		},
		{
			name: "settings with comments over others, and an option",
			files: map[string]string{
				".config/opencode/config.json":    `{"provider": {"openai": {"models": {"gpt-5": {"options": {"store": false}}}}}}`,
				".config/opencode/opencode.jsonc": "{\"provider\": {\"openai\": {\"models\": {\"gpt-5\": {\"options\": {\"store\": true,},}}}}} // mine",
				"models.json":                     list,
			},
			model: "openai/gpt-5", want: render.Target{Package: "@ai-sdk/openai", Store: true}, api: render.OpenAI,
		},
		{
			name: "settings of the project over the user's",
			files: map[string]string{
				".config/opencode/opencode.json": `{"provider": {"mine": {"npm": "@ai-sdk/google", "models": {"g": {}}}}}`,
				"work/opencode.json":             `{"provider": {"mine": {"npm": "@ai-sdk/openai"}}}`,
				"work/.git/HEAD":                 "",
				"opencode.json":                  `{"provider": {"mine": {"npm": "@ai-sdk/azure"}}}`, // above the worktree
			},
			dir: "work/deep/down", model: "mine/g", want: render.Target{Package: "@ai-sdk/openai"}, api: render.OpenAI,
		},
		{
			name: "the hidden folder of the project over its settings",
			files: map[string]string{
				"work/opencode.json":            `{"provider": {"mine": {"npm": "@ai-sdk/google", "models": {"g": {}}}}}`,
				"work/.opencode/opencode.jsonc": `{"provider": {"mine": {"npm": "@openrouter/ai-sdk-provider"}}}`,
			},
			dir: "work", model: "mine/g", want: render.Target{Package: "@openrouter/ai-sdk-provider"}, api: render.OpenRouter,
		},
		{
			name:  "a provider without a package",
			files: map[string]string{".config/opencode/opencode.json": `{"provider": {"mine": {"options": {"baseURL": "https://api.moonshot.cn/v1"}, "models": {"claude": {}}}}}`, "models.json": list},
			model: "mine/claude", want: render.Target{Package: compat, Vendor: chat.Moonshot}, api: render.Chat,
		},
		{name: "chosen", chosen: "bedrock", model: "anthropic/claude", want: render.Target{Package: "@ai-sdk/amazon-bedrock"}, api: render.Bedrock},
		{name: "chosen, the same API", chosen: "openai", files: map[string]string{"models.json": list}, model: "github-copilot/gpt-5.1", want: render.Target{Package: "@ai-sdk/github-copilot"}, api: render.OpenAI},
		{
			name: "the administrator's settings",
			files: map[string]string{
				"work/opencode.json":     `{"provider": {"openai": {"models": {"gpt-5": {"options": {"store": false}}}}}}`,
				"managed/opencode.jsonc": `{"provider": {"openai": {"models": {"gpt-5": {"options": {"store": true}}}}}}`,
			},
			dir: "work", model: "openai/gpt-5", want: render.Target{Package: "@ai-sdk/openai", Store: true}, api: render.OpenAI,
		},
		{
			name:  "the login of ChatGPT",
			files: map[string]string{".local/share/opencode/auth.json": `{"openai": {"type": "oauth", "refresh": "secret"}}`},
			model: "openai/gpt-5", want: render.Target{Package: "@ai-sdk/openai", Instructions: true}, api: render.OpenAI,
		},
		{
			name:  "a key of OpenAI, and a login elsewhere",
			files: map[string]string{".local/share/opencode/auth.json": `{"openai": {"type": "api", "key": "secret"}, "anthropic": {"type": "oauth"}}`},
			model: "openai/gpt-5", want: render.Target{Package: "@ai-sdk/openai"}, api: render.OpenAI,
		},
		{name: "a damaged list", files: map[string]string{"models.json": list[:60]}, model: "openai/gpt-5", want: render.Target{Package: "@ai-sdk/openai"}, api: render.OpenAI},
		{name: "settings of another type", files: map[string]string{".config/opencode/opencode.json": `{"provider": {"openai": {"npm": 7}}}`}, model: "openai/gpt-5", want: render.Target{Package: "@ai-sdk/openai"}, api: render.OpenAI},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			for _, name := range []string{"OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
				t.Setenv(name, "")
			}
			t.Setenv("HOME", home)
			t.Setenv("OPENCODE_TEST_MANAGED_CONFIG_DIR", filepath.Join(home, "managed"))
			for name, text := range c.files {
				if name == "models.json" {
					name = ".cache/opencode/models.json"
				}
				path := filepath.Join(home, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			dir := filepath.Join(home, filepath.FromSlash(c.dir))
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			providerID, modelID, _ := strings.Cut(c.model, "/")
			m := request.Model{ProviderID: providerID, ModelID: modelID}
			got := newModels(&openCode).directoryModels(dir).targetAs(c.chosen)(m)
			if got != c.want || got.API(m) != c.api {
				t.Errorf("target = %+v, %v, want %+v, %v", got, got.API(m), c.want, c.api)
			}
		})
	}
}

// TestSettingsInVariables: settings in environment variables, and a change of a project's settings, are used.
func TestSettingsInVariables(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_CACHE_HOME", "")
	file, dir := filepath.Join(home, "extra.json"), filepath.Join(home, "dir")
	write := func(path, npm string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(`{"provider": {"mine": {"npm": "`+npm+`", "models": {"m": {}}}}}`), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m := request.Model{ProviderID: "mine", ModelID: "m"}
	want := func(api render.API) {
		t.Helper()
		if got := newModels(&openCode).directoryModels(home).target(m).API(m); got != api {
			t.Errorf("API = %v, want %v", got, api)
		}
	}
	write(file, "@ai-sdk/google")
	t.Setenv("OPENCODE_CONFIG", file)
	want(render.Gemini)
	write(filepath.Join(dir, "opencode.json"), "@ai-sdk/openai")
	t.Setenv("OPENCODE_CONFIG_DIR", dir)
	want(render.OpenAI)
	t.Setenv("OPENCODE_CONFIG_CONTENT", `{"provider": {"mine": {"npm": "@ai-sdk/amazon-bedrock"}}}`)
	want(render.Bedrock)

	t.Setenv("OPENCODE_CONFIG_DIR", "")
	t.Setenv("OPENCODE_CONFIG_CONTENT", "")
	project := filepath.Join(home, "project")
	k := newModels(&openCode)
	k.reset()
	before := k.directoryModels(project).state
	write(filepath.Join(project, "opencode.json"), "@ai-sdk/azure")
	k.reset()
	if k.directoryModels(project).state == before {
		t.Error("a change of a project's settings does not change the state of its directory")
	}
}
