package codex_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/agent"
	"mend/agent/codex"
	"mend/change"
	"mend/internal/keep"
	"mend/internal/mend"
	fixture "mend/internal/test/codex"
	"mend/internal/test/storetest"
	"mend/repair"
	"mend/testdata"
)

// must ends the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, h *fixture.Home, journal string) *mend.Store {
	t.Helper()
	return openWithStep(t, h, journal, nil)
}

// openWithStep is open with a function that is called before each change of the disk, and may fail.
func openWithStep(t *testing.T, h *fixture.Home, journal string, step func(call string) error) *mend.Store {
	t.Helper()
	c, err := mend.Open(mend.Options{
		Agents: []agent.Agent{codex.Agent{Step: step}}, Store: h.Root(), AgentVersion: fixture.Version,
		Journal: mend.OpenJournal(journal), Cache: t.TempDir(),
	})
	must(t, err)
	return c
}

// createIndex creates the index, with a row for the session that names the path of its rollout.
func createIndex(h *fixture.Home, path string) {
	h.SQL("PRAGMA journal_mode = wal; CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, cwd TEXT NOT NULL DEFAULT '/w', first_user_message TEXT NOT NULL DEFAULT 'x', preview TEXT NOT NULL DEFAULT 'x', name TEXT);" +
		"INSERT INTO threads (id, rollout_path) VALUES ('" + testdata.CodexSession + "', '" + path + "')")
}

func session(t *testing.T, c *mend.Store) change.Head {
	t.Helper()
	heads, err := c.Sessions(t.Context())
	if err != nil || len(heads) != 1 || heads[0].ID != testdata.CodexSession {
		t.Fatalf("Sessions: %v, %v", heads, err)
	}
	return heads[0]
}

// openStore opens the store of a home as the agent does.
func openStore(h *fixture.Home) (agent.Store, error) {
	return codex.Agent{}.Open(agent.Located{Path: h.Root()}, nil)
}

// predictFate returns the result of the next prompt that mend predicts, in the form of [fixture.Reply.Fate].
func predictFate(t *testing.T, c *mend.Store, head change.Head) string {
	t.Helper()
	k, err := c.Case(t.Context(), head)
	must(t, err)
	for _, f := range k.Findings().All() {
		if slices.Contains([]string{"rollout-name", "session-meta", "rollout-packed", "rollout-empty", "thread-path", "ordinal-missing", "rollout-encoding"}, k.Describe(f).Rule) {
			return "dead"
		}
	}
	marked := slices.ContainsFunc(k.Findings().All(), func(f repair.Finding) bool { return f.Code == "encrypted-marker" })
	_, refused := k.Next()
	order := []string{"O4", "O11", "O3", "O2", "O1", "O5", "O6", "O13", "O14", "O8", "O9", "O12"} // of the endpoint
	best := "alive"
	for _, v := range refused {
		if best == "alive" || slices.Index(order, v.Rule) < slices.Index(order, best) {
			best = v.Rule
		}
	}
	if best == "alive" && marked {
		return "O8"
	}
	return best
}

// files returns all rollouts, and the rows of the index.
func files(t *testing.T, h *fixture.Home) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(h.Root(), func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(p, ".jsonl") {
			return err
		}
		data, err := os.ReadFile(p)
		all[p] = string(data)
		return err
	})
	must(t, err)
	all["index"] = h.Rows()
	return all
}

// apply carries out a plan, and returns the id of its entry.
func apply(t *testing.T, c *mend.Store, p change.Plan) string {
	t.Helper()
	e, err := c.Apply(t.Context(), p)
	must(t, err)
	return e.ID
}

// undo reverts an entry.
func undo(t *testing.T, c *mend.Store, id string) {
	t.Helper()
	p, err := c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{id}})
	must(t, err)
	apply(t, c, p)
}

// TestTornLines: a torn line is lost content if the model no longer gets the content of its record. Any other line that
// cannot be read is a note.
func TestTornLines(t *testing.T) {
	for name, want := range map[string]string{
		"prompt cut": "lost line-torn", "output cut": "lost line-torn", "answer cut": "lost line-torn",
		"output NUL": "note line-scrap", "last line cut": "note line-scrap", "NUL after the last line": "note line-scrap",
		"compacted record cut": "note line-scrap", "none": "",
	} {
		h := fixture.NewHome(t, "")
		h.Damage(fixture.ByName(name))
		c := open(t, h, t.TempDir())
		f, err := c.ScanOne(t.Context(), session(t, c))
		must(t, err)
		var got strings.Builder
		for _, d := range f.Diagnoses {
			if d.Rule == "line-torn" || d.Rule == "line-scrap" {
				got.WriteString(d.Severity.String() + " " + d.Rule)
			}
		}
		if got.String() != want {
			t.Errorf("%s: found %q, want %q", name, got.String(), want)
		}
	}
}

// TestNewerVersion: an unknown value, even in the first record, is not broken in a session of a version newer than mend
// knows, because that version may read it.
func TestNewerVersion(t *testing.T) {
	for _, version := range []string{"9.0.0", fixture.Version} {
		h := fixture.NewHome(t, "")
		h.Damage(fixture.Damage{Do: func(r *fixture.Rollout) {
			for old, now := range map[string]string{
				`"cli_version":"0.169.0"`: `"cli_version":"` + version + `"`, `"history_mode":"paginated"`: `"history_mode":"indexed"`,
				`{"type":"input_text","text":"say hello"}`: `{"type":"input_audio","input_audio":"x"}`,
			} {
				for i := range r.Lines {
					r.Lines[i] = bytes.Replace(r.Lines[i], []byte(old), []byte(now), 1)
				}
			}
		}})
		c := open(t, h, t.TempDir())
		f, err := c.ScanOne(t.Context(), session(t, c))
		must(t, err)
		broken := slices.ContainsFunc(f.Diagnoses, func(d repair.Diagnosis) bool { return d.Severity == repair.Broken })
		if isNewer := version != fixture.Version; broken == isNewer || len(f.Diagnoses) == 0 {
			t.Errorf("%s: found %+v, broken: %t", version, f.Diagnoses, broken)
		}
	}
}

// TestDamages predicts the result of each kind of damage, repairs the session and undoes the repair. make e2e-codex
// compares all of this with the real program.
func TestDamages(t *testing.T) {
	for _, d := range fixture.Damages() {
		if d.Index {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			if d.Name == "an output of 11 MB" {
				storetest.NeedAllCases(t)
			}
			h := fixture.NewHome(t, "")
			h.Damage(d)
			c := open(t, h, t.TempDir())
			head, before := session(t, c), files(t, h)
			if got := predictFate(t, c, head); got != d.Fate && d.Fate != "O8" {
				t.Errorf("predicted %s, want %s", got, d.Fate)
			}
			f, err := c.ScanOne(t.Context(), head)
			unknown := slices.ContainsFunc(f.Diagnoses, func(d repair.Diagnosis) bool { return d.Rule == "unknown-type" && d.Severity == repair.Latent })
			if err != nil || unknown != strings.HasPrefix(d.Name, "unknown ") {
				t.Errorf("a finding about an unknown type: %t, %v", unknown, err)
			}
			r, err := c.ProposeRepair(t.Context(), head, repair.Request{})
			must(t, err)
			if slices.ContainsFunc(r.Remaining, func(d repair.Diagnosis) bool { return d.Rule == "line-shared" }) {
				t.Error("a complete record that shares its line is not read")
			}
			if len(r.Plan.Ops) == 0 {
				if d.Fate != "alive" && d.Fate != "O8" && !d.Lost {
					t.Errorf("the session is %s, and there is no repair", d.Fate)
				}
				return
			}
			id := apply(t, c, r.Plan)
			head = session(t, c)
			if got := predictFate(t, c, head); got != "alive" {
				t.Errorf("after the repair the session is %s", got)
			}
			again, err := c.ProposeRepair(t.Context(), head, repair.Request{})
			if err != nil || len(again.Plan.Ops) > 0 {
				t.Errorf("a second repair has %d ops, error %v", len(again.Plan.Ops), err)
			}
			undo(t, c, id)
			if diff := gocmp.Diff(before, files(t, h)); diff != "" {
				t.Errorf("after the undo: %s", diff)
			}
		})
	}
}

// TestEncryptedMarker: a text in the place of encrypted content is reported, and the provider's error removes it.
func TestEncryptedMarker(t *testing.T) {
	for name, text := range map[string]string{"encrypted content made anonymous": "REDACTED", "compacted with a marker": "<removed>"} {
		h := fixture.NewHome(t, "")
		h.Damage(fixture.ByName(name))
		c := open(t, h, t.TempDir())
		head := session(t, c)
		r, err := c.ProposeRepair(t.Context(), head, repair.Request{Latent: true})
		if err != nil || len(r.Plan.Ops) > 0 || len(r.Remaining) != 1 || r.Remaining[0].Rule != "encrypted-marker" {
			t.Errorf("%s: the repair without an error has %d ops and leaves %v; error %v", name, len(r.Plan.Ops), r.Remaining, err)
		}
		e := c.ParseAPIError([]byte("[invalid_encrypted_content] The encrypted content " + text + " could not be verified."))
		r, err = c.ProposeRepair(t.Context(), head, repair.Request{Error: &e})
		must(t, err)
		apply(t, c, r.Plan)
		if got := predictFate(t, c, session(t, c)); got != "alive" {
			t.Errorf("%s: after the repair with the error the session is %s", name, got)
		}
	}
}

// TestErrorIndex: the index in an error names the item that Codex sends there. Before the items of a session that a
// classic model began it sends the instructions. A GPT-6 model gets the tools before them; where such a model began the
// session, both are stored.
func TestErrorIndex(t *testing.T) {
	for _, x := range []struct {
		stored, sent bool // the tools
		at           int
	}{{false, false, 3}, {true, true, 3}, {false, true, 4}, {true, false, 4}} {
		h := fixture.NewHome(t, "")
		h.Damage(fixture.ByName("a good image"), fixture.Damage{Do: func(r *fixture.Rollout) {
			if x.stored {
				r.Lines = slices.Insert(r.Lines, 2, []byte(`{"timestamp":"2026-11-22T15:51:04.500Z","ordinal":1,"type":"response_item","payload":{"type":"additional_tools","id":"at_1","role":"developer","tools":[]}}`))
			}
			for i, l := range r.Lines {
				if x.sent && bytes.Contains(l, []byte(`"type":"turn_context"`)) {
					r.Lines[i] = bytes.Replace(l, []byte(`"turn_id"`), []byte(`"comp_hash":"3000","turn_id"`), 1)
				}
			}
		}})
		c := open(t, h, t.TempDir())
		for at, ops := range map[int]int{x.at: 1, 7 - x.at: 0} {
			e := c.ParseAPIError(fmt.Appendf(nil, "Invalid 'input[%d].content[1].image_url'. Expected a base64-encoded data URL with an image MIME type.", at))
			r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{Error: &e})
			if err != nil || len(r.Plan.Ops) != ops {
				t.Errorf("%+v: the repair of item %d has %d ops, want %d; error %v", x, at, len(r.Plan.Ops), ops, err)
			}
		}
	}
}

// TestConflictedCopy: a copy beside the rollout, as a sync tool makes it, is not a session. If it is all that is left, it is.
func TestConflictedCopy(t *testing.T) {
	h := fixture.NewHome(t, "")
	h.Write(strings.Replace(fixture.File, ".jsonl", " (conflicted copy 2026-12-01).jsonl", 1), testdata.Codex)
	c := open(t, h, t.TempDir())
	if got := predictFate(t, c, session(t, c)); got != "alive" {
		t.Errorf("with a copy the session is %s", got)
	}
	must(t, os.Remove(h.Rollout()))
	r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{})
	if err != nil || len(r.Plan.Ops) == 0 {
		t.Errorf("the repair of the copy alone has %d ops, error %v", len(r.Plan.Ops), err)
	}
}

// TestRewind: going back to an earlier prompt begins another rollout of the session, which names the earlier one. mend
// lists the session once, with the rollout that Codex continues, and no change separates it from its beginning.
func TestRewind(t *testing.T) {
	const own = "01a22fd7-5d45-7890-8669-9edf7c829b84"
	h := fixture.NewHome(t, "")
	journal := t.TempDir()
	c := open(t, h, journal)
	k, err := c.Case(t.Context(), session(t, c))
	must(t, err)
	q, _ := k.Next()
	head, err := os.ReadFile(h.Rollout())
	must(t, err)
	name := strings.Replace(strings.Replace(fixture.File, "T15-51-04", "T16-00-00", 1), ".jsonl", "_"+own+".jsonl", 1)
	at := bytes.Count(head, []byte("\n"))
	meta := fmt.Appendf(nil, `{"timestamp":"2026-11-22T16:00:00.000Z","ordinal":%[2]d,"type":"session_meta","payload":{"id":%[1]q,"timestamp":"2026-11-22T16:00:00.000Z","cwd":"/home/user","originator":"codex_exec","cli_version":"0.171.0","history_mode":"paginated","history_base":{"thread_id":%[1]q,"end_ordinal_exclusive":%[2]d,"end_byte_offset":%[3]d}}}
`, testdata.CodexSession, at, len(head))
	prompt := fmt.Appendf(nil, `{"timestamp":"2026-11-22T16:00:01.000Z","ordinal":%d,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"again"}]}}
`, at+1)
	for i := range 17 { // too large for a plan without [mend.Restored.IsAside]
		prompt = fmt.Appendf(prompt, `{"timestamp":"2026-11-22T16:00:02.000Z","ordinal":%d,"type":"event_msg","payload":{"type":"agent_message","message":"%s"}}
`, at+2+i, strings.Repeat("x", 1<<20))
	}
	h.Write(name, append(meta, prompt...))
	for range 2 { // without and with a row
		c = open(t, h, journal)
		k, err = c.Case(t.Context(), session(t, c))
		must(t, err)
		if next, _ := k.Next(); len(next.Turns) != len(q.Turns)+1 || len(k.Findings().All()) != 0 {
			t.Errorf("the request has %d turns, want %d and one; found %v", len(next.Turns), len(q.Turns), k.Findings().All())
		}
		if _, err := os.Stat(filepath.Join(h.Root(), "state_5.sqlite")); err != nil {
			createIndex(h, filepath.Join(h.Root(), name))
		}
	}
	if forks, err := c.Forks(t.Context()); err != nil || len(forks) > 0 {
		t.Errorf("the session is a fork of itself: %v, %v", forks, err)
	}
	restoreLost(t, h, c, name)
	cleaned, err := c.ProposeClean(t.Context(), "sessions", agent.CleanRequest{Sessions: []change.Head{session(t, c)}})
	if err != nil || cleaned.Rows[change.KindSession.String()] != 2 {
		t.Fatalf("removing the session: %+v, %v", cleaned, err)
	}
	h.Write(name, append(bytes.Repeat([]byte("x"), 20), append(meta[len(meta)/2:], prompt...)...))
	r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{})
	if err != nil || len(r.Plan.Ops) > 0 || len(r.Remaining) == 0 {
		t.Errorf("the repair of a torn first record loses the beginning: %d ops, error %v", len(r.Plan.Ops), err)
	}
	h.Write(name, append(meta, prompt...))
	again := bytes.Replace(meta, []byte(`"thread_id":"`+testdata.CodexSession), []byte(`"thread_id":"`+own), 1)
	h.Write(strings.Replace(strings.Replace(name, "T16", "T17", 1), own, own[:35]+"5", 1), again)
	must(t, os.Remove(filepath.Join(h.Root(), "state_5.sqlite")))
	k, err = c.Case(t.Context(), session(t, c))
	must(t, err)
	if all := k.Findings().All(); len(all) != 1 || !strings.Contains(all[0].Text, "forked from "+testdata.CodexSession) {
		t.Errorf("a third rollout that names another byte: %v", all)
	}
}

// TestRepairBeforeRewind: a repair of what is in the rollout from before the user went back changes the later rollout
// alone, which then has all of the session. Records keep their ordinals.
func TestRepairBeforeRewind(t *testing.T) {
	encrypted := "The encrypted content gAAA...3456 could not be verified. Reason: Encrypted content could not be decrypted or parsed."
	for _, x := range []struct{ damage, text string }{{"reasoning twice", ""}, {"cut in the last answer", ""}, {"", encrypted}, {"reasoning twice", encrypted}} {
		h := fixture.NewHome(t, "")
		if x.damage != "" {
			h.Damage(fixture.ByName(x.damage))
		}
		for _, own := range []string{"01a22fd7-5d45-7890-8669-9edf7c829b84", "01a22fd7-5d45-7890-8669-9edf7c829b85"} { // the user went back twice
			goBack(t, h, own)
		}
		c := open(t, h, t.TempDir())
		before, want := files(t, h), expectedTexts(t, c)
		request := repair.Request{}
		if x.text != "" {
			e := c.ParseAPIError([]byte(x.text))
			k, err := c.CaseFor(t.Context(), session(t, c), &e)
			if must(t, err); repair.MatchError(k, e).Degree != repair.HasContent {
				t.Errorf("%+v: the session does not match", x)
			}
			request.Error, request.All = &e, true
		}
		if got := predictFate(t, c, session(t, c)); x.damage != "" && got == "alive" {
			t.Errorf("%+v: before the repair the session is %s", x, got)
		}
		r, err := c.ProposeRepair(t.Context(), session(t, c), request)
		if err != nil || len(r.Plan.Ops) != 1 {
			t.Fatalf("%+v: %d ops, %v: %v", x, len(r.Plan.Ops), err, r.Remaining)
		}
		id := apply(t, c, r.Plan)
		head := session(t, c)
		if got := predictFate(t, c, head); got != "alive" || head.Base != "" || gocmp.Diff(want, expectedTexts(t, c)) != "" {
			t.Errorf("%+v: after the repair the session is %s, with the base %q: %s", x, got, head.Base, gocmp.Diff(want, expectedTexts(t, c)))
		}
		undo(t, c, id)
		if diff := gocmp.Diff(before, files(t, h)); diff != "" {
			t.Errorf("%+v: after the undo: %s", x, diff)
		}
	}
}

// TestRewindWithoutOrdinal: if the first record of the earlier or the later rollout has no ordinal, what the provider
// refuses in the earlier one is only reported.
func TestRewindWithoutOrdinal(t *testing.T) {
	const own = "01a22fd7-5d45-7890-8669-9edf7c829b84"
	for _, ordinal := range []string{"0", "100"} {
		h := fixture.NewHome(t, "")
		h.Damage(fixture.ByName("reasoning twice"))
		without := func(file string) {
			data, err := os.ReadFile(file)
			must(t, err)
			must(t, os.WriteFile(file, bytes.Replace(data, []byte(`"ordinal":`+ordinal+`,`), nil, 1), 0o600))
		}
		without(h.Rollout())
		goBack(t, h, own)
		without(strings.Replace(h.Rollout(), ".jsonl", "_"+own+".jsonl", 1))
		c := open(t, h, t.TempDir())
		r, err := c.ProposeRepair(t.Context(), session(t, c), repair.Request{})
		if err != nil || len(r.Plan.Ops) > 0 || len(r.Remaining) == 0 || r.Remaining[0].Rule != "fork-refused" {
			t.Errorf("without the ordinal %s: %d ops, %v, %v", ordinal, len(r.Plan.Ops), r.Remaining, err)
		}
	}
}

// goBack adds a rollout of the session, as Codex does when the user goes back to an earlier prompt.
func goBack(t *testing.T, h *fixture.Home, own string) {
	t.Helper()
	from, id := h.Rollout(), testdata.CodexSession
	if all, _ := filepath.Glob(strings.TrimSuffix(from, ".jsonl") + "_*.jsonl"); len(all) > 0 {
		from, id = all[len(all)-1], strings.TrimSuffix(all[len(all)-1][strings.LastIndex(all[len(all)-1], "_")+1:], ".jsonl")
	}
	earlier, err := os.ReadFile(from)
	must(t, err)
	at := 100 * (len(from) - len(h.Rollout()) + 1) // more than the earlier rollout has
	h.Write(strings.Replace(fixture.File, ".jsonl", "_"+own+".jsonl", 1), fmt.Appendf(nil, `{"timestamp":"2026-11-22T16:00:00.000Z","ordinal":%[2]d,"type":"session_meta","payload":{"id":%[1]q,"timestamp":"2026-11-22T16:00:00.000Z","cwd":"/home/user","originator":"codex_exec","cli_version":"0.171.0","history_mode":"paginated","history_base":{"thread_id":%[4]q,"end_ordinal_exclusive":%[2]d,"end_byte_offset":%[3]d}}}
{"timestamp":"2026-11-22T16:00:01.000Z","ordinal":%[5]d,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"again"}]}}
`, testdata.CodexSession, at, len(earlier), id, at+1))
}

// expectedTexts returns the texts, calls and outputs of the request that mend expects.
func expectedTexts(t *testing.T, c *mend.Store) (all []string) {
	t.Helper()
	f, err := c.Forecast(t.Context(), session(t, c))
	must(t, err)
	for b := range f.Request.Blocks {
		if !b.IsThinking() {
			all = append(all, fmt.Sprint(b.Type, b.Text, b.ToolID, string(b.Output)))
		}
	}
	return slices.Compact(all)
}

// TestRestoreBeforeRewind: the exact state before the user went back is refused, as the later rollout stays. If all
// rollouts are lost, it is restored.
func TestRestoreBeforeRewind(t *testing.T) {
	h := fixture.NewHome(t, "")
	c := open(t, h, t.TempDir())
	k, err := keep.Open(t.TempDir(), keep.Options{})
	must(t, err)
	defer func() { must(t, k.Close()) }()
	keepNow := func() time.Time {
		must(t, c.KeepAll(t.Context(), k, []change.Head{session(t, c)}, mend.KeptAsked, false, func(_ int, s mend.Kept) { must(t, s.Err) }))
		return time.Now()
	}
	at := keepNow()
	later := strings.Replace(fixture.File, ".jsonl", "_01a22fd7-5d45-7890-8669-9edf7c829b84.jsonl", 1)
	h.Write(later, testdata.Codex)
	keepNow()
	head := session(t, c)
	if r, err := c.ProposeRestore(t.Context(), k, head, mend.RestoreRequest{At: at, Force: true}); err == nil {
		t.Errorf("the state before the rewind: %d ops", len(r.Plan.Ops))
	}
	must(t, errors.Join(os.Remove(h.Rollout()), os.Remove(filepath.Join(h.Root(), later))))
	r, err := c.ProposeRestore(t.Context(), k, head, mend.RestoreRequest{At: at})
	if err != nil || len(r.Plan.Ops) != 1 {
		t.Errorf("without rollouts: %d ops, %v", len(r.Plan.Ops), err)
	}
}

// restoreLost keeps the session, loses its rollouts, and restores them, each byte as it was. Its second rollout has that
// name.
func restoreLost(t *testing.T, h *fixture.Home, c *mend.Store, name string) {
	t.Helper()
	k, err := keep.Open(t.TempDir(), keep.Options{})
	must(t, err)
	defer func() { must(t, k.Close()) }()
	head, before := session(t, c), files(t, h)
	must(t, c.KeepAll(t.Context(), k, []change.Head{head}, mend.KeptAsked, false, func(_ int, s mend.Kept) { must(t, s.Err) }))
	second := filepath.Join(h.Root(), name)
	for _, lost := range [][]string{{h.Rollout(), second}, {h.Rollout()}, {second}, {}} {
		for _, p := range lost {
			must(t, os.Remove(p))
		}
		all, err := c.Restorables(t.Context(), k)
		if err != nil || len(all) != min(len(lost), 1) {
			t.Errorf("without %q: %v, %v", lost, all, err)
		}
		r, err := c.ProposeRestore(t.Context(), k, head, mend.RestoreRequest{})
		if err != nil || len(r.Plan.Ops) != len(lost) {
			t.Fatalf("without %q: %d ops, error %v", lost, len(r.Plan.Ops), err)
		}
		if len(lost) > 0 {
			apply(t, c, r.Plan)
		}
		if diff := gocmp.Diff(before, files(t, h)); diff != "" {
			t.Errorf("without %q the restored session differs: %s", lost, diff)
		}
	}
}

// TestLock: mend changes nothing while a process holds the lock of the session.
func TestLock(t *testing.T) {
	h := fixture.NewHome(t, "")
	h.Damage(fixture.ByName("reasoning without id"))
	c := open(t, h, t.TempDir())
	head, before := session(t, c), files(t, h)
	r, err := c.ProposeRepair(t.Context(), head, repair.Request{})
	if err != nil || len(r.Plan.Ops) != 1 {
		t.Fatalf("the plan has %d ops, error %v", len(r.Plan.Ops), err)
	}
	unlock := h.Lock(testdata.CodexSession)
	for _, force := range []bool{false, true} {
		p := r.Plan
		p.Force = force
		if _, err := c.Apply(t.Context(), p); err == nil || !strings.Contains(err.Error(), change.ErrInUse.Error()) {
			t.Errorf("force %t: error %v, want that the session is in use", force, err)
		}
		if diff := gocmp.Diff(before, files(t, h)); diff != "" {
			t.Errorf("the session was changed: %s", diff)
		}
	}
	if _, err := c.ProposeRepair(t.Context(), head, repair.Request{}); err == nil {
		t.Error("a repair is planned for a session that is open")
	}
	unlock()
	apply(t, c, r.Plan)
	if got := predictFate(t, c, session(t, c)); got != "alive" {
		t.Errorf("after the repair the session is %s", got)
	}
}

// TestRestore restores a rollout that is missing, cut or full of NUL bytes, and changes nothing if nothing is lost. The
// program may have compressed the rollout before or after it was kept; the restored one is not compressed.
func TestRestore(t *testing.T) {
	packed := fixture.Compress(testdata.Codex)
	for _, c := range []struct {
		name       string
		keptPacked bool
		now        []byte // nil: the rollout is missing
		nowPacked  bool
		want       int // ops
	}{
		{"missing", false, nil, false, 1},
		{"cut", false, testdata.Codex[:len(testdata.Codex)/2], false, 1},
		{"NUL", false, make([]byte, 100), false, 1},
		{"same", false, testdata.Codex, false, 0},
		{"continued", false, append(slices.Clone(testdata.Codex), "{}\n"...), false, 0},
		{"compressed since", false, packed, true, 0},
		{"compressed and cut since", false, packed[:len(packed)/2], true, 2},
		{"compressed, missing", true, nil, false, 1},
		{"compressed, same", true, packed, true, 0},
		{"compressed, cut", true, packed[:len(packed)/2], true, 2},
		{"compressed, overwritten", true, []byte("garbage"), true, 2},
		{"compressed, continued since", true, append(slices.Clone(testdata.Codex), "{}\n"...), false, 0},
		{"compressed, continued and cut since", true, testdata.Codex[:len(testdata.Codex)/2], false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := fixture.NewHome(t, "")
			put := func(data []byte, compressed bool) {
				for _, end := range []string{"", ".zst"} {
					must(t, os.RemoveAll(h.Rollout()+end))
				}
				name := fixture.File
				if compressed {
					name += ".zst"
				}
				if data != nil {
					h.Write(name, data)
				}
			}
			if c.keptPacked {
				put(packed, true)
			}
			s, err := openStore(h)
			must(t, err)
			head := session(t, open(t, h, t.TempDir()))
			copied, err := s.Copy(t.Context(), head)
			if err != nil || copied.Messages != 8 || len(copied.Unread) > 0 {
				t.Fatalf("Copy: %d messages, unread %q, %v", copied.Messages, copied.Unread, err)
			}
			put(c.now, c.nowPacked)
			if c.now != nil {
				head = session(t, open(t, h, t.TempDir()))
				if now, err := s.Copy(t.Context(), head); err == nil && (len(now.Unread) > 0) != (c.nowPacked && c.want > 0) {
					t.Errorf("a copy of the current rollout lacks %q", now.Unread)
				}
			}
			before := files(t, h)
			kept := []change.Op{{Ref: copied.Records[0].Ref, Post: change.ImageOf(&copied.Records[0])}}
			restored, err := s.Restore(t.Context(), head, kept, agent.RestoreRequest{})
			if err != nil || len(restored.Ops) != c.want {
				t.Fatalf("%d ops, error %v, want %d", len(restored.Ops), err, c.want)
			}
			if len(restored.Ops) == 0 {
				return
			}
			o := open(t, h, t.TempDir())
			id := apply(t, o, change.Plan{Session: head.ID, Ops: restored.Ops, Cause: change.Cause{Kind: change.CauseRestore}})
			if now := files(t, h); now[h.Rollout()] != string(testdata.Codex) || len(now) != 2 {
				t.Errorf("there are %d rollouts, and this one has %d bytes, want %d", len(now)-1, len(now[h.Rollout()]), len(testdata.Codex))
			}
			if got := predictFate(t, o, session(t, o)); got != "alive" {
				t.Errorf("after the restore the session is %s", got)
			}
			undo(t, o, id)
			if diff := gocmp.Diff(before, files(t, h)); diff != "" {
				t.Errorf("after the undo: %s", diff)
			}
		})
	}
}

// TestRestoreWithoutID: the copy lacks the first record, which a repair wrote later. The session has not continued
// since, so the restore needs no force.
func TestRestoreWithoutID(t *testing.T) {
	h := fixture.NewHome(t, "")
	s, err := openStore(h)
	must(t, err)
	head := session(t, open(t, h, t.TempDir()))
	_, rest, _ := bytes.Cut(testdata.Codex, []byte("\n"))
	kept := []change.Op{{Ref: head.Ref, Post: &change.Image{Data: rest}}}
	restored, err := s.Restore(t.Context(), head, kept, agent.RestoreRequest{Exact: true})
	if err != nil || len(restored.Ops) != 1 {
		t.Errorf("%d ops, error %v, want 1", len(restored.Ops), err)
	}
}

// TestMoveCompressed moves a session with a compressed rollout: the new rollout is not compressed. A session with a cut
// rollout is not moved.
func TestMoveCompressed(t *testing.T) {
	h := fixture.NewHome(t, "")
	must(t, os.Remove(h.Rollout()))
	packed, to := fixture.Compress(testdata.Codex), t.TempDir()
	for cut, want := range map[int]bool{len(packed): true, len(packed) / 2: false} {
		h.Write(fixture.File+".zst", packed[:cut])
		s, err := openStore(h)
		must(t, err)
		c := open(t, h, t.TempDir())
		before := files(t, h)
		var plan change.Plan
		err = s.Move(t.Context(), []agent.Relocation{{Head: session(t, c), To: to}}, func(p change.Plan) error {
			plan = p
			return nil
		})
		if (err == nil) != want {
			t.Errorf("cut at %d: error %v, want a plan: %t", cut, err, want)
		}
		if !want || err != nil {
			continue
		}
		id := apply(t, c, plan)
		head := session(t, c)
		if now := files(t, h); head.Directory != to || len(now) != 2 || len(now[h.Rollout()]) < len(testdata.Codex)/2 {
			t.Errorf("the session is in %s, in %d rollouts", head.Directory, len(now)-1)
		}
		for text, want := range map[string]int{`"cwd":"` + to: 3, `"runtime_workspace_roots":["` + to: 2} { // the first record and the newest settings, and the newest turn
			if n := strings.Count(files(t, h)[h.Rollout()], text+`"`); n != want {
				t.Errorf("%d records have %s, want %d", n, text, want)
			}
		}
		if got := predictFate(t, c, head); got != "alive" {
			t.Errorf("after the move the session is %s", got)
		}
		undo(t, c, id)
		if diff := gocmp.Diff(before, files(t, h)); diff != "" {
			t.Errorf("after the undo: %s", diff)
		}
	}
}

// TestRowOfCopiedFolder: the row in a copied folder names the rollout in the original folder, which may be compressed.
// That rollout does not count as missing.
func TestRowOfCopiedFolder(t *testing.T) {
	for _, suffix := range []string{"", ".zst"} {
		h := fixture.NewHome(t, "")
		other := filepath.Join(t.TempDir(), filepath.Base(fixture.File))
		createIndex(h, other)
		must(t, os.WriteFile(other+suffix, []byte("x"), 0o600))
		c := open(t, h, t.TempDir())
		k, err := c.Case(t.Context(), session(t, c))
		must(t, err)
		var found []string
		for _, f := range k.Findings().All() {
			found = append(found, f.Code)
		}
		if !slices.Contains(found, "thread-elsewhere") || slices.Contains(found, "thread-path") {
			t.Errorf("%q: found %v", suffix, found)
		}
	}
}

// TestLinkedHome: a path in the row that leads to the rollout through a link, as with linked dotfiles, is not a
// finding.
func TestLinkedHome(t *testing.T) {
	h := fixture.NewHome(t, "")
	link := filepath.Join(t.TempDir(), "codex")
	must(t, os.Symlink(h.Root(), link))
	createIndex(h, filepath.Join(link, fixture.File))
	c := open(t, h, t.TempDir())
	k, err := c.Case(t.Context(), session(t, c))
	must(t, err)
	for _, f := range k.Findings().All() {
		if strings.HasPrefix(f.Code, "thread-elsewhere") || f.Code == "thread-path" {
			t.Errorf("found %s: %s", f.Code, f.Detail)
		}
	}
}

// TestFolderNamedLikePattern: the index is found in a folder whose name looks like a glob pattern.
func TestFolderNamedLikePattern(t *testing.T) {
	h := fixture.NewHome(t, "")
	createIndex(h, "/nowhere.jsonl")
	h.SQL("UPDATE threads SET name = 'a name in the row'")
	root := filepath.Join(t.TempDir(), "[x]")
	must(t, os.Rename(h.Root(), root))
	s, err := codex.Agent{}.Open(agent.Located{Path: root}, nil)
	must(t, err)
	if heads, err := s.List(t.Context()); err != nil || len(heads) != 1 || heads[0].Title != "a name in the row" {
		t.Errorf("List: %v, %v", heads, err)
	}
}

// TestClean: a session is removed with its row, although the table has Codex's triggers. An undo restores both.
func TestClean(t *testing.T) {
	h := fixture.NewHome(t, "")
	h.SQL(`CREATE TABLE threads (id TEXT PRIMARY KEY, rollout_path TEXT NOT NULL, created_at INTEGER NOT NULL, created_at_ms INTEGER);
		CREATE TRIGGER threads_created_at_ms_after_insert AFTER INSERT ON threads WHEN NEW.created_at_ms IS NULL BEGIN
			UPDATE threads SET created_at_ms = NEW.created_at * 1000 WHERE id = NEW.id;
		END;
		INSERT INTO threads (id, rollout_path, created_at) VALUES ('` + testdata.CodexSession + "', '" + h.Rollout() + "', 1764000000)")
	before := files(t, h)
	c := open(t, h, t.TempDir())
	id := ""
	_, err := c.ProposeClean(t.Context(), "sessions", agent.CleanRequest{Sessions: []change.Head{session(t, c)}, Each: func(p change.Plan) error {
		id = apply(t, c, p)
		return nil
	}})
	must(t, err)
	if rows := h.Rows(); rows != "" || len(files(t, h)) > 1 { // files has one entry for the rows
		t.Errorf("after the clean there are %d rollouts and the rows %q", len(files(t, h))-1, rows)
	}
	undo(t, c, id)
	if diff := gocmp.Diff(before, files(t, h)); diff != "" {
		t.Errorf("after the undo: %s", diff)
	}
}

// TestGrowth: a rollout with twice the lines takes at most three times the allocations to examine.
func TestGrowth(t *testing.T) {
	head, rest, _ := strings.Cut(string(testdata.Codex), "\n")
	var allocs [2]float64
	for i, times := range []int{4, 8} {
		h := fixture.NewHome(t, "")
		h.Write(fixture.File, []byte(head+"\n"+strings.Repeat(rest, times)))
		s, err := codex.Agent{}.Open(agent.Located{Path: h.Root()}, nil)
		must(t, err)
		heads, err := s.List(t.Context())
		must(t, err)
		allocs[i] = testing.AllocsPerRun(1, func() {
			if x, err := s.Examine(t.Context(), heads[0], repair.Options{}); err != nil || len(x.Diagnoses) < 15*times {
				t.Errorf("%d findings, error %v", len(x.Diagnoses), err)
			}
		})
	}
	if allocs[1] > 3*allocs[0] {
		t.Errorf("%.0f allocations, and %.0f for twice the lines", allocs[0], allocs[1])
	}
}

// TestPlanGrowth: the repair of a rollout with twice as many damaged items of one answer takes at most 2.5 times the
// bytes to plan.
func TestPlanGrowth(t *testing.T) {
	head, _, _ := strings.Cut(string(testdata.Codex), "\n")
	const answer = `{"timestamp":"2026-11-22T15:51:05.050Z","ordinal":%d,"type":"response_item","payload":{"type":"message","status":"completed","id":"msg_%[2]d","role":"assistant","content":[{"type":"output_text","text":"x%[1]d","annotations":[]}]}}`
	const reasoning = `{"timestamp":"2026-11-22T15:51:05.050Z","ordinal":%d,"type":"response_item","payload":{"type":"reasoning","id":"rs_%[1]d","summary":[],"encrypted_content":"cut"}}`
	const rollback = `{"timestamp":"2026-11-22T15:51:05.050Z","ordinal":%d,"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}`
	for name, item := range map[string]func(i int) string{
		"one id":      func(i int) string { return fmt.Sprintf(answer, i, 1) },
		"reasoning":   func(i int) string { return [2]string{fmt.Sprintf(answer, i, i), fmt.Sprintf(reasoning, i)}[i%2] },
		"taken back":  func(i int) string { return [2]string{fmt.Sprintf(answer, i, 1), fmt.Sprintf(rollback, i)}[i%2] },
		"one id, cut": func(i int) string { return fmt.Sprintf(answer, i, 1)[:200-i%2*150] },
	} {
		var bytes [2]uint64
		for k, n := range []int{300, 600} {
			h := fixture.NewHome(t, "")
			lines := []string{head}
			for i := 1; i < n; i++ {
				lines = append(lines, item(i))
			}
			h.Write(fixture.File, []byte(strings.Join(lines, "\n")+"\n"))
			c := open(t, h, t.TempDir())
			s := session(t, c)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := c.ProposeRepair(t.Context(), s, repair.Request{Latent: true, Force: true})
			must(t, err)
			runtime.ReadMemStats(&after)
			bytes[k] = after.TotalAlloc - before.TotalAlloc
		}
		if 2*bytes[1] > 5*bytes[0] {
			t.Errorf("%s: %d bytes, and %d for twice the items", name, bytes[0], bytes[1])
		}
	}
}

// TestProviders: a session of the provider fake is a finding if the settings do not have fake, or use another provider.
func TestProviders(t *testing.T) {
	const fake, other = "[model_providers.fake]\nname = \"x\"\n", "[model_providers.other]\nname = \"x\"\n"
	for _, c := range []struct{ name, config, profile, want string }{
		{"in use", "model_provider = \"fake\"\n" + fake, "", ""},
		{"no provider", "", "", "provider-gone"},
		{"another one", "model_provider = \"other\"\n" + other + fake, "", "provider-other"},
		{"a built-in one", "model_provider = \"ollama\"\n" + fake, "", "provider-other"},
		{"not configured", "model_provider = \"other\"\n" + other, "", "provider-gone"},
		{"of a profile", "model_provider = \"other\"\n" + other, "model_provider = \"fake\"\n" + fake, "provider-other"},
		{"invalid settings", "model_provider = [\n", "", ""},
		{"an invalid profile", "model_provider = \"other\"\n" + other, "[", ""},
		{"the one in use is not configured", "model_provider = \"other\"\n", "", ""},
	} {
		h := fixture.NewHome(t, "")
		h.Write("config.toml", []byte(c.config))
		if c.profile != "" {
			h.Write("p.config.toml", []byte(c.profile))
		}
		s := open(t, h, t.TempDir())
		f, err := s.ScanOne(t.Context(), session(t, s))
		var got strings.Builder
		for _, d := range f.Diagnoses {
			got.WriteString(d.Rule)
		}
		if err != nil || got.String() != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, got.String(), err, c.want)
		}
	}
}

// TestForks: the beginning of a fork is in the rollout of another session, its base. A fork, and a fork of it, are
// broken if the base is missing, while the provider refuses the base's content, and if a change of the base moves the
// byte where the fork's beginning ends. A base cannot be removed alone.
func TestForks(t *testing.T) {
	h := fixture.NewHome(t, "")
	fork := func(id, base, file string, at int) string {
		info, err := os.Stat(file)
		must(t, err)
		name := "sessions/2026/11/23/rollout-2026-11-23T10-00-00-" + id + ".jsonl"
		h.Write(name, fmt.Appendf(nil,
			`{"timestamp":"2026-11-23T10:00:00.000Z","ordinal":%[3]d,"type":"session_meta","payload":{"id":%[1]q,"timestamp":"2026-11-23T10:00:00.000Z","cwd":"/home/user","originator":"codex_exec","cli_version":"0.171.0","history_mode":"paginated","history_base":{"thread_id":%[2]q,"end_ordinal_exclusive":%[3]d,"end_byte_offset":%[5]d}}}
{"timestamp":"2026-11-23T10:00:01.000Z","ordinal":%[4]d,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"in the fork"}]}}
`, id, base, at, at+1, info.Size()))
		return filepath.Join(h.Root(), name)
	}
	const first, second = "01a22c79-ca37-71b1-80ca-cafedc6c731d", "01a22c8d-ab27-7cc0-9f36-cf110c6f2183"
	fork(second, first, fork(first, testdata.CodexSession, h.Rollout(), 900), 902)
	journal := t.TempDir()
	check := func(when string, want map[string]string) {
		t.Helper()
		c, got := open(t, h, journal), map[string]string{}
		heads, err := c.Sessions(t.Context())
		for _, head := range heads {
			k, kerr := c.Case(t.Context(), head)
			if err = errors.Join(err, kerr); kerr == nil && head.Base != "" {
				for _, f := range k.Findings().All() {
					got[head.ID] += k.Describe(f).Rule
				}
			}
		}
		if diff := gocmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", when, err, diff)
		}
	}
	check("healthy", map[string]string{})

	c := open(t, h, journal)
	heads, err := c.Sessions(t.Context())
	must(t, err)
	unreadable := c.ParseAPIError([]byte("The encrypted content gAAA...x could not be verified."))
	turns := map[string]int{} // of the next request
	for _, head := range heads {
		r, err := c.ProposeRepair(t.Context(), head, repair.Request{Error: &unreadable})
		if left := len(r.Remaining); err != nil || (left > 0) != (head.Base != "") {
			t.Errorf("%s has the reasoning of the other session: a repair leaves %d findings, error %v", head.ID, left, err)
		}
		k, err := c.Case(t.Context(), head)
		must(t, err)
		q, _ := k.Next()
		turns[head.ID] = len(q.Turns)
	}
	if n := turns[testdata.CodexSession]; turns[first] != n+1 || turns[second] != n+2 {
		t.Errorf("the next requests have %v turns", turns)
	}
	base := slices.DeleteFunc(slices.Clone(heads), func(h change.Head) bool { return h.Base != "" })
	if _, err := c.ProposeClean(t.Context(), "sessions", agent.CleanRequest{Sessions: base}); err == nil {
		t.Error("a session with a fork can be removed alone")
	}
	if _, err := c.ProposeClean(t.Context(), "sessions", agent.CleanRequest{Sessions: heads}); err != nil {
		t.Errorf("a session cannot be removed with its forks: %v", err)
	}
	for before, want := range map[time.Time]int{time.Now().Add(time.Hour): 3, time.Now().Add(-time.Hour): 0} {
		must(t, os.Chtimes(h.Rollout(), time.Time{}, time.Now().Add(-2*time.Hour)))
		all, _, err := c.Select(t.Context(), mend.Selection{Before: before})
		if len(all) != want || err != nil {
			t.Errorf("Select(%v) = %d sessions, %v, want %d", before, len(all), err, want)
		}
	}

	h.Damage(fixture.ByName("encrypted content missing"))
	check("damaged", map[string]string{first: "fork-refused", second: "fork-refused"})
	var ids []string
	fix := func(base string) {
		t.Helper()
		c = open(t, h, journal)
		i := slices.IndexFunc(heads, func(h change.Head) bool { return h.Base == base })
		r, err := c.ProposeRepair(t.Context(), heads[i], repair.Request{})
		must(t, err)
		ids = append(ids, apply(t, c, r.Plan))
	}
	fix("")
	check("repaired", map[string]string{first: "fork-offset"})
	fix(testdata.CodexSession)
	check("base and fork repaired", map[string]string{})
	undo(t, c, ids[1])
	undo(t, c, ids[0])
	check("damaged again", map[string]string{first: "fork-refused", second: "fork-refused"})
	must(t, os.Remove(h.Rollout()))
	check("gone", map[string]string{first: "fork-base", second: "fork-base"})
}
