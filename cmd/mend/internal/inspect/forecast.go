package inspect

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/mend"
	"mend/internal/request"
	"mend/internal/term"
	"mend/repair"
)

// printForecast prints the next request of the session, and marks the blocks that the provider will refuse. A scan of
// the session has the same exit code.
func printForecast(ctx context.Context, env *frame.Env, c *mend.Store, head change.Head) error {
	f, err := c.Forecast(ctx, head)
	if err != nil {
		return err
	}
	found, err := c.ScanOne(ctx, head)
	if err != nil {
		return err
	}
	show.Header(env.Terminal, head)
	checked := c.Version("")
	version, note := cmp.Or(checked.Name, f.Version), ""
	if checked.Note() != "" {
		version, note = f.Version, fmt.Sprintf("; %s was not verified", term.OneLine(version, 30))
	}
	model := map[string]string{"providerID": f.Request.Model.ProviderID, "modelID": f.Request.Model.ModelID}
	env.SetAnswers(ScanAnswer{requestAnswer: &requestAnswer{
		Session: head.ID, Profile: f.Version, Note: checked.Note(), Provider: f.Provider, Thinking: f.Thinking, Model: model, Request: requestJSON(f.Request),
		Violations: violationsJSON(f.Violations), Diagnoses: show.DiagnosesJSON(found.Diagnoses),
	}})
	env.Printf("%s\n\n", term.Faint(fmt.Sprintf("as %s %s builds it for %s, thinking %s%s", agents.Title(c.ID()), term.OneLine(version, 30), f.Provider, show.OnOrOff(f.Thinking), note)))
	at := map[[2]int][]request.Violation{} // by turn and block, -1 for none
	for _, v := range f.Violations {
		at[[2]int{v.N, v.M}] = append(at[[2]int{v.N, v.M}], v)
	}
	for n, t := range f.Request.Turns {
		env.Printf("%s %s\n", term.Bold(fmt.Sprintf(f.Place.Turn, n)), t.Role)
		for m, b := range t.Blocks {
			env.Printf("%s\n", term.Cut(blockLine(f, m, b, 60), env.Width))
			printViolations(env.Terminal, at[[2]int{n, m}])
		}
		printViolations(env.Terminal, at[[2]int{n, -1}])
	}
	printViolations(env.Terminal, at[[2]int{-1, -1}])
	return finishForecast(env.Terminal, f, found)
}

// finishForecast prints whether the provider will accept the request. The findings are of a scan, which also finds
// damage that stops the agent before it sends a request.
func finishForecast(t *term.Terminal, f mend.Forecast, found mend.Finding) error {
	broken := found.Severity() == repair.Broken
	switch {
	case broken && len(f.Violations) == 0:
		t.Printf("\n%s\n", term.Bad("The request breaks no rule, but the session is broken:"))
		for _, d := range found.Diagnoses {
			if d.Severity == repair.Broken {
				show.Diagnosis(t, d)
			}
		}
	case !broken && len(f.Violations) > 0 && found.Busy:
		t.Say("\nThe agent is using the session; its next writes may change this.")
	case !broken && len(f.Violations) > 0:
		t.Say("\nThe provider may refuse this: it is unknown whether the model %s accepts it.",
			f.Request.Model.ProviderID+"/"+f.Request.Model.ModelID)
	case !broken:
		t.Printf("\n%s\n", term.Good("The provider accepts this."))
	}
	if broken {
		return frame.ErrProblems
	}
	return nil
}

func printViolations(t *term.Terminal, vs []request.Violation) {
	for _, v := range vs {
		t.SayAt(4, "%s %s %s", term.Bad("▲ "+v.Rule), v.Message, term.Faint(strings.Join(violationRecords(v), " ")))
	}
}

// blockLine returns b, block m of its turn, on one line with at most n characters of its text.
func blockLine(f mend.Forecast, m int, b *request.Block, n int) term.Text {
	return term.Sprintf("  %s %-12s %s  %s", fmt.Sprintf(f.Place.Block, m), b.Type, term.OneLine(blockText(b), n), term.Faint(b.Ref()))
}

func blockText(b *request.Block) string {
	switch b.Type {
	case request.ToolUse:
		return b.ToolName + " " + b.ToolID + " " + string(b.Input)
	case request.ToolResult:
		return fmt.Sprintf("%s %q", b.ToolID, resultText(b))
	case request.Image, request.Document:
		return b.Mime + ", " + term.Size(int64(len(b.Data)))
	default:
		return fmt.Sprintf("%q", b.Text)
	}
}

// requestJSON converts a request to mend's own JSON form, which is the same for all providers.
func requestJSON(q request.Request) map[string]any {
	turns := []map[string]any{}
	for _, t := range q.Turns {
		turns = append(turns, map[string]any{"role": t.Role, "content": blocksJSON(t.Blocks)})
	}
	return map[string]any{"turns": turns}
}

func blocksJSON(blocks []*request.Block) []map[string]any {
	all := []map[string]any{}
	for _, b := range blocks {
		m := map[string]any{"type": b.Type}
		if b.Source != nil {
			m["record"] = b.Ref().String()
		}
		switch b.Type {
		case request.ToolUse:
			m["id"], m["name"], m["input"] = b.ToolID, b.ToolName, b.Input
		case request.ToolResult:
			m["id"], m["error"] = b.ToolID, b.Error
			if m["content"] = blocksJSON(b.Content); b.Output != nil {
				m["content"] = b.OutputText()
			}
		case request.Image, request.Document:
			m["mime"], m["name"], m["url"], m["data"] = b.Mime, b.Name, b.URL, string(b.Data)
		default:
			if m["text"] = b.Text; b.IsThinking() && !b.Unsigned {
				m["signature"] = b.Signature
			}
		}
		all = append(all, m)
	}
	return all
}

type violationJSON struct {
	Rule    string   `json:"rule"`
	Message string   `json:"message"`
	Records []string `json:"records"`
	N       int      `json:"messageIndex"` // -1 for none
	M       int      `json:"contentIndex"`
}

func violationsJSON(vs []request.Violation) []violationJSON {
	out := []violationJSON{}
	for _, v := range vs {
		out = append(out, violationJSON{Rule: v.Rule, Message: v.Message, Records: violationRecords(v), N: v.N, M: v.M})
	}
	return out
}

func violationRecords(v request.Violation) []string {
	records := []string{}
	for _, r := range v.Refs {
		records = append(records, r.String())
	}
	return records
}
