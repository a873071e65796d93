package render_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"mend/agent/opencode/diagnose"
	"mend/agent/opencode/render"
	"mend/internal/provider"
	"mend/internal/request"
	"mend/internal/test/encode"
	"mend/internal/test/endpoint"
	"mend/internal/test/storetest"
)

// onlyProviderKnows are the rules that only the provider can check, because it knows what it issued.
var onlyProviderKnows = []string{"O3", "O8", "O10", "G8", "B9"}

// endpointTargets are the settings of package endpoint, with providers and models. Targets of the same setting differ
// in the form of the request.
var endpointTargets = []struct{ setting, provider, model string }{
	{"openai", "openai", "gpt-5-fake"},
	{"openai", "openai", "gpt-5-store"},
	{"openai", "my-copilot", "gpt-5-fake"},
	{"chat", "local", "fake-model"},
	{"kimi", "moonshotai", "kimi-k3-fake"},
	{"openrouter", "openrouter", "fake/model"},
	{"copilot", "my-copilot", "gpt-4-fake"},
	{"gemini", "google", "gemini-3-pro-fake"},
	{"gemini", "google", "gemini-2.5-pro-fake"},
	{"bedrock", "amazon-bedrock", "anthropic.claude-fake"},
}

// TestDamagedProviders: for a damaged session the rules of every provider agree with its strict endpoint.
func TestDamagedProviders(t *testing.T) {
	storetest.SampleChecks(t, "20")
	rapid.Check(t, damagedProviders)
}

func damagedProviders(t *rapid.T) {
	s := drawSession(t)
	for range rapid.IntRange(1, 4).Draw(t, "rounds") {
		s = s.Clone()
		damageSession(t, s)
		for _, target := range endpointTargets {
			q := render.Render(s, render.Settings{
				Profile: render.ProfileFor("1.18.33"), Target: targetOf, Model: request.Model{ProviderID: target.provider, ModelID: target.model},
			})
			compareWithEndpoints(t, target.setting, target.model, q)
		}
	}
}

// compareWithEndpoints fails the test if the strict endpoint of the setting and the rules of the provider find
// different violations in the request.
func compareWithEndpoints(t interface{ Errorf(string, ...any) }, setting, model string, q render.Request) {
	p := diagnose.ProviderOf(q)
	body := encode.JSON(p, q.Request)
	want, err := endpoint.Refused(setting, model, body, endpoint.Known{})
	if err != nil {
		t.Errorf("%s: %v: %s", setting, err, body)
		return
	}
	linked := false
	provider.EachImage(q.Turns, func(_, _ int, b *request.Block) { linked = linked || b.URL != "" })
	var got []string
	for _, v := range provider.Check(p, q.Request, true) {
		got = append(got, v.Rule)
	}
	for _, rules := range []*[]string{&got, &want} {
		*rules = slices.DeleteFunc(*rules, func(code string) bool { return slices.Contains(onlyProviderKnows, code) })
		if linked && setting == "bedrock" { // OpenCode downloads it, and mend does not know the content
			*rules = slices.DeleteFunc(*rules, func(code string) bool { return code == "B10" })
		}
		slices.Sort(*rules)
		*rules = slices.Compact(*rules)
		if slices.Contains(*rules, "C3") { // the same id in one step, which the endpoint also counts as V4
			*rules = slices.DeleteFunc(*rules, func(code string) bool { return code == "V4" })
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: the rules find %v, the endpoint %v: %.2000s", setting, got, want, body)
	}
}

// FuzzProviders is [TestDamagedProviders] with inputs that the fuzzer chooses.
func FuzzProviders(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(damagedProviders))
}
