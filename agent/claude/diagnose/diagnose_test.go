package diagnose_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mend/agent/claude/diagnose"
	"mend/agent/claude/transcript"
	"mend/change"
	"mend/internal/test/claude"
	"mend/internal/test/storetest"
	"mend/repair"
)

var ref = change.Ref{Kind: change.KindSession, Project: "-home-user", Session: claude.Session}

func newCase(data []byte) *repair.Case { return caseOn("2.1.330", data) }

func caseOn(version string, data []byte) *repair.Case {
	return diagnose.New(diagnose.Source{Ref: ref, Data: data, Version: version})
}

// blocks returns how many blocks of the transcript are in the request.
func blocks(c *repair.Case) int { return len(claude.Expected(diagnose.StateOf(c))) }

// transcriptAfter returns the transcript after the plan.
func transcriptAfter(t *testing.T, data []byte, r repair.Result) []byte {
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

// TestRetiredModel: Claude Code continues a session of a retired model with its default model, and leaves out the
// thinking of the retired one. An invalid signature in it breaks nothing.
func TestRetiredModel(t *testing.T) {
	data := claude.ByName("signature a number").Broken()
	for model, thinks := range map[string]bool{
		"claude-opus-5-5": true, "claude-opus-4-5-20251101": true, "claude-sonnet-4-5-20250929": false,
		"claude-sonnet-4-5": false, "claude-opus-4-1-20250805": false, "claude-sonnet-4-20250514": false,
		"claude-3-7-sonnet-20250219": false, "claude-sonnet-4-6": true,
	} {
		c := newCase(bytes.ReplaceAll(data, []byte(`"model":"claude-opus-5-5"`), fmt.Appendf(nil, `"model":%q`, model)))
		sent := strings.Contains(strings.Join(claude.Expected(diagnose.StateOf(c)), "\n"), `"type":"thinking"`)
		if broken := slices.ContainsFunc(repair.Diagnose(c), isBroken); sent != thinks || broken != thinks {
			t.Errorf("%s: thinking is sent: %t, want %t; broken: %t", model, sent, thinks, broken)
		}
	}
}

// TestStrippedThinking: after the provider refused thinking, Claude Code records that it no longer sends the thinking
// before the record, or from one block on. An invalid signature in it breaks nothing.
func TestStrippedThinking(t *testing.T) {
	data := claude.ByName("signature a number").Broken()
	const lines = `{"parentUuid":%q,"type":"attachment","uuid":"x1","sessionId":%q,"attachment":{"type":"thinking_stripped",%s}}
{"parentUuid":"x1","type":"user","uuid":"x2","sessionId":%q,"message":{"role":"user","content":"go on"}}
`
	for scope, want := range map[string]int{
		`"scope":"all"`: 0,
		`"scope":"partial","from":{"messageId":"msg_01baseline02","thinkingIndex":0}`: 1,
		`"scope":"partial","from":{"messageId":"msg_01baseline02","thinkingIndex":9}`: 0,
		`"scope":"partial","from":{"messageId":"unknown","thinkingIndex":0}`:          0,
	} {
		added := fmt.Appendf(nil, lines, leaf(data), claude.Session, scope, claude.Session)
		c := newCase(append(slices.Clip(data), added...))
		sent := strings.Count(strings.Join(claude.Expected(diagnose.StateOf(c)), "\n"), `"type":"thinking"`)
		if broken := slices.ContainsFunc(repair.Diagnose(c), isBroken); sent != want || broken && want == 0 {
			t.Errorf("%s: %d blocks of thinking are sent, want %d; broken: %t", scope, sent, want, broken)
		}
	}
}

// TestThinkingOnlyAnswer: an answer that has only thinking of another model is not sent.
func TestThinkingOnlyAnswer(t *testing.T) {
	last := `{"parentUuid":%q,"type":"user","uuid":"a1","sessionId":%q,"message":{"role":"user","content":"go on"}}
{"parentUuid":"a1","type":"assistant","uuid":"a2","sessionId":%q,"message":{"id":"m1","role":"assistant","model":"claude-sonnet-5","content":[{"type":"thinking","thinking":"Hm.","signature":"x"}]}}
{"parentUuid":"a2","type":"user","uuid":"a3","sessionId":%q,"message":{"role":"user","content":"[Request interrupted by user]"}}
{"parentUuid":"a3","type":"assistant","uuid":"a4","sessionId":%q,"message":{"id":"m2","role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"Yes."}]}}
`
	base := newCase(claude.Baseline)
	id := claude.Session
	data := append(slices.Clip(claude.Baseline), fmt.Appendf(nil, last, leaf(claude.Baseline), id, id, id, id)...)
	if got, want := blocks(newCase(data)), blocks(base)+3; got != want {
		t.Errorf("%d blocks are sent, want %d", got, want)
	}
}

// leaf returns the uuid of the last record of a transcript that has one.
func leaf(data []byte) (uuid string) {
	for line := range bytes.Lines(data) {
		var r struct{ UUID string }
		if json.Unmarshal(line, &r) == nil && r.UUID != "" {
			uuid = r.UUID
		}
	}
	return uuid
}

// TestDamages: on each version each kind of damage has the finding that the table lists, and its repair restores the
// blocks that the real program then sends.
func TestDamages(t *testing.T) {
	// Transcripts of 10 and 34 MB. Smaller ones have the same rules and places.
	large := []string{"two large images in early prompts", "PDF larger than a request, in a result"}
	for _, d := range claude.Damages {
		if !storetest.AllCases() && slices.Contains(large, d.Name) {
			continue
		}
		for _, version := range claude.Versions {
			t.Run(d.Name+" "+version, func(t *testing.T) {
				if o, ok := d.On(version); ok {
					testDamage(t, d, version, o)
				}
			})
		}
	}
}

func testDamage(t *testing.T, d claude.Damage, version string, o claude.Effect) {
	data := d.Broken()
	c := caseOn(version, data)
	var rules []string
	for _, f := range repair.Diagnose(c) {
		if !isBroken(f) {
			continue
		}
		rules = append(rules, f.Rule)
		if (f.Fix == "") != d.Reported || d.Reported && f.WhyNot == "" {
			t.Errorf("%s has the fix %q: %s", f.Rule, f.Fix, f.WhyNot)
		}
	}
	if o.Rule == "" && len(rules) > 0 || o.Rule != "" && !slices.Contains(rules, o.Rule) {
		t.Fatalf("found %v, want %q", rules, o.Rule)
	}
	r, err := repair.Plan(claude.Session, c, repair.Request{})
	if err != nil || slices.ContainsFunc(r.Remaining, isBroken) != d.Reported {
		t.Fatalf("Plan leaves %v, %v", r.Remaining, err)
	}
	repaired := transcriptAfter(t, data, r)
	if o.Rule == "" && !bytes.Equal(repaired, data) {
		t.Error("a healthy transcript is changed")
	}
	now := caseOn(version, repaired)
	if sent := !o.Refused || o.After > 0; sent { // the program sends no request with some kinds of damage
		if got := blocks(now); got != o.After {
			t.Errorf("%d blocks reach the request after the repair, want %d", got, o.After)
		}
	}
	if again, err := repair.Plan(claude.Session, now, repair.Request{}); err != nil || len(again.Plan.Ops) > 0 {
		t.Errorf("a second plan has %d ops, %v", len(again.Plan.Ops), err)
	}
	if bytes.Equal(repaired, data) {
		return
	}
	checkRequestChanges(t, c, now, r)
	if before, n := cycles(data), cycles(repaired); n > before {
		t.Errorf("%d records are their own ancestors, %d before the repair: versions before 2.1 hang", n, before)
	}
	if !bytes.HasPrefix(repaired, data) && !slices.ContainsFunc(rules, claude.Rewrites) {
		t.Error("the repair does not only append")
	}
}

// cycles counts the records that are their own ancestors.
func cycles(data []byte) (n int) {
	parents := map[string]string{}
	for line := range bytes.Lines(data) {
		var r struct{ UUID, ParentUUID string }
		if json.Unmarshal(line, &r) == nil && r.UUID != "" {
			parents[r.UUID] = r.ParentUUID
		}
	}
	for id := range parents {
		up := parents[id]
		for range parents {
			if up == id {
				n++
				break
			}
			up = parents[up]
		}
	}
	return n
}

func isBroken(d repair.Diagnosis) bool { return d.Severity == repair.Broken }

// TestStubs: a transcript in which Claude Code finds no conversation is broken. A finding without a fix says why.
func TestStubs(t *testing.T) {
	for _, s := range claude.Stubs() {
		found := repair.Diagnose(newCase(s.Data))
		if broken := slices.ContainsFunc(found, isBroken); broken != s.Dies {
			t.Errorf("%s: broken %t, want %t: %+v", s.Name, broken, s.Dies, found)
		}
		isLatent := func(d repair.Diagnosis) bool { return d.Rule == "nothing_readable" && d.Severity == repair.Latent }
		want := slices.Contains([]string{"a note", "a note after a prompt without a message", "a compaction alone"}, s.Name)
		if latent := slices.ContainsFunc(found, isLatent); latent != want {
			t.Errorf("%s: latent %t, want %t: %+v", s.Name, latent, want, found)
		}
		for _, d := range found {
			if d.Fix == "" && d.WhyNot == "" {
				t.Errorf("%s: %s has no fix, and does not say why", s.Name, d.Rule)
			}
		}
	}
}

// TestTornLine: a torn line is lost content if it was a prompt, an answer or a result. For a prompt nothing else shows
// this if its answer came within 5 seconds, because 2.1 then joins the records. Any other torn line is a note.
func TestTornLine(t *testing.T) {
	lines := claude.New().Lines
	prompt := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"type":"user"`)) })
	var second int
	for i := prompt + 1; i < len(lines); i++ {
		if r := transcript.NewLine(lines[i]).Record; r != nil && r.IsPrompt() {
			second = i
			break
		}
	}
	file := func(lines ...[]byte) []byte { return append(bytes.Join(lines, []byte("\n")), '\n') }
	torn := slices.Clone(lines)
	torn[second] = torn[second][:len(torn[second])/2]
	begun := slices.Clone(torn)
	begun[second] = begun[second][:40]
	context := slices.IndexFunc(lines, func(l []byte) bool { return bytes.Contains(l, []byte(`"attachment":`)) })
	note := slices.Clone(lines)
	note[context] = note[context][:len(note[context])/2]
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"healthy", file(lines...), ""},
		{"torn", file(torn...), fmt.Sprintf("lost line %d cannot be read", second+1)},
		{"begun", file(begun...), fmt.Sprintf("lost line %d cannot be read", second+1)},
		{"context torn", file(note...), fmt.Sprintf("note line %d cannot be read", context+1)},
		{"blank", append(file(lines...), "\n \n"...), ""},
		{"NUL bytes", append(file(lines...), 0, 0, 0), fmt.Sprintf("note line %d cannot be read", len(lines)+1)},
		{"no message", claude.ByName("message null").Broken(), "lost line 55 cannot be read"},
		{"two", append(file(torn...), `{"parentUuid":"x"`+"\n"...), fmt.Sprintf("lost line %d and 1 more cannot be read", second+1)},
		{"compacted", append(append(file(torn...), `{"parentUuid":null,"type":"system","subtype":"compact_boundary","uuid":"b","compactMetadata":{}}`+"\n"...), lines[len(lines)-1]...), fmt.Sprintf("note line %d cannot be read", second+1)},
	} {
		got := ""
		for _, d := range repair.Diagnose(newCase(c.data)) {
			if strings.HasSuffix(d.Text, "cannot be read") && (d.Severity == repair.Note || d.Severity == repair.Lost && d.Class == repair.LostContent) {
				got = d.Severity.String() + " " + d.Text
			}
		}
		if got != c.want {
			t.Errorf("%s: found %q, want %q", c.name, got, c.want)
		}
	}
}

// TestLastPromptWithoutParent: a prompt that has a lost parent, no answer and no later record is a note without a fix.
func TestLastPromptWithoutParent(t *testing.T) {
	line := []byte(`{"parentUuid":"00000000-0000-4000-8000-000000000009","isSidechain":false,"type":"user","uuid":"00000000-0000-4000-8000-000000000001","timestamp":"2026-11-22T15:05:00.000Z","version":"2.1.330","message":{"role":"user","content":"remember this"}}`)
	tr := claude.New()
	tr.Lines = slices.Insert(tr.Lines, len(tr.Lines)-20, line)
	found := repair.Diagnose(newCase(tr.Bytes()))
	if len(found) != 1 || found[0].Rule != "branch_left_out" || found[0].Severity != repair.Note || !strings.Contains(found[0].Why, `"remember this"`) || found[0].Fix != "" {
		t.Errorf("found %q, want a note of the prompt", findings(found))
	}
}

// TestTwoProcessesInOrder: two processes in print mode that write their turns one after the other are distinguished from
// a rewind by the time of the earlier answer.
func TestTwoProcessesInOrder(t *testing.T) {
	data := claude.ByName("gone back in print mode").Broken()
	if found := repair.Diagnose(newCase(data)); len(found) != 1 || found[0].Severity != repair.Note {
		t.Fatalf("went back: %q, want one note", findings(found))
	}
	lines := bytes.Split(data, []byte("\n"))
	byParent := map[string][]int{}
	for i, l := range lines {
		if r := transcript.NewLine(l).Record; r != nil && r.IsPrompt() {
			byParent[r.Parent] = append(byParent[r.Parent], i)
		}
	}
	for _, two := range byParent {
		if len(two) == 2 {
			first, second := transcript.NewLine(lines[two[0]]).Record.Timestamp, transcript.NewLine(lines[two[1]]).Record.Timestamp
			lines[two[1]] = bytes.ReplaceAll(lines[two[1]], []byte(second), []byte(first))
		}
	}
	c := newCase(bytes.Join(lines, []byte("\n")))
	if found := repair.Diagnose(c); len(found) != 1 || found[0].Rule != "branch_left_out" || found[0].Severity != repair.Broken || found[0].Fix == "" {
		t.Errorf("two processes: %q, want one that is broken, with a fix", findings(found))
	}
}

// TestReminders: the output of a hook and a note of Claude Code itself are sent as reminders, a prompt as it is. The
// records are from 2.1.332.
func TestReminders(t *testing.T) {
	for members, want := range map[string]string{
		``: "Stop hook feedback:\nno",
		`"isMeta":true,"ownNote":true,"turnCompanion":true,`:                      "<system-reminder>\nStop hook feedback:\nno\n</system-reminder>",
		`"isMeta":true,"rowSource":"hook","hookText":true,"hookTextLead":"Lead",`: "<system-reminder>\nLead\nStop hook feedback:\nno\n</system-reminder>",
	} {
		line := fmt.Sprintf(`{"parentUuid":null,"type":"user",%s"uuid":"x1","sessionId":%q,"message":{"role":"user","content":"Stop hook feedback:\nno"}}`, members, claude.Session)
		turns := diagnose.StateOf(newCase([]byte(line + "\n"))).Request().Turns
		if got := turns[0].Blocks[0].Text; got != want {
			t.Errorf("%s: %q is sent, want %q", members, got, want)
		}
	}
}

// TestRefusedFileGrowth: errors about files that are in no record, or in one large record, take linear time: a second. Quadratic
// work takes twenty.
func TestRefusedFileGrowth(t *testing.T) {
	const n = 30_000
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}},`
	for name, content := range map[string]string{"no file": `"text"`, "many files": "[" + strings.Repeat(image, n) + `{"type":"text","text":"x"}]`} {
		var b bytes.Buffer
		fmt.Fprintf(&b, `{"parentUuid":null,"type":"user","uuid":"e-1","sessionId":%q,"message":{"role":"user","content":%s}}`+"\n", claude.Session, content)
		for i := range n {
			fmt.Fprintf(&b, `{"parentUuid":"e%d","type":"assistant","uuid":"e%d","sessionId":%q,"message":{"id":"m%d","role":"assistant","content":[{"type":"text","text":"image exceeds"}]},"isApiErrorMessage":true,"healsDistinctCarrier":%t}`+"\n", i-1, i, claude.Session, i, i%2 == 0)
		}
		start := time.Now()
		repair.Diagnose(newCase(b.Bytes()))
		if took := time.Since(start); took > 6*time.Second {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

// TestRefusedFile: for each stored error of a refused file Claude Code leaves out one more file: first the nearest one
// before the error, then the one before that. A cleared result counts as a file.
func TestRefusedFile(t *testing.T) {
	const refused = `{"parentUuid":%q,"type":"user","uuid":"p%[2]d","sessionId":%[3]q,"message":{"role":"user","content":"again"}}
{"parentUuid":"p%[2]d","type":"assistant","uuid":"e%[2]d","sessionId":%[3]q,"message":{"id":"e%[2]d","role":"assistant","model":"<synthetic>","content":[{"type":"text","text":"Image base64 size (5MB) exceeds API limit (5MB)."}]},"errorDetails":"Image base64 size (5MB) exceeds API limit (5MB).","isApiErrorMessage":true,"healsDistinctCarrier":true}
`
	for _, c := range []struct {
		name    string
		cleared bool // the result with an image that Claude Code accepts
		errors  int
		images  int // sent, of those that the provider accepts
		broken  bool
	}{
		{"none", false, 0, 1, false},
		{"large image in the last prompt", false, 0, 1, true},
		{"large image in the last prompt", false, 1, 1, false},
		{"large image in an early prompt", false, 1, 0, true},
		{"large image in an early prompt", false, 2, 0, false},
		{"large image in an early prompt", true, 1, 0, true},
		{"large image in a result", false, 2, 0, false},
	} {
		data := claude.Baseline
		if c.name != "none" {
			data = claude.ByName(c.name).Broken()
		}
		leaf, lines := "", bytes.Split(data, []byte("\n"))
		for i, l := range lines {
			r := transcript.NewLine(l).Record
			if r == nil || !r.InChain() {
				continue
			}
			leaf = r.UUID
			if from := bytes.Index(l, []byte(`[{"type":"image"`)); c.cleared && from >= 0 && bytes.Contains(l, []byte(`"tool_result"`)) {
				lines[i] = slices.Concat(l[:from], []byte(`"[Old tool result content cleared]"`), l[from+bytes.Index(l[from:], []byte("]"))+1:])
			}
		}
		data = bytes.TrimSuffix(bytes.Join(lines, []byte("\n")), []byte("\n"))
		for i := range c.errors {
			data = fmt.Appendf(append(data, '\n'), strings.TrimSuffix(refused, "\n"), leaf, i, claude.Session)
			leaf = fmt.Sprint("e", i)
		}
		one := newCase(append(data, '\n'))
		images := strings.Count(strings.Join(claude.Expected(diagnose.StateOf(one)), "\n"), `"type":"image"`)
		if found := repair.Diagnose(one); images != c.images || slices.ContainsFunc(found, isBroken) != c.broken {
			t.Errorf("%+v: %d images are sent; %q", c, images, findings(found))
		}
	}
}

// TestUnknownTypes: a record of an unknown type is a finding without a fix if a newer version wrote last. The known
// versions skip it, and mend knows all of their own types.
func TestUnknownTypes(t *testing.T) {
	for _, c := range []struct {
		version, kind string
		found         bool
	}{
		{"2.1.330", "brand-new", false},
		{transcript.Version, "brand-new", false},
		{"2.9.0", "brand-new", true},
		{"2.9.0", "cost-state", false},
		{"2.9.0", "progress", false},
	} {
		tr := claude.New()
		tr.Lines = append(tr.Lines, []byte(`{"type":"`+c.kind+`","sessionId":"`+claude.Session+`"}`))
		found := repair.Diagnose(caseOn(c.version, tr.Bytes()))
		isUnknown := len(found) == 1 && found[0].Rule == "unknown_type" && found[0].Severity == repair.Note && found[0].Fix == "" && strings.Contains(found[0].Why, "brand-new")
		if isUnknown != c.found || !isUnknown && len(found) > 0 {
			t.Errorf("%s in a transcript of %s: %q", c.kind, c.version, findings(found))
		}
	}
}

// TestNewerBlocks: content that no known version sends is broken if a known version wrote last, and a note without a
// fix if a newer version did.
func TestNewerBlocks(t *testing.T) {
	for name, hasFix := range map[string]bool{"unknown block": false, "foreign field": true, "citations a text": false, "unknown block in a result": false} {
		for version, want := range map[string]repair.Severity{transcript.Version: repair.Broken, "3.0.0": repair.Note} {
			data := claude.ByName(name).Broken()
			found := repair.Diagnose(caseOn(version, data))
			if len(found) != 1 || found[0].Severity != want || (found[0].Fix != "") != (hasFix && want == repair.Broken) {
				t.Errorf("%s in a transcript of %s: %q, want %s", name, version, findings(found), want)
			}
		}
	}
}

// TestTornLines: torn lines take linear time, although each may be the beginning of a record that ends with the file.
// Quadratic work would take a minute.
func TestTornLines(t *testing.T) {
	data := []byte(strings.Repeat(`{"a":"`+strings.Repeat("x", 2000)+`","b":`+"\n", 4000))
	start := time.Now()
	found := repair.Diagnose(newCase(data))
	if took := time.Since(start); len(found) != 1 || found[0].Rule != "nothing_readable" || took > 20*time.Second {
		t.Errorf("found %v in %v", findings(found), took)
	}
}

func findings(all []repair.Diagnosis) (lines []string) {
	for _, d := range all {
		lines = append(lines, fmt.Sprintf("%s %s %s: %s", d.Rule, d.Severity, d.Ref, d.Why))
	}
	return lines
}

// checkRequestChanges checks that content that was reported as missing is sent after the repair, so that the request
// changes.
func checkRequestChanges(t *testing.T, before, after *repair.Case, r repair.Result) {
	t.Helper()
	isRefusal := func(d repair.Diagnosis) bool {
		return isBroken(d) && d.Class != repair.MissingHistory && d.Rule != "line_unread"
	}
	if len(r.Unfixable) > 0 || diagnose.StateOf(before).Conversation().Hidden || slices.ContainsFunc(r.Fixed, isRefusal) {
		return
	}
	if cmp.Equal(claude.Expected(diagnose.StateOf(before)), claude.Expected(diagnose.StateOf(after))) {
		t.Errorf("the repair of %v does not change the request", findings(r.Fixed))
	}
}
