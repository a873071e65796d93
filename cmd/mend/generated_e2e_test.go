//go:build e2e

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mend/agent/opencode/render"
	"mend/agent/opencode/schema"
	"mend/internal/mend"
	"mend/internal/provider/anthropic"
	"mend/internal/test/damage"
	"mend/internal/test/encode"
	"mend/internal/test/endpoint"
	"mend/internal/test/mutation"
	"mend/internal/test/opencode"
	"mend/internal/test/storetest"
)

var (
	cases      = flag.Int("cases", 6, "how many generated cases each version gets")
	first      = flag.Int("first", 0, "the number of the first generated case: with the same seed a run goes on there")
	only       = flag.String("case", "", "a file of cases, one a line, that are run instead of all others")
	match      = flag.String("match", "", "generate only cases whose line matches this regular expression")
	reportPath = flag.String("report", "", "a file to which the cases in which mend and the real program disagree are appended")
)

// A healthy store is changed at random, and mend and the real program are asked for
// their verdicts, which must be the same. A session that mend calls broken is also
// repaired, and the repair is undone. Every case in which they disagreed once is in
// testdata/generated.txt, and is tried first.
//
//	go test -tags e2e -run TestGenerated ./cmd/mend -cases 2000 -seed 7
//
// A case depends on the seed and its number alone, so that a run may be made in pieces.
// The first piece tries the known cases. A line on standard error says every ten seconds
// how far each version is.
func TestGenerated(t *testing.T) {
	for i, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			g := newGenerator(t, i)
			if *first == 0 {
				for n, c := range g.corpus() {
					if testing.Short() && (n+storetest.Today())%6 > 0 { // a sixth, others each day
						continue
					}
					t.Run(fmt.Sprintf("known %d", n), func(t *testing.T) { g.judge(t, c) })
				}
			}
			if *only == "" {
				g.generate()
			}
			g.end()
		})
	}
}

// generate generates cases and tests them.
func (g *generator) generate() {
	start := time.Now()
	shown := start
	for n := range *cases {
		r := rand.New(rand.NewPCG(*seed, uint64(g.version)<<32+uint64(*first+n)))
		g.Run(fmt.Sprint(*first+n), func(t *testing.T) { g.judge(t, g.draw(t, r)) })
		if now := time.Now(); now.Sub(shown) > 10*time.Second || n == *cases-1 {
			shown = now
			fmt.Fprintf(os.Stderr, "OpenCode %s, -seed %d: %d of %d, next is -first %d, disagreements %d, %.1f a second\n", damage.Versions[g.version],
				*seed, n+1, *cases, *first+n+1, g.counts["disagreement"], float64(n+1)/now.Sub(start).Seconds())
		}
	}
}

// A generator generates and tests cases for one version.
type generator struct {
	*testing.T
	version int
	judges  *opencode.Oracle
	healthy []string // the blocks of the request for the healthy session
	counts  map[string]int
}

func newGenerator(t *testing.T, version int) *generator {
	t.Helper()
	exe, err := opencode.Install(damage.Versions[version])
	if err != nil {
		t.Fatal(err)
	}
	api := endpoint.New(uniqueAnswer)
	t.Cleanup(api.Close)
	g := &generator{T: t, version: version, counts: map[string]int{}}
	g.judges = opencode.New(t, exe, api, true).ServeOracle(fixtures[version])
	ts := g.newStore(t)
	r, prompt, err := g.judges.Try(ts.path, ts.session, false)
	if err != nil || r.Verdict != opencode.Alive {
		t.Fatalf("a prompt in the healthy store: %s, %v; reply:\n%s", r.Verdict, err, r.Output)
	}
	g.healthy = blocks(t, sent(t, r.Calls[0].Raw, prompt))
	return g
}

// newStore returns a healthy store with a session id of its own.
func (g *generator) newStore(t *testing.T) *testStore {
	t.Helper()
	dir := storetest.FastDir(t)
	ts := &testStore{T: t, version: damage.Versions[g.version], data: filepath.Join(dir, "opencode"), journal: filepath.Join(dir, "journal")}
	err := os.Mkdir(ts.data, 0o755)
	if err == nil {
		ts.path, ts.session, err = g.judges.Healthy(ts.data)
	}
	if err != nil {
		t.Fatal(err)
	}
	return ts
}

// corpus returns the known cases of the version.
func (g *generator) corpus() (all []mutation.Case) {
	file := *only
	if file == "" {
		file = "testdata/generated.txt"
	}
	data, err := os.ReadFile(file)
	if err != nil {
		g.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		c, err := mutation.Parse(line)
		if err != nil {
			g.Fatal(err)
		}
		if c.Version == damage.Versions[g.version] {
			all = append(all, c)
		}
	}
	return all
}

// draw generates a case that can be applied.
func (g *generator) draw(t *testing.T, r *rand.Rand) mutation.Case {
	t.Helper()
	wanted, err := regexp.Compile(*match)
	if err != nil {
		t.Fatal(err)
	}
	ts := g.newStore(t)
	s, err := mutation.Open(ts.path, ts.session)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for {
		c := mutation.Case{Version: ts.version, Mutations: mutation.Random(r, s)}
		if wanted.MatchString(c.String()) && g.apply(g.newStore(t), c) == nil {
			return c
		}
	}
}

func (g *generator) apply(ts *testStore, c mutation.Case) error {
	s, err := mutation.Open(ts.path, ts.session)
	if err != nil {
		return err
	}
	return errors.Join(s.Apply(c.Mutations), s.Close())
}

// judge tests a case. It shortens a case that causes a disagreement.
func (g *generator) judge(t *testing.T, c mutation.Case) {
	t.Helper()
	outcome, wrong := g.try(t, c)
	if wrong != "" { // the program may still have been at work on the case before
		first := wrong
		if outcome, wrong = g.try(t, c); wrong == "" {
			outcome = "agreed the second time"
			t.Logf("%s: %s\n%s", outcome, c, first)
		}
	}
	if wrong != "" {
		for i := range c.Mutations {
			less := mutation.Case{Version: c.Version, Mutations: c.Mutations[i : i+1]}
			if len(c.Mutations) == 1 {
				break
			}
			if _, w := g.try(t, less); w != "" {
				c, wrong = less, w
				break
			}
		}
		outcome = "disagreement"
		t.Errorf("%s\n%s", c, wrong)
		if *reportPath != "" {
			g.append(c, wrong)
		}
	}
	if strings.HasPrefix(outcome, "loses") || strings.HasSuffix(outcome, "no repair is known") {
		t.Logf("%s: %s", outcome, c)
	}
	g.counts[outcome]++
	g.counts["cases"]++
}

func (g *generator) append(c mutation.Case, wrong string) {
	g.Helper()
	f, err := os.OpenFile(*reportPath, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = fmt.Fprintf(f, "%s\n# %s\n", c, strings.ReplaceAll(strings.TrimSpace(wrong), "\n", "\n# "))
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		g.Error(err)
	}
}

// end logs the number of cases of each kind.
func (g *generator) end() {
	data, err := json.Marshal(g.counts)
	g.Logf("-seed %d, OpenCode %s: %s %v", *seed, damage.Versions[g.version], data, err)
}

// An opinion is what mend reports for a session.
type opinion struct {
	Diagnoses  []diagnosis
	Violations []struct{ Rule string }
	Model      struct{ ProviderID, ModelID string }

	request  []byte // as Anthropic's API has it
	severity string
	text     string
}

// otherModel reports whether the next prompt is for a model that the program does not
// have, which its configuration decides alone.
func (o opinion) otherModel() bool {
	return o.Model.ModelID != "" && o.Model.ProviderID+"/"+o.Model.ModelID != opencode.Model
}

// namesOtherID reports whether mend says that the session's record holds another id than
// its own. The list of sessions shows that one.
func (g *generator) namesOtherID(ts *testStore) bool {
	o, _ := g.ask(ts)
	return slices.ContainsFunc(o.Diagnoses, func(d diagnosis) bool { return d.Rule == "name" && d.Record == ts.session })
}

// noFolder reports whether the session's folder is one that another machine may have. The newest version
// answers no prompt there; mend does not know on which machine the agent runs.
func (g *generator) noFolder(ts *testStore) bool {
	if ts.version != "1.18.33" {
		return false
	}
	var answer struct{ Sessions []struct{ Directory string } }
	ts.runJSON(&answer, "scan", ts.session)
	if len(answer.Sessions) != 1 || !schema.IsAbsolute(answer.Sessions[0].Directory) {
		return false
	}
	_, err := os.Stat(answer.Sessions[0].Directory)
	return errors.Is(err, fs.ErrNotExist)
}

// linkUnserved reports whether the program failed to load a file that mend names as a link.
func (o opinion) linkUnserved(real opencode.Result) bool {
	return real.Verdict == opencode.Dead && strings.Contains(real.Output, "AI_DownloadError") && strings.Contains(o.why(), "latent link ")
}

// unplaced reports whether mend says that it cannot tell what is sent, since a record has no id.
func (o opinion) unplaced() bool { return strings.Contains(o.why(), "has no certain place") }

func (o opinion) names(rule string) bool { return scanResult{diagnoses: o.Diagnoses}.hasBroken(rule) }

// ask runs mend scan.
func (g *generator) ask(ts *testStore) (o opinion, wrong string) {
	code, out := g.mend(ts, "scan", ts.session, "--request", "--json")
	_, text, _ := strings.Cut(out, "{")
	if err := json.NewDecoder(strings.NewReader("{" + text)).Decode(&o); err != nil || code != exitDone && code != exitProblems {
		return o, fmt.Sprintf("mend scan: exit code %d, %v: %.600s", code, err, out)
	}
	o.request = g.foreseen(ts)
	o.text, o.severity = out, "healthy"
	for _, severity := range []string{"note", "lost", "latent", "broken"} {
		if slices.ContainsFunc(o.Diagnoses, func(d diagnosis) bool { return d.Severity == severity }) {
			o.severity = severity
		}
	}
	return o, ""
}

// foreseen returns the next request that mend expects for the session.
func (g *generator) foreseen(ts *testStore) []byte {
	c, err := mend.Open(mend.Options{Agents: agents, Store: ts.path, Journal: mend.OpenJournal(ts.journal), AgentVersion: ts.version})
	if err != nil {
		g.Fatal(err)
	}
	head, err := c.Session(g.Context(), ts.session)
	if err != nil {
		return nil // the case says why
	}
	f, err := c.Forecast(g.Context(), head)
	if err != nil {
		return nil
	}
	return encode.JSON(anthropic.Provider{}, f.Request)
}

// mend runs mend. A panic has its own exit code.
func (g *generator) mend(ts *testStore, args ...string) (code int, out string) {
	defer func() {
		if v := recover(); v != nil {
			code, out = -1, fmt.Sprintf("panic: %v\n%s", v, debug.Stack())
		}
	}()
	return ts.mend(args...)
}

// why returns what mend reports as broken or latent.
func (o opinion) why() string {
	var all []string
	for _, d := range o.Diagnoses {
		all = append(all, fmt.Sprintf("%s %s %s: %s", d.Severity, d.Rule, d.Record, d.Why))
	}
	return strings.Join(all, "; ")
}

// try tests one case. It returns the outcome, and where mend and the real program disagree.
func (g *generator) try(t *testing.T, c mutation.Case) (outcome, wrong string) {
	t.Helper()
	ts := g.newStore(t)
	if err := g.apply(ts, c); err != nil {
		t.Fatal(err)
	}
	o, wrong := g.ask(ts)
	if wrong != "" {
		return "", wrong
	}
	forget := slices.ContainsFunc(c.Mutations, func(m mutation.Mutation) bool { return slices.Contains(m, "project") })
	real, prompt, err := g.judges.Try(ts.path, ts.session, forget)
	if err != nil {
		t.Fatal(err)
	}
	verdict := real.Verdict
	// One that is still asking had all its requests accepted: where an old prompt comes
	// last that wants tools, the endpoint answers with a call again and again.
	if verdict == opencode.Alive && real.Code != 200 && !real.TimedOut {
		verdict = fmt.Sprintf("answered with status %d", real.Code)
	}
	if dir := os.Getenv("MEND_DUMP"); dir != "" && len(real.Calls) > 0 {
		for i, c := range real.Calls {
			_ = os.WriteFile(filepath.Join(dir, fmt.Sprintf("request-%s-%d.json", ts.session[len(ts.session)-3:], i)), c.Raw, 0o644)
		}
	}
	said := fmt.Sprintf("mend says %s (%.900s), the real program is %s", o.severity, o.why(), verdict)
	if len(real.Calls) == 0 || verdict != real.Verdict {
		said += fmt.Sprintf(" (status %d: %.700s)", real.Code, real.Output)
	}
	if unknowable(verdict) {
		return verdict, ""
	}
	if o.severity == "latent" && o.linkUnserved(real) {
		return g.repair(t, ts, "dead, a link that nothing serves", said, forget, "--latent")
	}
	if o.severity == "latent" && o.unplaced() {
		return g.repair(t, ts, "a record without an id", said, forget, "--latent")
	}
	if broken := o.severity == "broken"; broken != (verdict != opencode.Alive) {
		if broken {
			shown, why := g.judges.Listed()
			if !shown {
				return g.repair(t, ts, "not shown", said+", but "+why, forget)
			}
		}
		if verdict == opencode.Dead && o.otherModel() {
			return "dead, a model that is not configured", ""
		}
		if verdict == opencode.Dead && g.noFolder(ts) {
			return "dead, a folder that does not exist", ""
		}
		return "", said
	}
	if strings.HasPrefix(verdict, "R") {
		switch {
		case len(o.Violations) == 0 || o.Violations[0].Rule != verdict:
			return "", fmt.Sprintf("%s, but mend names %v first: %s", said, o.Violations, real.Calls[0].Message)
		case !o.names(verdict):
			return "", said + ", which no diagnosis names"
		}
	}
	if verdict == opencode.Alive && slices.ContainsFunc(o.Diagnoses, func(d diagnosis) bool { return d.Rule == "linked" }) {
		return "alive, behind a link", ""
	}
	if len(real.Calls) > 0 {
		if o.otherModel() {
			return "", fmt.Sprintf("%s, but mend expects a request for %v", said, o.Model)
		}
		asked := real.Calls[0]
		subtask := bytes.Contains(o.request, []byte(render.SubtaskResult))
		if subtask { // its own requests come before
			asked = real.Calls[len(real.Calls)-1]
		}
		theirs, ours := sent(t, asked.Raw, prompt), sent(t, o.request, render.PromptText)
		if n := len(ours) - 2; subtask && len(theirs) == len(ours) { // the call and the result cannot be known
			theirs, ours = theirs[:n], ours[:n]
		}
		if compacted(asked.Raw, o.request) {
			if verdict == opencode.Alive {
				return "alive, compacted before the prompt", ""
			}
		} else if d := cmp.Diff(theirs, ours); d != "" && verdict != opencode.Dead {
			return "", fmt.Sprintf("%s, but the request is another (-sent +predicted):\n%.1500s", said, d)
		}
		outcome = verdict
		if verdict == opencode.Alive && !holds(blocks(t, theirs), g.healthy) {
			outcome = "loses, " + o.severity
		}
	}
	if verdict == opencode.Alive {
		return outcome, ""
	}
	return g.repair(t, ts, verdict, said, forget)
}

// compacted reports whether the program has made a compaction before it sent the prompt, because of a
// count of tokens that is set too high, or because one was pending. The request is then another than
// the predicted one, which is the one for a pending compaction.
func compacted(sent, predicted []byte) bool {
	for _, text := range []string{"What did we do so far?", "Continue if you have next steps", "Provide a detailed prompt for continuing"} {
		if bytes.Contains(sent, []byte(text)) && !bytes.Contains(predicted, []byte(text)) {
			return true
		}
	}
	return false
}

// repair repairs a session, asks the real program, and undoes the repair.
func (g *generator) repair(t *testing.T, ts *testStore, verdict, said string, forget bool, flags ...string) (outcome, wrong string) {
	t.Helper()
	before := ts.snapshot()
	code, out := g.mend(ts, append([]string{"repair", ts.session, "--yes"}, flags...)...)
	outcome = verdict + ", repaired"
	switch {
	case code == exitProblems:
		outcome = verdict + ", no repair is known"
	case code != exitDone:
		return "", fmt.Sprintf("%s; mend fix: exit code %d: %s", said, code, out[max(0, len(out)-700):])
	default:
		real, _, err := g.judges.Try(ts.path, ts.session, forget)
		if err != nil {
			t.Fatal(err)
		}
		if shown, why := g.judges.Listed(); !shown && !g.namesOtherID(ts) {
			return "", fmt.Sprintf("%s; after mend fix (%.900s) %s", said, out, why)
		}
		if real.Verdict == opencode.Dead {
			if left := g.leftLatent(ts, real); left != "" {
				outcome += ", " + left
				real.Verdict = opencode.Alive
			}
		}
		if real.Verdict != opencode.Alive && !unknowable(real.Verdict) {
			return "", fmt.Sprintf("%s; after mend fix (%.900s) it is %s: %d %.600s", said, out, real.Verdict, real.Code, real.Output)
		}
	}
	if cmp.Equal(before, ts.snapshot()) {
		if code == exitDone {
			return "", fmt.Sprintf("%s; mend fix changed nothing, and said %.900s", said, out)
		}
		return outcome, ""
	}
	if code, out := g.mend(ts, "undo", "--yes", "--session", ts.session); code != exitDone {
		return "", fmt.Sprintf("%s; mend undo: exit code %d: %s", said, code, out[max(0, len(out)-700):])
	}
	if d := cmp.Diff(before, ts.snapshot()); d != "" {
		return "", fmt.Sprintf("%s; undo did not restore the store (-want +got):\n%.1500s", said, d)
	}
	return outcome, ""
}

// leftLatent returns why a repaired session is dead all the same, if mend says that this is latent.
func (g *generator) leftLatent(ts *testStore, real opencode.Result) string {
	o, wrong := g.ask(ts)
	switch {
	case wrong != "":
		return ""
	case o.otherModel():
		return "for a model that is not configured"
	case o.linkUnserved(real):
		return "but a link that nothing serves is left"
	case g.noFolder(ts):
		return "but its folder does not exist"
	}
	return ""
}

// sent returns the messages of a request, with another word instead of the prompt.
func sent(t *testing.T, body []byte, prompt string) []any {
	t.Helper()
	var r struct{ Messages []any }
	d := json.NewDecoder(bytes.NewReader(bytes.ReplaceAll(body, []byte(prompt), []byte("PROMPT"))))
	d.UseNumber() // one may be too large
	if err := d.Decode(&r); err != nil {
		t.Fatal(err)
	}
	for i := range r.Messages {
		r.Messages[i] = plain(r.Messages[i])
	}
	return r.Messages
}

// plain is a value without what tells the provider to cache, and with every number as
// JavaScript has it: one that is too large is written as null.
func plain(v any) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = plain(v[i])
		}
	case map[string]any:
		delete(v, "cache_control")
		for name := range v {
			v[name] = plain(v[name])
		}
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return nil
		}
		return f
	}
	return v
}

// blocks returns every content block of a request as JSON.
func blocks(t *testing.T, messages []any) (all []string) {
	t.Helper()
	for _, m := range messages {
		content, _ := m.(map[string]any)["content"].([]any)
		for _, b := range content {
			data, err := json.Marshal(b)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, string(data))
		}
	}
	return all
}

// holds reports whether there are at least as many blocks of each type.
func holds(has, want []string) bool {
	count := func(all []string) map[string]int {
		n := map[string]int{}
		for _, b := range all {
			var block struct{ Type string }
			_ = json.Unmarshal([]byte(b), &block)
			n[block.Type]++
		}
		return n
	}
	got := count(has)
	for kind, n := range count(want) {
		if got[kind] < n {
			return false
		}
	}
	return true
}
