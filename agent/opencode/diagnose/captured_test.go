package diagnose

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/request"
	"mend/internal/test/storetest"
	"mend/repair"
)

var update = flag.Bool("update", false, "rewrite testdata/captured.golden")

// captured are the sessions of TestCaptured in package render: sessions of ten providers, each
// with many kinds of damage.
type captured struct {
	Messages []struct {
		Info  map[string]any
		Parts []map[string]any
	}
	Cases []struct {
		Name, Model string
		Messages    []int
		Sent        []int
	}
}

// readCaptured reads the sessions once for all tests.
var readCaptured = sync.OnceValues(func() (all captured, err error) {
	data, err := os.ReadFile("../render/testdata/captured-1.18.33.json")
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	return all, err
})

// session returns the session of a case, as records of a tree.
func (c *captured) session(t testing.TB, i int) *record.Session {
	t.Helper()
	s := &record.Session{Head: change.Head{ID: "ses_1"}}
	write := func(ref change.Ref, fields map[string]any) change.Record {
		fields = maps.Clone(fields)
		fields["id"], fields["sessionID"] = ref.ID(), "ses_1"
		if ref.Kind == change.KindPart {
			fields["messageID"] = ref.Message
		}
		data, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		return change.Record{Ref: ref, Data: data, Mode: 0o644}
	}
	last := ""
	for n, at := range c.Cases[i].Messages {
		info := maps.Clone(c.Messages[at].Info)
		ref := change.Ref{Kind: change.KindMessage, Session: "ses_1", Message: clockID(n + 1)}
		info["time"] = map[string]any{"created": 1000 * (n + 1), "completed": 1000*(n+1) + 1}
		info["agent"] = "build"
		if info["role"] == "assistant" {
			if n == 0 || s.Messages[n-1].Role == "assistant" && s.Messages[n-1].Finish == "stop" {
				last = clockID(n) + "5" // its prompt is missing
			}
			info["parentID"], info["mode"], info["path"], info["cost"] = last, "build", map[string]any{"cwd": "/p", "root": "/p"}, 0
			info["tokens"] = map[string]any{"input": 1, "output": 1, "reasoning": 0, "cache": map[string]any{"read": 0, "write": 0}}
		} else {
			last = ref.Message
			delete(info["time"].(map[string]any), "completed")
		}
		m := record.NewMessage(write(ref, info))
		for k, p := range c.Messages[at].Parts {
			p = maps.Clone(p)
			switch p["type"] {
			case "reasoning":
				p["time"] = map[string]any{"start": 1, "end": 2}
			case "step-finish":
				tokens := map[string]any{"input": 1, "output": 1, "cache": map[string]any{"read": 0, "write": 0}}
				maps.Copy(tokens, p["tokens"].(map[string]any))
				p["tokens"], p["reason"], p["cost"] = tokens, "stop", 0
			case "tool":
				state := maps.Clone(p["state"].(map[string]any))
				times := map[string]any{"start": 1, "end": 2}
				if old, ok := state["time"].(map[string]any); ok {
					maps.Copy(times, old)
				}
				if state["status"] != "pending" {
					state["time"] = times
				}
				if state["status"] == "completed" {
					state["title"], state["metadata"] = "t", map[string]any{}
				}
				p["state"] = state
			}
			pref := change.Ref{Kind: change.KindPart, Session: "ses_1", Message: ref.Message, Part: partID(n+1, k+1)}
			m.Parts = append(m.Parts, record.NewPart(write(pref, p)))
		}
		s.Messages = append(s.Messages, m)
	}
	return s
}

// clockID returns the id of message n in the form of the program's ids.
func clockID(n int) string { return fmt.Sprintf("msg_%011x0%s", n, strings.Repeat("A", 14)) }

func capturedTarget(m request.Model) render.Target {
	switch m.ProviderID {
	case "my-copilot":
		return render.Target{Package: "@ai-sdk/github-copilot"}
	case "moonshotai", "deepseek":
		vendor := strings.TrimSuffix(m.ProviderID, "ai")
		return render.Target{Package: render.Compatible, Field: "reasoning_content", Vendor: vendor}
	}
	t := render.WellKnown(m)
	t.Store = m.ModelID == "gpt-5-store"
	return t
}

// TestCapturedSessions compares the findings in each damaged session with a golden file: the findings by the rules of
// its provider, those after a repair of the broken ones, and those after a repair of the latent ones too. The golden
// file and the table in docs/providers.md show that no session that the real program continues is broken.
func TestCapturedSessions(t *testing.T) {
	all, err := readCaptured()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i, c := range all.Cases {
		s := all.session(t, i)
		provider, model, _ := strings.Cut(c.Model, "/")
		last := &s.Messages[len(s.Messages)-1]
		if last.ProviderID != provider || last.ModelID != model {
			continue // the session was continued with another model, which it does not name
		}
		env := Environment{Target: capturedTarget}
		var line strings.Builder
		line.WriteString(codes(Diagnose(s, repair.Options{AllSettings: true}, env).Found))
		for _, latent := range [...]bool{false, true} {
			r := repair.Request{Latent: latent}
			plan, err := repair.Plan(s.ID, New(s, r, env), r)
			if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			if len(plan.Plan.Ops) > 0 {
				after := stateOf(plan.After).s
				fmt.Fprintf(&line, " | %d ops: %s", len(plan.Plan.Ops), codes(Diagnose(after, repair.Options{AllSettings: true}, env).Found))
			}
		}
		fmt.Fprintf(&out, "%s: %s\n", c.Name, line.String())
	}
	storetest.Golden(t, "testdata/captured.golden", out.String(), *update)
}

// codes returns the codes of diagnoses without notes; ! marks a broken one.
func codes(ds []repair.Diagnosis) string {
	var all []string
	for _, d := range ds {
		code := d.Rule
		switch d.Severity {
		case repair.Broken:
			code += "!"
		case repair.Note:
			continue
		default:
		}
		if d.Severity == repair.Broken && d.Fix == "" {
			code += "(no fix)"
		}
		if !slices.Contains(all, code) {
			all = append(all, code)
		}
	}
	if all == nil {
		return "healthy"
	}
	return strings.Join(all, " ")
}
