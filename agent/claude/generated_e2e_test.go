//go:build e2e

package claude_test

import (
	"encoding/json"
	"flag"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/agent/claude/diagnose"
	"mend/agent/claude/transcript"
	"mend/change"
	"mend/internal/request"
	fixture "mend/internal/test/claude"
	"mend/repair"
)

var (
	generated = flag.Int("generated", 2, "how many transcripts TestRealGenerated breaks")
	firstSeed = flag.Int("seed", 0, "the number of the first of them")
)

// differed are the numbers of transcripts with which the real program did something else than mend
// expected. TestRealGenerated always has them.
var differed = []int{5156, 5225, 7015, 7034, 8006, 8024, 9011, 9052, 9272}

// TestRealGenerated breaks transcripts at random and compares what mend expects with what the
// real program does: the request before and after the repair, and whether it is answered. What
// has a finding and is answered sends more after the repair, or something else; what has none
// sends all texts that are in the transcript.
func TestRealGenerated(t *testing.T) {
	cmd := install(t)
	healthy := map[string]fixture.Reply{}
	var all []fixture.Generated
	for _, seed := range differed {
		all = append(all, fixture.Generate(uint64(seed)))
	}
	for i := range *generated {
		all = append(all, fixture.Generate(uint64(*firstSeed+i)))
	}
	for _, g := range all {
		if _, ok := healthy[g.Shape]; !ok {
			healthy[g.Shape] = askHealthy(t, cmd, g.Shape)
		}
		sent := healthy[g.Shape].Blocks
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			h := fixture.NewHome(t, cmd)
			h.Put(fixture.Session, g.Data)
			broken := expectedCase(h.Read(fixture.Session))
			before := h.Prompt(fixture.Session, prompt, true)
			var rules []string
			for _, d := range repair.Diagnose(broken) {
				if d.Severity == repair.Broken {
					rules = append(rules, d.Rule)
				}
			}
			if !before.Answered && len(rules) == 0 && len(before.Blocks) > 0 && before.Rule != "R7" { // only the provider can check a signature
				t.Errorf("before: refused with %s and no finding: %s", before.Rule, before.Output)
			}
			if lost := lostTexts(broken, sent, before.Blocks); before.Answered && len(broken.Findings().All()) == 0 && len(lost) > 0 {
				t.Errorf("before: these are in the transcript and not sent, and nothing is found: %q", lost)
			}
			if diff := gocmp.Diff(fixture.Expected(diagnose.StateOf(broken)), before.Blocks); diff != "" && len(before.Blocks) > 0 {
				t.Errorf("before: the request is another one (-expected +real):\n%s", diff)
			}
			h.Put(fixture.Session, g.Data)
			id, r, err := repairSession(t, client(t, h), fixture.Session)
			if err != nil {
				t.Fatal(err)
			}
			if id == "" {
				return
			}
			repaired := expectedCase(h.Read(fixture.Session))
			after := h.Prompt(fixture.Session, prompt, true)
			if !after.Answered && len(r.Remaining) == 0 && after.Rule != "R7" {
				t.Errorf("after: refused with %s: %s", after.Rule, after.Output)
			}
			if before.Answered && before.Rule == "" && gocmp.Equal(before.Blocks, after.Blocks) {
				t.Errorf("found %v, and the repair changes nothing that is sent", rules)
			}
			if diff := gocmp.Diff(fixture.Expected(diagnose.StateOf(repaired)), after.Blocks); diff != "" {
				t.Errorf("after: the request is another one (-expected +real):\n%s", diff)
			}
		})
	}
}

// lostTexts returns the texts of the healthy request that are in records of the conversation, and
// are not sent. Thinking and calls are not among them: the program leaves out those that cannot
// be sent alone. Nor are prompts without an answer beside the conversation, as the user leaves them.
func lostTexts(c *repair.Case, healthy, sent []string) (lost []string) {
	conv := diagnose.StateOf(c).Conversation()
	answered := map[string]bool{}
	for _, r := range conv.Records() {
		for up := r; r.Type == transcript.Assistant && up != nil && !answered[up.UUID]; up = conv.Record(conv.Parent(up)) {
			answered[up.UUID] = true
		}
	}
	stored, boundary := map[string]bool{}, conv.Boundary
	for _, r := range conv.Records() {
		if boundary != nil && conv.Has(boundary) && conv.Place(r) < conv.Place(boundary) {
			continue // compacted
		}
		if !answered[r.UUID] && !conv.Has(r) || conv.Dropped(r) || !conv.Owns(r) || r.Sendable() == 0 {
			continue
		}
		for _, b := range r.Blocks() {
			stored[strings.TrimSpace(b.Text)] = stored[strings.TrimSpace(b.Text)] || b.Type == request.Text
		}
	}
	var texts []string // a text is sent also if its record has become an answer
	for _, line := range sent {
		_, raw, _ := strings.Cut(line, " ")
		texts = append(texts, raw)
	}
	for _, line := range healthy {
		_, raw, _ := strings.Cut(line, " ")
		var b struct{ Type, Text string }
		if json.Unmarshal([]byte(raw), &b) == nil && b.Type == "text" && stored[b.Text] && !slices.Contains(texts, raw) {
			lost = append(lost, line)
		}
	}
	return lost
}

func expectedCase(data []byte) *repair.Case {
	ref := change.Ref{Kind: change.KindSession, Project: "-home-user", Session: fixture.Session}
	return diagnose.New(diagnose.Source{Ref: ref, Data: data, Version: *version})
}
