package culprit

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/codex"
	agentopencode "mend/agent/opencode"
	"mend/change"
	"mend/internal/mend"
	"mend/internal/request"
	fixture "mend/internal/test/claude"
	rollouts "mend/internal/test/codex"
	"mend/internal/test/damage"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// TestCulpritOfEachRule: the provider's error about a damaged session leads to that session and block, and the repair
// changes the block. If the error names no block, the session breaks the rule.
func TestCulpritOfEachRule(t *testing.T) {
	storetest.Long(t)
	tried := map[string]bool{} // rules, and damage of megabytes
	t.Run("OpenCode", func(t *testing.T) {
		store := opencode.UnpackProviders(t)
		t.Setenv("XDG_CONFIG_HOME", opencode.WriteProviderConfig(t, "http://127.0.0.1:1"))
		for column, settings := range damage.ProviderColumns {
			for n, k := range damage.ProviderTable {
				rule := k.Want[column]
				if rule == damage.Alive || rule == damage.Dead || rule == damage.NoChange || rule == damage.Endless || k.OtherAccount || k.Unseen {
					continue
				}
				setting := settings[n%len(settings)]
				large := strings.Contains(k.Name, "11 MB") || strings.Contains(k.Name, "large image")
				if (tried[rule] || large && tried[k.Name]) && !storetest.AllCases() {
					continue
				}
				tried[rule], tried[k.Name] = true, true
				t.Run(setting+", "+k.Name, func(t *testing.T) {
					dir := storetest.FastDir(t)
					path, err := store.Write(dir, store.Base[setting])
					if err != nil {
						t.Fatal(err)
					}
					damage.Edit(t, path, store.Base[setting], k.Apply)
					damage.SQL(t, path)("update session set directory = ?", t.TempDir())
					testCulprit(t, agentopencode.Agent{}, path, store.Base[setting])
				})
			}
		}
	})
	t.Run("Claude Code", func(t *testing.T) {
		for _, d := range fixture.Damages {
			o, ok := d.On(fixture.Versions[0])
			if !ok || !o.Refused || tried[o.Rule] && !storetest.AllCases() {
				continue
			}
			tried[o.Rule] = true
			t.Run(d.Name, func(t *testing.T) {
				dir := t.TempDir()
				writeTranscript(t, dir, fixture.Session, d.Broken())
				writeTranscript(t, dir, "3cffaf78-5168-420a-bb87-c18ba6c93020", fixture.Baseline)
				testCulprit(t, claude.Agent{}, dir, fixture.Session)
			})
		}
	})
}

// writeTranscript writes a transcript into Claude Code's folder.
func writeTranscript(t *testing.T, dir, id string, data []byte) {
	t.Helper()
	name := filepath.Join(dir, "projects", "-work", id+".jsonl")
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		err = os.WriteFile(name, []byte(strings.ReplaceAll(string(data), fixture.Session, id)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// fillMessage returns the provider's message for a violation, with the position and the call id filled in.
func fillMessage(v request.Violation) string {
	from := 0
	if strings.Contains(v.Message, ".member.") { // Bedrock counts from 1 there
		from = 1
	}
	s := regexp.MustCompile(`\bN\b`).ReplaceAllString(v.Message, strconv.Itoa(v.N+from))
	if v.M >= 0 {
		s = regexp.MustCompile(`\bM\b`).ReplaceAllString(s, strconv.Itoa(v.M+from))
	}
	if b := v.Block; b != nil && (b.Type == request.ToolUse || b.Type == request.ToolResult) {
		s = regexp.MustCompile(`\bID\b`).ReplaceAllLiteralString(s, v.Block.ToolID)
	}
	return s
}

// testCulprit searches for a session by the provider's error about its next request, if the provider refuses it.
func testCulprit(t *testing.T, a agent.Agent, store, id string) {
	t.Helper()
	c, o := openStore(t, a, store)
	heads, err := c.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	head := heads[slices.IndexFunc(heads, func(h change.Head) bool { return h.ID == id })]
	m, err := c.Case(t.Context(), head)
	if err != nil {
		t.Fatalf("no case of %s: %v", id, err)
	}
	q, refused := m.Sent(repair.InUse)
	if len(refused) == 0 {
		return
	}
	v := refused[0]
	body, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]any{"type": "invalid_request_error", "message": fillMessage(v)}})
	text := fmt.Sprintf("API Error: 400 %s", body)
	readings := Readings(o.Agents, []byte(text))
	if readings[0].Rule != v.Rule && v.Rule[0] != 'B' { // Bedrock shares some of Anthropic's words
		t.Fatalf("%s of %s is read as %q (%s)", v.Message, v.Rule, readings[0].Rule, readings[0].Class)
	}
	culprits, err := Find(t.Context(), c, heads, readings, "", func() {})
	if err != nil || len(culprits) != 1 || culprits[0].Session.ID != id || culprits[0].Match.Rule != v.Rule {
		t.Fatalf("%s: Find = %+v, %v", text, culprits, err)
	}
	x := culprits[0]
	if e := x.Error; e.Index >= 0 && (x.Match.Degree != repair.BreaksThere || x.Match.N != v.N) {
		t.Errorf("%s: found at %d.%d, want %d.%d: %+v", text, x.Match.N, x.Match.M, v.N, v.M, x.Match)
	}
	r, err := c.ProposeRepair(t.Context(), head, repair.Request{Error: &x.Error})
	if err != nil {
		t.Fatal(err)
	}
	if v.N >= 0 && len(v.Refs) > 0 {
		isAboutMessage := func(d repair.Diagnosis) bool { return d.Message == v.Refs[0].Message }
		if !slices.ContainsFunc(r.Fixed, isAboutMessage) && !slices.ContainsFunc(r.Unfixable, isAboutMessage) {
			t.Errorf("%s: the repair is not about message %s (turn %d of %d): fixed %v, unfixable %v", text, v.Refs[0].Message, v.N, len(q.Turns), r.Fixed, r.Unfixable)
		}
	}
}

// openStore opens a store with a journal and a cache of its own.
func openStore(t *testing.T, a agent.Agent, store string) (*mend.Store, mend.Options) {
	t.Helper()
	dir := t.TempDir()
	o := mend.Options{Agents: []agent.Agent{a}, Store: store, Journal: mend.OpenJournal(filepath.Join(dir, "journal")), Cache: filepath.Join(dir, "cache")}
	c, err := mend.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	return c, o
}

// TestCulpritOfEachText: each text of testdata/errors.tsv leads to a session whose newest answer failed with it, even
// if no request shows the cause. Claude Code stores the error as an answer.
func TestCulpritOfEachText(t *testing.T) {
	storetest.Long(t)
	f, err := os.ReadFile("../../testdata/errors.tsv")
	if err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{} // kinds of errors
	for line := range strings.Lines(string(f)) {
		cells := strings.SplitN(strings.TrimSpace(line), "\t", 3)
		if strings.HasPrefix(line, "#") || cells[0] == "store" || cells[0] == "other" || tried[cells[0]] && !storetest.AllCases() {
			continue
		}
		tried[cells[0]] = true
		text := cells[2]
		t.Run(text[:min(len(text), 60)], func(t *testing.T) {
			dir := t.TempDir()
			stored, _ := json.Marshal([]any{map[string]any{"type": "text", "text": text}})
			failed := fmt.Sprintf(`{"parentUuid":"1e2cd0ea-54c6-4bb8-9de7-85c5dec19c3c","isSidechain":false,"type":"assistant","uuid":"cccccccc-0000-4000-8000-000000000001","timestamp":"2026-11-22T16:01:00.000Z","sessionId":%q,"version":"2.1.330","isApiErrorMessage":true,"message":{"id":"m","role":"assistant","model":"<synthetic>","content":%s}}`+"\n", fixture.Session, stored)
			writeTranscript(t, dir, "3cffaf78-5168-420a-bb87-c18ba6c93020", fixture.Baseline)
			writeTranscript(t, dir, fixture.Session, append(slices.Clone(fixture.Baseline), failed...))
			testFailed(t, claude.Agent{}, dir, fixture.Session, text)

			home := storetest.FastDir(t)
			id, err := testdata.Unpack(testdata.OpenCode11833, home)
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(home, "opencode", "opencode.db")
			damage.Edit(t, path, id, func(s damage.Store) {
				messages, _ := s.Records()
				s.Put(messages[damage.Goodbye].Edit(func(m map[string]any) {
					m["error"] = map[string]any{"name": "APIError", "data": map[string]any{"message": text, "statusCode": 400}}
				}))
			})
			damage.SQL(t, path)("update session set directory = ?", home)
			testFailed(t, agentopencode.Agent{}, path, id, text)
		})
	}
}

// testFailed searches for a session whose newest answer failed with a text.
func testFailed(t *testing.T, a agent.Agent, store, id, text string) {
	t.Helper()
	c, o := openStore(t, a, store)
	heads, err := c.Sessions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	culprits, err := Find(t.Context(), c, heads, Readings(o.Agents, []byte("Error: "+text)), "", func() {})
	if err != nil || len(culprits) != 1 || culprits[0].Session.ID != id || culprits[0].Match.Degree < repair.FailedWithIt {
		t.Errorf("%s: Find = %+v, %v", a.Name(), culprits, err)
	}
}

// TestCulpritOfHidden: if only the provider can check the content that an error is about, Find returns the sessions
// with such content, newest first. It prefers the session whose content the error quotes, and sessions that failed with
// it. Sessions of another agent or API are left out.
func TestCulpritOfHidden(t *testing.T) {
	const second, third, quoted = "01a203f4-30b5-7323-b4e5-490f536edf6d", "01a203f4-30b5-7323-b4e5-490f536edf6e", "gAAAsecondc90="
	root := t.TempDir()
	write := func(id, edit string, age time.Duration) {
		t.Helper()
		data := strings.ReplaceAll(string(testdata.Codex), testdata.CodexSession, id)
		switch edit {
		case "plain":
			data = regexp.MustCompile(`(?m)^.*"encrypted_content".*\n`).ReplaceAllString(data, "")
			data = regexp.MustCompile(`"id":"(fc|msg)_\w+",`).ReplaceAllString(data, "")
		case "quoted":
			data = regexp.MustCompile(`"encrypted_content":"[^"]*"`).ReplaceAllString(data, `"encrypted_content":"`+quoted+`"`)
		case "failed":
			data += `{"timestamp":"2026-11-22T16:00:00.000Z","ordinal":999,"type":"event_msg","payload":{"type":"task_complete","turn_id":"x","last_agent_message":null,"error":{"message":"{\"error\": {\"message\": \"The encrypted content gAAA...failed could not be verified.\", \"code\": \"invalid_encrypted_content\"}}"}}}` + "\n"
		}
		file := filepath.Join(root, strings.Replace(rollouts.File, testdata.CodexSession, id, 1))
		err := os.MkdirAll(filepath.Dir(file), 0o700)
		if err == nil {
			err = os.WriteFile(file, []byte(data), 0o600)
		}
		if err == nil {
			err = os.Chtimes(file, time.Time{}, time.Now().Add(-age))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "config.toml"), []byte("model_provider = \"fake\"\n[model_providers.fake]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const o8 = "The encrypted content gAAA...%s could not be verified. Reason: Encrypted content could not be decrypted or parsed."
	const o3 = "Item 'fc_00000160990' of type 'function_call' was provided without its required 'reasoning' item: 'rs_0000016099'."
	for _, c := range []struct {
		name   string
		edits  [3]string // of the sessions, the newest last
		text   string
		want   []string
		degree repair.Degree
	}{
		{"one", [3]string{"", "plain", "plain"}, fmt.Sprintf(o8, "xxxx"), []string{testdata.CodexSession}, repair.HasContent},
		{"all", [3]string{}, fmt.Sprintf(o8, "xxxx"), []string{third, second, testdata.CodexSession}, repair.HasContent},
		{"quoted", [3]string{"", "quoted", ""}, fmt.Sprintf(o8, "c90="), []string{second}, repair.HasQuoted},
		{"failed", [3]string{"failed", "", ""}, fmt.Sprintf(o8, "failed"), []string{testdata.CodexSession}, repair.FailedWithIt},
		{"named", [3]string{"", "", "plain"}, "session id: " + second + "\nERROR: " + fmt.Sprintf(o8, "xxxx"), []string{second}, repair.IDInText},
		{"an item", [3]string{"plain", "", "plain"}, o3, []string{second}, repair.HasQuoted},
		{"none", [3]string{"plain", "plain", "plain"}, fmt.Sprintf(o8, "xxxx"), nil, 0},
		{"words of another API", [3]string{}, "messages.1.content.0: Invalid `signature` in `thinking` block", nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			for i, id := range []string{testdata.CodexSession, second, third} {
				write(id, c.edits[i], time.Duration(3-i)*time.Hour)
			}
			s, o := openStore(t, codex.Agent{}, root)
			o.Agents = append(o.Agents, claude.Agent{})
			heads, err := s.Sessions(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			found, err := Find(t.Context(), s, heads, Readings(o.Agents, []byte(c.text)), "", func() {})
			var got []string
			for _, x := range found {
				got = append(got, x.Session.ID)
				if x.Match.Degree != c.degree || !x.Hidden && c.degree != repair.FailedWithIt {
					t.Errorf("%s has the degree %d, hidden %t, want %d", x.Session.ID, x.Match.Degree, x.Hidden, c.degree)
				}
			}
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("Find = %v, %v, want %v", got, err, c.want)
			}
		})
	}
	t.Run("another agent", func(t *testing.T) {
		dir := t.TempDir()
		writeTranscript(t, dir, fixture.Session, fixture.ByName("parent unknown").Broken())
		s, o := openStore(t, claude.Agent{}, dir)
		o.Agents = append(o.Agents, codex.Agent{})
		heads, err := s.Sessions(t.Context())
		for _, text := range []string{fmt.Sprintf(o8, "xxxx"), "Error: no rollout found for thread id 1"} {
			found, ferr := Find(t.Context(), s, heads, Readings(o.Agents, []byte(text)), "", func() {})
			if err != nil || ferr != nil || len(found) > 0 {
				t.Errorf("%s: Find = %v, %v, %v", text, found, err, ferr)
			}
		}
	})
}
