package diagnose_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"mend/agent/claude/diagnose"
	"mend/internal/claude"
	"mend/repair"
	"mend/request"
	"mend/session"
)

var ref = session.Ref{Kind: session.KindSession, Project: "-home-user", Session: claude.Session}

func newCase(data []byte) *diagnose.Case {
	return diagnose.New(diagnose.Source{Ref: ref, Data: data, Version: "2.1.330"})
}

// blocks returns how many blocks of the transcript are in the request.
func blocks(q request.Request) (n int) {
	for _, t := range q.Turns {
		for _, b := range t.Blocks {
			if b.Source.Kind != 0 && !strings.HasPrefix(b.Text, "<system-reminder>") {
				n++
			}
		}
	}
	return n
}

// after returns the transcript that the plan leaves.
func after(t *testing.T, data []byte, r repair.Result) []byte {
	t.Helper()
	for _, o := range r.Plan.Ops {
		switch {
		case o.Ref == ref:
			return o.Post.Data
		case o.Post == nil:
			t.Errorf("the plan deletes %s", o.Ref)
		default:
			if !bytes.HasSuffix(data, []byte("\n")) {
				data = append(data, '\n')
			}
			data = append(append(slices.Clip(data), o.Post.Data...), '\n')
		}
	}
	return data
}

func TestDamages(t *testing.T) {
	for _, d := range claude.Damages {
		t.Run(d.Name, func(t *testing.T) {
			broken := claude.New()
			d.Apply(broken)
			data := broken.Bytes()
			c := newCase(data)
			var rules []string
			for _, f := range repair.Diagnose(c) {
				rules = append(rules, f.Rule)
				if f.Fix == "" {
					t.Errorf("%s has no fix: %s", f.Rule, f.WhyNot)
				}
			}
			if d.Rule == "" && len(rules) > 0 || d.Rule != "" && !slices.Contains(rules, d.Rule) {
				t.Fatalf("found %v, want %q", rules, d.Rule)
			}
			r, err := repair.Plan(claude.Session, c, repair.Request{})
			if err != nil || len(r.Remaining) > 0 {
				t.Fatalf("Plan leaves %v, %v", r.Remaining, err)
			}
			repaired := after(t, data, r)
			if d.Rule == "" && !bytes.Equal(repaired, data) {
				t.Error("a healthy transcript is changed")
			}
			now := newCase(repaired)
			if got := blocks(now.Request()); got != d.After {
				t.Errorf("%d blocks reach the request after the repair, want %d", got, d.After)
			}
			if again, err := repair.Plan(claude.Session, now, repair.Request{}); err != nil || len(again.Plan.Ops) > 0 {
				t.Errorf("a second plan has %d ops, %v", len(again.Plan.Ops), err)
			}
			if !bytes.HasPrefix(repaired, data) && d.Rule != "uuid_repeated" {
				t.Error("the repair does not only append")
			}
		})
	}
}

// The versions before 2.1 put no answer together: of two parallel calls they send one. That is
// no finding.
func TestOlderVersions(t *testing.T) {
	for _, version := range []string{"2.0.77", "1.0.128"} {
		c := diagnose.New(diagnose.Source{Ref: ref, Data: claude.Baseline, Version: version})
		if all := c.Findings().All(); len(all) > 0 || blocks(c.Request()) != claude.Blocks-2 {
			t.Errorf("%s: %d blocks are sent, found %v, want %d and nothing", version, blocks(c.Request()), all, claude.Blocks-2)
		}
		for _, name := range []string{"parent unknown", "parent unknown within 5 s", "line torn", "empty prompt", "input a string"} {
			broken := claude.New()
			claude.ByName(name).Apply(broken)
			data := broken.Bytes()
			r, err := repair.Plan(claude.Session, diagnose.New(diagnose.Source{Ref: ref, Data: data, Version: version}), repair.Request{})
			if err != nil || len(r.Plan.Ops) == 0 || len(r.Remaining) > 0 {
				t.Errorf("%s, %s: Plan has %d ops and leaves %v, %v", version, name, len(r.Plan.Ops), r.Remaining, err)
			}
		}
	}
}
