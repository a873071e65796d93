package render_test

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"

	"mend/agent/opencode/diagnose"
	"mend/agent/opencode/render"
	"mend/internal/request"
	"mend/internal/test/encode"
)

// Captures are sessions with the requests that the real OpenCode sent for them and one more prompt. They share messages
// and turns: a number is an index in the lists of the file.
type captures struct {
	Messages []struct {
		Info  fields
		Parts []fields
	}
	Turns []any
	Cases []struct {
		Name, Model string // "provider damage", "provider/model"
		Messages    []int
		Sent        []int // null if nothing was sent
	}
}

// targets are the providers of the settings with which the requests were captured.
var targets = map[string]render.Target{
	"anthropic":      {},
	"openai":         {Package: "@ai-sdk/openai"},
	"local":          {Package: "@ai-sdk/openai-compatible"},
	"moonshotai":     {Package: "@ai-sdk/openai-compatible", Field: "reasoning_content"},
	"deepseek":       {Package: "@ai-sdk/openai-compatible", Field: "reasoning_content"},
	"openrouter":     {Package: "@openrouter/ai-sdk-provider"},
	"my-copilot":     {Package: "@ai-sdk/github-copilot"},
	"google":         {Package: "@ai-sdk/google"},
	"amazon-bedrock": {Package: "@ai-sdk/amazon-bedrock"},
}

func targetOf(m request.Model) render.Target {
	t := targets[m.ProviderID]
	t.Store = m.ModelID == "gpt-5-store"
	return t
}

func readCaptures(t testing.TB, file string) (all captures) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// session returns the session of case i.
func (c *captures) session(i int) *builder {
	b := newBuilder()
	for _, m := range c.Cases[i].Messages {
		info := fields{"agent": "build"}
		maps.Copy(info, c.Messages[m].Info)
		if info["role"] == "assistant" {
			info["tokens"], info["cost"], info["mode"], info["parentID"], info["path"] = tokens(), 0, "build", b.last(), fields{"cwd": "/", "root": "/"}
		}
		var parts []fields
		for _, p := range c.Messages[m].Parts {
			part := fields{}
			maps.Copy(part, p)
			parts = append(parts, part)
		}
		b.message(info, parts...)
	}
	return b
}

// TestCaptured: for every provider, every rendered request is equal to the request that the real program sent.
func TestCaptured(t *testing.T) {
	for _, version := range []string{"1.1.53", "1.2.27", "1.18.33"} {
		all := readCaptures(t, "testdata/captured-"+version+".json")
		for i, c := range all.Cases {
			provider, model, _ := strings.Cut(c.Model, "/")
			r := render.Render(&all.session(i).Session, render.Settings{
				Profile: render.ProfileFor(version), Target: targetOf, Model: request.Model{ProviderID: provider, ModelID: model},
			})
			if sends := len(r.Failures) == 0; sends != (c.Sent != nil) {
				t.Errorf("%s %s: Failures = %v, the program sent %d turns", version, c.Name, r.Failures, len(c.Sent))
				continue
			} else if !sends {
				continue
			}
			var want []any
			for _, n := range c.Sent {
				want = append(want, all.Turns[n])
			}
			got := turnsOf(t, encode.JSON(diagnose.ProviderOf(r), r.Request))
			for n := range max(len(got), len(want)) {
				if n >= len(got) || n >= len(want) || !reflect.DeepEqual(got[n], want[n]) {
					t.Errorf("%s %s: turn %d of %d = %s, want %s of %d", version, c.Name, n, len(got), jsonAt(got, n), jsonAt(want, n), len(want))
					break
				}
			}
		}
	}
}

// turnsOf returns the turns of a request in its provider's form.
func turnsOf(t *testing.T, data []byte) []any {
	t.Helper()
	var q map[string]any
	if err := json.Unmarshal(data, &q); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"messages", "input", "contents"} {
		if list, ok := q[name].([]any); ok {
			return list
		}
	}
	t.Fatalf("no turns in %s", data)
	return nil
}

func jsonAt(list []any, n int) string {
	if n >= len(list) {
		return "none"
	}
	data, err := json.Marshal(list[n])
	if err != nil {
		return err.Error()
	}
	return string(data)
}
