package render_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"mend/agent/opencode/diagnose"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/provider"
	"mend/internal/request"
	"mend/internal/test/encode"
)

// allTargets has a target for each API and for each option.
var allTargets = []render.Target{
	{},
	{Package: "@ai-sdk/openai"},
	{Package: "@ai-sdk/openai", Store: true},
	{Package: "@ai-sdk/azure", Store: true},
	{Package: render.Compatible},
	{Package: render.Compatible, ModelID: "deepseek-chat", Field: "reasoning_content"},
	{Package: "@ai-sdk/mistral", ModelID: "mistral-large"},
	{Package: "@openrouter/ai-sdk-provider"},
	{Package: "@ai-sdk/github-copilot"},
	{Package: "@ai-sdk/google", ModelID: "gemini-3-pro"},
	{Package: "@ai-sdk/google-vertex"},
	{Package: "@ai-sdk/amazon-bedrock", ModelID: "anthropic.claude-4"},
}

// FuzzTargets replaces a message and two parts of a session with arbitrary bytes, and renders the request for every
// provider. A request must contain only records of the session, be valid JSON, and be the same with a used View as with
// a new one.
func FuzzTargets(f *testing.F) {
	all := readCaptures(f, "testdata/captured-1.18.33.json")
	for i, c := range all.Cases {
		s := all.session(i)
		if i%11 != 0 || len(s.Messages) < 2 || len(s.Messages[1].Parts) < 2 || c.Sent == nil {
			continue
		}
		m := &s.Messages[1]
		f.Add(m.Data, m.Parts[1].Data, m.Parts[len(m.Parts)-1].Data, true, uint8(i), i%2 == 0)
	}
	f.Fuzz(func(t *testing.T, message, first, last []byte, file bool, setting uint8, foreign bool) {
		b := newBuilder()
		b.prompt(textPart("a prompt"))
		b.assistant(stepStartPart(), thinkingPart("a thought"), toolPart("toolu_1", "output"), stepStartPart(), textPart("a text"))
		b.prompt(textPart("another prompt"))
		s := b.Clone()
		overwrite(&s.Messages[1], message, first, last, file)
		profiles := render.Profiles()
		view := render.Read(s)
		for _, target := range allTargets {
			set := render.Settings{
				Profile: profiles[int(setting)%len(profiles)],
				Target:  func(request.Model) render.Target { return target },
			}
			if foreign {
				set.Model = request.Model{ProviderID: "another", ModelID: "model"}
			}
			q, again := view.Render(set), render.Render(s, set)
			if !equalRequests(q, again) {
				t.Errorf("%+v: Render differs the second time:\n%s\n%s", target, encode.JSON(diagnose.ProviderOf(q), q.Request), encode.JSON(diagnose.ProviderOf(again), again.Request))
			}
			checkTarget(t, s.Records, q)
		}
	})
}

// checkTarget checks the properties that every request to every provider has.
func checkTarget(t *testing.T, records func(func(*change.Record) bool), q render.Request) {
	t.Helper()
	known := map[change.Ref]bool{{}: true}
	for r := range records {
		known[r.Ref] = true
	}
	p := diagnose.ProviderOf(q)
	if body := encode.JSON(p, q.Request); !json.Valid(body) {
		t.Errorf("%s: JSON() = %s", p.Name(), body)
	}
	for n, turn := range q.Turns {
		for m, b := range turn.Blocks {
			if !known[b.Ref()] {
				t.Errorf("%s: block %d.%d has the ref %v, which is not in the session", p.Name(), n, m, b.Ref())
			}
		}
	}
	for _, v := range provider.Check(p, q.Request, true) {
		if v.N < 0 || v.N >= len(q.Turns) || v.M >= len(q.Turns[v.N].Blocks) {
			t.Errorf("%s: %+v has no block in %d turns", p.Name(), v, len(q.Turns))
		}
		for _, ref := range v.Refs {
			if !known[ref] {
				t.Errorf("%s: %+v is about a record that is not in the session", p.Name(), v)
			}
		}
	}
}

// equalRequests reports whether two requests are the same, apart from the cached inspections of images.
func equalRequests(a, b render.Request) bool {
	var copied func(all []*request.Block) []*request.Block
	copied = func(all []*request.Block) (out []*request.Block) {
		for _, b := range all {
			c := *b
			c.Media, c.Content = nil, copied(b.Content)
			out = append(out, &c)
		}
		return out
	}
	for _, q := range []*render.Request{&a, &b} {
		q.Turns = slices.Clone(q.Turns)
		for i, t := range q.Turns {
			q.Turns[i].Blocks = copied(t.Blocks)
		}
	}
	return reflect.DeepEqual(a, b)
}
