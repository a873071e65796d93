package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"mend/change"
	"mend/internal/mend"
	"mend/internal/request"
	"mend/repair"
)

// printForecast prints the request that the agent will send for the session, and marks the
// blocks that the provider will refuse. Its exit code is that of a scan of the session.
func (a *app) printForecast(ctx context.Context, c *mend.Store, head change.Head) error {
	f, err := c.Forecast(ctx, head)
	if err != nil {
		return err
	}
	var found mend.Finding
	for found = range c.Scan(ctx, []change.Head{head}) {
	}
	if err := cmp.Or(ctx.Err(), found.Err); err != nil {
		return err
	}
	a.answer = map[string]any{
		"diagnoses": diagnosesJSON(found.Diagnoses),
		"session":   head.ID, "profile": f.Version, "thinking": f.Thinking,
		"model":    map[string]string{"providerID": f.Request.Model.ProviderID, "modelID": f.Request.Model.ModelID},
		"provider": f.Provider,
		"request":  json.RawMessage(f.JSON), "violations": violationsJSON(f.Violations),
	}
	a.printHeader(head)
	version, note := cmp.Or(c.AgentVersion(), f.Version), ""
	if c.VersionNote() != "" {
		version, note = f.Version, fmt.Sprintf("; %s was not verified", oneLine(version, 30))
	}
	a.answer["versionNote"] = c.VersionNote()
	a.printf("%s\n\n", faint(fmt.Sprintf("as %s %s builds it for %s, thinking %s%s", agentOf(c.ID()), oneLine(version, 30), f.Provider, onOrOff(f.Thinking), note)))
	for n, t := range f.Request.Turns {
		a.printf("%s %s\n", bold(fmt.Sprintf(f.Place.Turn, n)), t.Role)
		for m, b := range t.Blocks {
			line := fmt.Sprintf("  %s %-12s %s  %s", fmt.Sprintf(f.Place.Block, m), b.Type, oneLine(blockText(b), 60), faint(b.Ref()))
			a.printf("%s\n", cutLine(line, a.width))
			a.printViolations(f.Violations, n, m)
		}
		a.printViolations(f.Violations, n, -1)
	}
	a.printViolations(f.Violations, -1, -1)
	return a.finishForecast(f, found)
}

// finishForecast prints whether the provider will accept the request. It uses the findings of
// a scan, which also finds faults that stop the agent before it sends a request.
func (a *app) finishForecast(f mend.Forecast, found mend.Finding) error {
	broken := found.Severity() == repair.Broken
	switch {
	case broken && len(f.Violations) == 0:
		a.printf("\n%s\n", bad("The session is broken anyway:"))
		for _, d := range found.Diagnoses {
			if d.Severity == repair.Broken {
				a.printDiagnosis(d)
			}
		}
	case !broken && len(f.Violations) > 0 && found.Busy:
		a.say("\nThe agent is using the session; what it writes may change this.")
	case !broken && len(f.Violations) > 0:
		a.say("\nThe provider may refuse this: it is unknown whether the model %s accepts it.",
			escape(f.Request.Model.ProviderID+"/"+f.Request.Model.ModelID))
	case !broken:
		a.printf("\n%s\n", good("The provider accepts this."))
	}
	if broken {
		return errProblems
	}
	return nil
}

// printViolations prints the violations at a place of the request.
func (a *app) printViolations(vs []request.Violation, n, m int) {
	for _, v := range vs {
		if v.N == n && v.M == m {
			a.sayAt(4, fmt.Sprintf("%s %s %s", bad("▲ "+v.Rule), escape(v.Message), faint(strings.Join(violationRecords(v), " "))))
		}
	}
}

// blockText returns a block as text.
func blockText(b *request.Block) string {
	switch b.Type {
	case request.ToolUse:
		return b.ToolName + " " + b.ToolID + " " + string(b.Input)
	case request.ToolResult:
		var text strings.Builder
		text.WriteString(b.ToolID)
		if b.Output != nil {
			fmt.Fprintf(&text, " %q", b.OutputText())
		}
		for _, c := range b.Content {
			text.WriteString(" " + blockText(c))
		}
		return text.String()
	case request.Image, request.Document:
		return b.Mime + ", " + size(int64(len(b.Data)))
	default:
		return fmt.Sprintf("%q", b.Text)
	}
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
