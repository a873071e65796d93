package diagnose

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/provider/anthropic"
	"mend/internal/test/damage"
	"mend/internal/test/storetest"
	"mend/repair"
)

// cutMessages are messages of a fixture that together have every kind of content; the other messages are similar.
var cutMessages = []int{damage.FirstPrompt, damage.OneCall, damage.SecondPrompt, damage.Hello, damage.Goodbye}

// TestSalvageAtEveryByte cuts each record of some messages after each of its bytes; a plain run cuts it after JSON
// delimiters. A fix keeps every complete member, changes no other record, and adds no finding.
func TestSalvageAtEveryByte(t *testing.T) {
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			s := fromStore(t, i, unchanged)
			profiles := render.Profiles()
			healthy, _ := violationCounts(s, profiles)
			for r := range s.Records {
				if r.Ref.Kind == change.KindSession || !slices.ContainsFunc(cutMessages, func(n int) bool { return s.Messages[n].Ref.Message == r.Ref.Message }) {
					continue
				}
				done := map[string]bool{} // results of the first fix that were tested
				for n := range len(r.Data) {
					if !storetest.AllCases() && n > 0 && !strings.ContainsRune(`{}[]:,`, rune(r.Data[n-1])) {
						continue
					}
					broken := truncated(s, r.Ref, n)
					fixes := fixesFor(broken, r.Ref)
					if len(fixes) == 0 {
						t.Fatalf("no fix for %s cut at %d", r.Ref, n)
					}
					wantCompleteKept(t, broken, r, n, fixes[0])
					key := fixes[0].Text + partOutline(edited(t, broken, fixes[0]), r.Ref)
					if done[key] {
						continue
					}
					done[key] = true
					after := firstHolding(t, broken, healthy, fixes, profiles)
					if after == nil {
						_, faults := violationCounts(edited(t, broken, fixes[0]), profiles)
						t.Fatalf("no fix holds for %s cut to %q; after the first: %v\n%s", r.Ref, r.Data[:n], faults, records(edited(t, broken, fixes[0])))
					}
					wantOthersUnchanged(t, s, after, r.Ref)
					wantReadable(t, after, r.Ref)
				}
			}
		})
	}
}

// wantCompleteKept checks that a fixed call has the members that are complete in the first n bytes of its record, and
// that no fixed part is signed thinking.
func wantCompleteKept(t *testing.T, broken *record.Session, r *change.Record, n int, f repair.Fix) {
	t.Helper()
	d := draftOf(broken)
	if err := f.Edit(d); err != nil {
		t.Fatalf("%s cut at %d: %v", r.Ref, n, err)
	}
	d.arrange()
	_, p, err := d.part(r.Ref)
	if err != nil {
		return // removed, or a message
	}
	previous, kept := record.NewPart(*r), jsonedit.ParsePartial(r.Data[:n])
	if previous.Signature != "" && p.IsThinking() {
		t.Errorf("%s cut at %d is thinking: %s", r.Ref, n, p.Data)
	}
	if previous.Type != record.TypeTool {
		return
	}
	for _, path := range [][]string{{"callID"}, {"tool"}, {"state", "input"}} {
		want, _ := jsonedit.Get(r.Data, path...)
		if got, _ := jsonedit.Get(p.Data, path...); kept.Intact(path...) && string(got) != string(want) {
			t.Errorf("%s cut at %d: %v = %s, want %s", r.Ref, n, path, got, want)
		}
	}
}

// TestDamagedRecords: a plan that changes only the damaged record fixes every kind of damage to a part or a message.
func TestDamagedRecords(t *testing.T) {
	damages := []struct {
		name  string
		whole bool // the data is complete, so nothing is lost
		as    func(change.Record) change.Record
	}{
		{"no bytes", false, to("")},
		{"NUL bytes", false, to("\x00\x00\x00\x00")},
		{"null", false, to("null")},
		{"a list", false, to(`[1]`)},
		{"a string", false, to(`"x"`)},
		{"a number", false, to(`5`)},
		{"text after it", true, func(r change.Record) change.Record { return damaged(r, string(r.Data)+"}", 0) }},
		{"NUL bytes after it", true, func(r change.Record) change.Record { return damaged(r, string(r.Data)+"\x00\x00", 0) }},
		{"a blob", true, func(r change.Record) change.Record { return damaged(r, string(r.Data), change.ClassBlob) }},
		{"an integer", false, func(r change.Record) change.Record {
			return damaged(r, "\x00\x00\x00\x00\x00\x00\x00\x05", change.ClassInteger)
		}},
		{"NULL", false, func(r change.Record) change.Record { return damaged(r, "", change.ClassNull) }},
	}
	for i, version := range damage.Versions {
		s := fromStore(t, i, unchanged)
		for _, c := range damages {
			hello := &s.Messages[damage.Hello]
			for _, r := range []change.Record{hello.Record, hello.Parts[0].Record, hello.Parts[2].Record} {
				broken := replaced(s, c.as(r))
				name := fmt.Sprintf("%s: %s in %s", version, c.name, r.Ref)
				if !r.IsRow() && strings.Contains("a blob, an integer, NULL", c.name) {
					continue
				}
				res := plan(t, broken, Request{Options: Options{Version: version}, Latent: true})
				// The agent skips a value that is not an object, so a step that lacks its text is a separate finding.
				i := slices.IndexFunc(res.Plan.Ops, func(o change.Op) bool { return o.Ref == r.Ref })
				if len(res.Remaining) > 0 || i < 0 || len(res.Plan.Ops) != 1 && !json.Valid(c.as(r).Data) {
					t.Errorf("%s: Plan has %d ops, remaining %s, want one on %s", name, len(res.Plan.Ops), summary(res.Remaining), r.Ref)
					continue
				}
				wantOthersUnchanged(t, s, res.After, r.Ref)
				wantReadable(t, res.After, r.Ref)
				if post := res.Plan.Ops[i].Post; c.whole && (post == nil || records(res.After) != records(s)) {
					t.Errorf("%s: after the plan:\n%s\nwant\n%s", name, records(res.After), records(s))
				}
			}
		}
	}
}

// TestRecordOfUnknownBytes: a record that cannot be opened has no fix.
func TestRecordOfUnknownBytes(t *testing.T) {
	s := build(user(hi), answer(hi), user(hi))
	for _, r := range []*change.Record{&s.Messages[1].Record, &s.Messages[1].Parts[0].Record} {
		previous := *r
		r.Data, r.Defect = nil, &change.Defect{Kind: change.Unreadable, Why: "permission denied"}
		f := finding{Code: render.FailureUnreadable, Ref: r.Ref}
		if n := len(recordFixes(&simulation{s: s}, f)); n > 0 {
			t.Errorf("%d fixes for %s, which cannot be opened", n, r.Ref)
		}
		*r = previous
	}
}

// TestSalvagePart: a damaged part is rebuilt from the readable beginning of its data, or removed.
func TestSalvagePart(t *testing.T) {
	const ids = `"id":"prt_0202","sessionID":"ses_1","messageID":"msg_02",`
	for _, c := range []struct{ name, left, want string }{
		{"text", `"type":"text","text":"one tw`, `"type":"text","text":"one tw"`},
		{"text with an unknown field", `"type":"text","novel":[1],"text":"one tw`, `"type":"text","novel":[1],"text":"one tw"`},
		{"blank text", `"type":"text","text":" `, ""},
		{"thinking", `"type":"reasoning","text":"hm","metadata":{"anthropic":{"signature":"sig"}},"time":{"start":1`, ""},
		{"a call's name", `"type":"tool","callID":"c","tool":"ba`, `"type":"tool","callID":"c","tool":"invalid","state":{"status":"error","input":{},"error":"[The stored record of this call was damaged; its result is lost]","time":{"start":2000,"end":2000}}`},
		{"a call without id and name", `"type":"tool","callID":"c`, ""},
		{"half an input", `"type":"tool","callID":"c","tool":"t","state":{"status":"completed","input":{"a":1,"b":"x`, `"type":"tool","callID":"c","tool":"t","state":{"status":"error","input":{},"error":"[The stored record of this call was damaged; its result is lost]","time":{"start":2000,"end":2000}}`},
		{"half an output", `"type":"tool","callID":"c","tool":"t","state":{"status":"completed","input":{"a":1},"output":"o\n\u00e`, `"type":"tool","callID":"c","tool":"t","state":{"status":"completed","input":{"a":1},"output":"o\n\n[The rest is lost: the stored record was damaged]","title":"","metadata":{},"time":{"start":2000,"end":2000}}`},
		{"an output and half its attachments", `"type":"tool","callID":"c","tool":"t","state":{"status":"completed","input":{"a":1},"output":"o","attachments":[{"type":"fi`, `"type":"tool","callID":"c","tool":"t","state":{"status":"completed","input":{"a":1},"output":"o","title":"","metadata":{},"time":{"start":2000,"end":2000}}`},
		{"half an error", `"type":"tool","callID":"c","tool":"t","state":{"status":"error","input":{"a":1},"error":"no`, `"type":"tool","callID":"c","tool":"t","state":{"status":"error","input":{"a":1},"error":"no\n[The rest is lost: the stored record was damaged]","time":{"start":2000,"end":2000}}`},
		{"a running call", `"type":"tool","callID":"c","tool":"t","state":{"status":"running","input":{"a":1},"time":{"start":5,`, `"type":"tool","callID":"c","tool":"t","state":{"input":{"a":1},"time":{"start":5,"end":2000},"status":"error","error":"[The stored record of this call was damaged; its result is lost]"`},
		{"half a file", `"type":"file","mime":"image/png","filename":"x.png","url":"data:image/png;base64,AA`, ""},
		{"a file whose source is lost", `"type":"file","mime":"image/png","url":"data:image/png;base64,AA==","source":{"type":"fi`, `"type":"file","mime":"image/png","url":"data:image/png;base64,AA=="`},
		{"a step's end", `"type":"step-finish","reason":"st`, `"type":"step-finish","tokens":{"input":0,"output":0,"reasoning":0,"cache":{"read":0,"write":0}},"reason":"unknown","cost":0`},
		{"a patch", `"type":"patch","hash":"x","files":["a"`, `"type":"patch","hash":"x","files":[]`},
		{"the start of a step, without a kind", `"snapshot":"x`, ""},
		{"an unknown kind", `"type":"novelty","x":1`, ""},
		{"a complete part of an unknown kind", `"type":"novelty","x":1}}`, `"type":"novelty","x":1`},
	} {
		s := build(user(hi), answer(stepStart, "raw:{"+ids+c.left, done), user(hi))
		p := s.Messages[1].Parts[1]
		if p.ID != "prt_0202" {
			p = *s.Messages[1].Part(partID(2, 2))
		}
		fixes := recordFixes(&simulation{s: s}, finding{Code: render.FailureUnreadable, Ref: p.Ref})
		after := edited(t, s, fixes[0]).Messages[1].Part(p.ID)
		got := ""
		if after != nil {
			got = string(after.Data)
		}
		want := ""
		if c.want != "" {
			want = "{" + ids + c.want + "}"
			if strings.Count(want, "{") > strings.Count(want, "}") {
				want += "}"
			}
		}
		if got != want {
			t.Errorf("%s: %s becomes\n%s, want\n%s", c.name, c.left, got, want)
		}
	}
}

// TestDamagedParts: a plan with one op fixes damage that makes the real program fail, for every version and with
// thinking on and off.
func TestDamagedParts(t *testing.T) {
	for i, version := range damage.Versions {
		for _, w := range damage.Table {
			if !slices.Contains([]string{"part truncated", "part of no bytes", "message truncated", "message of no bytes", "completed without output"}, w.Name) {
				continue
			}
			s := fromStore(t, i, w.Apply)
			res := plan(t, s, Request{Options: Options{Version: version}})
			if len(res.Plan.Ops) != 1 || len(res.Remaining) > 0 {
				t.Errorf("%s, %s: Plan has %d ops, remaining %s", version, w.Name, len(res.Plan.Ops), summary(res.Remaining))
			}
			for _, p := range render.Profiles() {
				for _, thinking := range []bool{true, false} {
					vs := render.Check(anthropic.Provider{}, render.Render(res.After, render.Settings{Profile: p}), thinking)
					if fs := render.Read(res.After).Screen(p); len(vs)+len(fs) > 0 {
						t.Errorf("%s, %s: %s, thinking %v, refuses it after the repair: %v %v", version, w.Name, p.Version, thinking, vs, fs)
					}
				}
			}
		}
	}
}
