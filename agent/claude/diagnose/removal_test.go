package diagnose_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"mend/agent/claude/diagnose"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/request"
	"mend/internal/test/claude"
	"mend/repair"
)

// answered returns a transcript of two prompts. The answer to the first has the given content.
func answered(content string) []byte {
	const id = "00000000-0000-4000-8000-00000000000"
	var b strings.Builder
	for i, message := range []string{
		`{"role":"user","content":"hello"}`,
		`{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","stop_reason":"end_turn","content":[` + content + `]}`,
		`{"role":"user","content":"again"}`,
		`{"id":"msg_2","type":"message","role":"assistant","model":"claude-x","stop_reason":"end_turn","content":[{"type":"text","text":"bye"}]}`,
	} {
		parent, kind := "null", "user"
		if i > 0 {
			parent = fmt.Sprintf(`"%s%d"`, id, i-1)
		}
		if i%2 == 1 {
			kind = "assistant"
		}
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"cwd":"/home/user","sessionId":%q,"version":"2.1.330","type":%q,"message":%s,"uuid":"%s%d","timestamp":"2026-01-01T00:00:0%d.000Z"}`+"\n",
			parent, claude.Session, kind, message, id, i, i)
	}
	return []byte(b.String())
}

// TestRemoveSeveral: only the rejected blocks of a record are removed, although each removal changes the indexes of
// later blocks.
func TestRemoveSeveral(t *testing.T) {
	thinking := func(n string) string { return `{"type":"thinking","thinking":"` + n + `","signature":"c2ln` + n + `"}` }
	text := func(s string) string { return `{"type":"text","text":"` + s + `"}` }
	const off = "messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."
	for _, content := range []string{
		thinking("t1") + "," + thinking("t2") + "," + text("AAA"),
		thinking("t1") + "," + text("AAA") + "," + thinking("t2") + "," + text("BBB"),
		text("AAA") + "," + thinking("t1") + "," + thinking("t2") + "," + thinking("t3"),
	} {
		data := answered(content)
		e := diagnose.ParseAPIError([]byte(off))
		r, err := repair.Plan(claude.Session, newCase(data), repair.Request{Error: &e})
		if err != nil || len(r.Fixed) == 0 {
			t.Fatalf("%s: Plan fixes %v, %v", content, r.Fixed, err)
		}
		last := r.Plan.Ops[len(r.Plan.Ops)-1]
		for _, op := range r.Plan.Ops {
			if bytes.Contains(op.Post.Data, []byte(`"msg_1"`)) {
				last = op
			}
		}
		got := string(last.Post.Data)
		for _, s := range []string{"AAA", "BBB"} {
			if strings.Contains(content, s) != strings.Contains(got, s) {
				t.Errorf("%s became %s", content, got)
			}
		}
		if strings.Contains(got, `"thinking"`) {
			t.Errorf("thinking stays in %s", got)
		}
	}
}

// TestRemoveNamed: of two thinking blocks in a record the one that the error names is removed.
func TestRemoveNamed(t *testing.T) {
	const content = `{"type":"thinking","thinking":"t1","signature":"c2lnMQ"},{"type":"thinking","thinking":"t2","signature":"c2lnMg"},{"type":"text","text":"AAA"}`
	for i, want := range []string{"t2", "t1"} {
		data := answered(content)
		e := diagnose.ParseAPIError(fmt.Appendf(nil, "messages.1.content.%d: Invalid `signature` in `thinking` block", i))
		r, err := repair.Plan(claude.Session, newCase(data), repair.Request{Error: &e})
		if err != nil || len(r.Fixed) != 1 {
			t.Fatalf("Plan fixes %v, %v, want one block", r.Fixed, err)
		}
		got := string(r.Plan.Ops[0].Post.Data)
		if !strings.Contains(got, `"thinking":"`+want+`"`) || strings.Count(got, `"thinking":"t`) != 1 {
			t.Errorf("content %d: %s is left, want %s", i, got, want)
		}
	}
}

// TestNothingEncrypted: signed thinking does not count as thinking that another provider encrypted.
func TestNothingEncrypted(t *testing.T) {
	e := diagnose.ParseAPIError([]byte("The encrypted content gAAA could not be verified. Reason: Encrypted content organization_id did not match the target organization."))
	e.Class = repair.EncryptedReasoning
	data := answered(`{"type":"thinking","thinking":"t1","signature":"c2lnMQ"},{"type":"text","text":"AAA"}`)
	r, err := repair.Plan(claude.Session, newCase(data), repair.Request{Error: &e})
	if err != nil || len(r.Fixed)+len(r.Unfixable)+len(r.Suspects) != 0 {
		t.Errorf("Plan fixes %v, cannot fix %v, suspects %v, %v, want nothing", r.Fixed, r.Unfixable, r.Suspects, err)
	}
}

// TestEmptyFirstPrompt: the repair of a first prompt without content removes no answer.
func TestEmptyFirstPrompt(t *testing.T) {
	data := bytes.Replace(answered(`{"type":"text","text":"ok"}`), []byte(`"content":"hello"`), []byte(`"content":[]`), 1)
	c := newCase(data)
	r, err := repair.Plan(claude.Session, c, repair.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if after := blocks(newCase(transcriptAfter(t, data, r))); after < blocks(c) {
		t.Errorf("%d blocks are sent after the repair, %d before; fixed %v", after, blocks(c), r.Fixed)
	}
}

// TestBoundThinkingOfOlderVersions: for a version that does not repeat a request without bound thinking, the repair
// also removes the thinking that it invalidates.
func TestBoundThinkingOfOlderVersions(t *testing.T) {
	data := claude.ByName("call id with a colon").Broken()
	for version, removed := range map[string]bool{"2.1.169": true, diagnose.HealsBound: false, "2.1.332": false, "": false} {
		r, err := repair.Plan(claude.Session, caseOn(version, data), repair.Request{})
		if err != nil || r.Plan.Cause.Bound == nil || r.Plan.Cause.Bound.Spoiled == 0 || r.Plan.Cause.Bound.Removed != removed {
			t.Errorf("%q: the plan spoils %+v, %v, want it removed %t", version, r.Plan.Cause.Bound, err, removed)
		}
	}
}

// TestAttachedImage: the image of a file that a prompt mentions, or of a prompt that waited, is part of the request. One that the provider refuses
// is replaced by a text, and everything else is sent as before.
func TestAttachedImage(t *testing.T) {
	const id = "00000000-0000-4000-8000-00000000000"
	const image = `{"parentUuid":"%s0","isSidechain":false,"type":"attachment","attachment":%s,"uuid":"%s8","timestamp":"2026-01-01T00:00:00.500Z"}` + "\n"
	const file = `{"type":"file","content":{"type":"image","file":{"base64":%q,"type":"image/png"}}}`
	const queued = `{"type":"queued_command","prompt":[{"type":"text","text":"more"},` +
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":%q}}]}`
	for i, size := range []int{0, 5<<20 + 4, 0, 5<<20 + 4} {
		form := file
		if i > 1 {
			form = queued
		}
		png := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
		png += strings.Repeat("A", max(0, size-len(png)))
		data := answered(`{"type":"text","text":"a picture"}`)
		prompt, rest, _ := bytes.Cut(data, []byte("\n"))
		rest = bytes.Replace(rest, []byte(`"parentUuid":"`+id+`0"`), []byte(`"parentUuid":"`+id+`8"`), 1)
		data = slices.Concat(prompt, []byte("\n"), fmt.Appendf(nil, image, id, fmt.Sprintf(form, png), id), rest)
		sent := blocks(newCase(data))
		r, err := repair.Plan(claude.Session, newCase(data), repair.Request{})
		if err != nil || sent != 5 || (len(r.Fixed) > 0) != (size > 0) {
			t.Fatalf("size %d: %d blocks, Plan fixes %v, %v", size, sent, r.Fixed, err)
		}
		if size == 0 {
			continue
		}
		c := newCase(transcriptAfter(t, data, r))
		got := strings.Join(claude.Expected(diagnose.StateOf(c)), "\n")
		want := sent
		if form == queued {
			want-- // the text is in the context, which is not counted
		}
		if blocks(c) != want || slices.ContainsFunc(repair.Diagnose(c), isBroken) || strings.Contains(got, "AAAA") {
			t.Errorf("after the repair: %v, %d blocks:\n%.500s", findings(repair.Diagnose(c)), blocks(c), got)
		}
	}
}

// TestKilledBeforeAnswer: the context that was stored after the newest prompt counts, too.
func TestKilledBeforeAnswer(t *testing.T) {
	const id = "00000000-0000-4000-8000-00000000000"
	const attachment = `{"parentUuid":"%s%d","isSidechain":false,"type":"attachment","attachment":%s,"uuid":"%[1]s%[4]d","timestamp":"2026-01-01T00:10:00.500Z"}` + "\n"
	data := answered(`{"type":"text","text":"a picture"}`)
	prompt, _, _ := bytes.Cut(data, []byte("\n"))
	for _, size := range []int{0, 5<<20 + 4} {
		png := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
		png += strings.Repeat("A", max(0, size-len(png)))
		image := fmt.Sprintf(`{"type":"file","content":{"type":"image","file":{"base64":%q,"type":"image/png"}}}`, png)
		data := slices.Concat(prompt, []byte("\n"), fmt.Appendf(nil, attachment, id, 0, image, 8))
		q, _ := newCase(data).Next()
		r, err := repair.Plan(claude.Session, newCase(data), repair.Request{})
		if err != nil || len(q.Turns) == 0 || q.Turns[0].Blocks[0].Type != request.Image || (len(r.Fixed) > 0) != (size > 0) {
			t.Errorf("size %d: %v, Plan fixes %v", size, err, r.Fixed)
		}
		if size > 0 {
			if left := repair.Diagnose(newCase(transcriptAfter(t, data, r))); slices.ContainsFunc(left, isBroken) {
				t.Errorf("after the repair: %v", findings(left))
			}
		}
	}
	thoughts := func(data []byte) (n int) {
		q, _ := newCase(data).Next()
		for b := range q.Blocks {
			if b.IsThinking() {
				n++
			}
		}
		return n
	}
	asked := slices.Concat(claude.Baseline, fmt.Appendf(nil, `{"parentUuid":%q,"isSidechain":false,"type":"user","message":{"role":"user","content":"more"},"uuid":"%s0","timestamp":"2026-12-01T00:10:00.000Z"}`+"\n", lastAnswer(t), id))
	if n := thoughts(asked); n == 0 {
		t.Error("no thinking is sent")
	}
	if n := thoughts(fmt.Appendf(asked, attachment, id, 0, `{"scope":"all","type":"thinking_stripped"}`, 8)); n > 0 {
		t.Errorf("%d blocks of thinking are sent after it was refused", n)
	}
}

// lastAnswer returns the id of the last record of an answer in the baseline.
func lastAnswer(t *testing.T) (id string) {
	t.Helper()
	for line := range bytes.Lines(claude.Baseline) {
		if kind, _ := jsonedit.Get(line, "type"); string(kind) == `"assistant"` {
			raw, _ := jsonedit.Get(line, "uuid")
			id, _ = jsonedit.Text(raw)
		}
	}
	return id
}

// TestAttachedOrder: the images of two mentioned files are sent before the prompt, in the order of their records.
func TestAttachedOrder(t *testing.T) {
	const id = "00000000-0000-4000-8000-00000000000"
	const image = `{"parentUuid":"%s%d","isSidechain":false,"type":"attachment","attachment":{"type":"file","content":{"type":"image","file":` +
		`{"base64":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","type":"image/png"}}},` +
		`"uuid":"%[1]s%[3]d","timestamp":"2026-01-01T00:00:00.500Z"}` + "\n"
	prompt, rest, _ := bytes.Cut(answered(`{"type":"text","text":"two pictures"}`), []byte("\n"))
	rest = bytes.Replace(rest, []byte(`"parentUuid":"`+id+`0"`), []byte(`"parentUuid":"`+id+`9"`), 1)
	q, _ := newCase(slices.Concat(prompt, []byte("\n"), fmt.Appendf(nil, image, id, 0, 8), fmt.Appendf(nil, image, id, 8, 9), rest)).Next()
	var got []string
	for b := range q.Blocks {
		got = append(got, strings.TrimPrefix(b.Ref().Message, id))
	}
	if want := "8 9 0"; !strings.HasPrefix(strings.Join(got, " "), want) {
		t.Errorf("the blocks are of the records %v, want %s first", got, want)
	}
}

// TestSetAsideLinks: if records are set aside, their children get the nearest remaining ancestor as their parent. The
// other bytes of the children's lines stay.
func TestSetAsideLinks(t *testing.T) {
	data := answered(`{"type":"text","text":"hi"}`)
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines[3] = append(bytes.TrimSuffix(lines[3], []byte("\n")), `{"torn`+"\n"...)
	d := newCase(bytes.Join(lines, nil)).Draft()
	for _, n := range []string{"1", "2"} {
		aside := ref
		aside.Kind, aside.Message = change.KindMessage, "00000000-0000-4000-8000-00000000000"+n
		if err := d.Apply(repair.Fix{Edit: func(d repair.Editor) error { return d.SetAside(aside) }}); err != nil {
			t.Fatal(err)
		}
	}
	want := append(lines[0], bytes.Replace(lines[3], []byte(`-000000000002","isS`), []byte(`-000000000000","isS`), 1)...)
	if got := repair.RecordsOf(d.Case())[0].Data; !bytes.Equal(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
