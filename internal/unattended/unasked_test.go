package unattended_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mend/agent"
	"mend/agent/claude"
	"mend/agent/codex"
	"mend/agent/opencode"
	"mend/change"
	"mend/internal/mend"
	"mend/internal/request"
	transcript "mend/internal/test/claude"
	rollout "mend/internal/test/codex"
	"mend/internal/test/damage"
	"mend/internal/test/real"
	"mend/internal/test/storetest"
	"mend/internal/unattended"
	"mend/repair"
	"mend/testdata"
)

var update = flag.Bool("update", false, "write testdata/unasked.tsv")

// golden lists the damage that is not repaired without a question, each kind with its outcome before a request and
// after a failed one.
const golden = "testdata/unasked.tsv"

const repaired = "repaired"

func TestMain(m *testing.M) { storetest.RunInMemory(m) }

func open(t *testing.T, a agent.Agent, root string) *mend.Store {
	t.Helper()
	dir := t.TempDir()
	c, err := mend.Open(mend.Options{Agents: []agent.Agent{a}, Store: root, Journal: mend.OpenJournal(filepath.Join(dir, "journal")), Cache: filepath.Join(dir, "cache")})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

var errPlanned = errors.New("planned")

// outcome returns the outcome of a repair without a question. Nothing is applied.
func outcome(t *testing.T, c *mend.Store, head change.Head, check func(context.Context, string, repair.Result) error) string {
	t.Helper()
	entry, _, err := unattended.New(c).Repair(t.Context(), head, repair.Request{Force: true}, func(ctx context.Context, r repair.Result) error {
		return errors.Join(check(ctx, head.ID, r), errPlanned)
	})
	_, mustAsk := errors.AsType[*repair.AskError](err)
	switch {
	case entry != "":
		t.Error("the session is repaired before the plan is accepted")
	case mustAsk:
		return "asks"
	case err == nil:
		return "nothing"
	case err.Error() == errPlanned.Error():
		return repaired
	}
	why, _, _ := strings.Cut(err.Error(), ":")
	return "left: " + strings.TrimSuffix(why, "\n"+errPlanned.Error())
}

type damagedSession struct {
	store, name string
	open        func(*testing.T) *mend.Store
}

// unpackOpenCode unpacks a store of OpenCode and returns its path, with the id of its session.
func unpackOpenCode(t *testing.T, archive []byte) (path, id string) {
	t.Helper()
	dir := t.TempDir()
	id, err := testdata.Unpack(archive, dir)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "opencode", "opencode.db")
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join(dir, "opencode", "storage")
	}
	return path, id
}

// damages returns sessions with each kind of damage that was tried on the real programs.
func damages() (all []damagedSession) {
	for i, archive := range [][]byte{testdata.OpenCode1153, testdata.OpenCode1227, testdata.OpenCode11833} {
		for _, k := range damage.Table {
			all = append(all, damagedSession{"OpenCode " + damage.Versions[i], k.Name, func(t *testing.T) *mend.Store {
				path, id := unpackOpenCode(t, archive)
				damage.Edit(t, path, id, k.Apply)
				return open(t, opencode.Agent{}, path)
			}})
		}
	}
	for _, d := range transcript.Damages {
		all = append(all, damagedSession{"Claude Code", d.Name, func(t *testing.T) *mend.Store {
			root := t.TempDir()
			file := filepath.Join(root, "projects", "-home-user-project", transcript.Session+".jsonl")
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, d.Broken(), 0o600)); err != nil {
				t.Fatal(err)
			}
			return open(t, claude.Agent{}, root)
		}})
	}
	for _, d := range rollout.Damages() {
		if d.Index {
			continue // it needs the real program
		}
		all = append(all, damagedSession{"Codex", d.Name, func(t *testing.T) *mend.Store {
			h := rollout.NewHome(t, "")
			h.Damage(d)
			return open(t, codex.Agent{}, h.Root())
		}})
	}
	return all
}

// TestUnasked: a repair without a question has the outcome that the golden file gives for each kind of damage, and
// keeps all undamaged content of the request. A plain run has the damage that people meet. MEND_SWEEP=all with -update
// writes the file.
func TestUnasked(t *testing.T) {
	written, err := os.ReadFile(golden)
	if err != nil && !*update {
		t.Fatal(err)
	}
	wants := map[string]string{}
	for line := range strings.Lines(string(written)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		wants[f[0]+"\t"+f[1]] = strings.Join(f[2:], "\t")
	}
	var found strings.Builder
	for _, d := range damages() {
		if !storetest.AllCases() && !damage.Everyday(d.name) && !transcript.Everyday(d.name) && !rollout.Everyday(d.name) {
			continue
		}
		t.Run(d.store+"/"+d.name, func(t *testing.T) {
			c := d.open(t)
			heads, err := c.Sessions(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if len(heads) > 0 {
				got = unaskedOutcomes(t, c, heads[0])
			}
			if got != "" {
				fmt.Fprintf(&found, "%s\t%s\t%s\n", d.store, d.name, got)
			}
			if want := wants[d.store+"\t"+d.name]; got != want && !*update {
				t.Errorf("outcome %q, want %q", got, want)
			}
		})
	}
	if *update && storetest.AllCases() {
		if err := os.WriteFile(golden, []byte(found.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// unaskedOutcomes returns the outcomes for a session before a request and after a failed one, "" if it is repaired, or
// if nothing is broken.
func unaskedOutcomes(t *testing.T, c *mend.Store, head change.Head) string {
	t.Helper()
	before, err := c.Case(t.Context(), head)
	if err != nil {
		return ""
	}
	if !slices.ContainsFunc(before.Findings().All(), func(f repair.Finding) bool { return f.Severity == repair.Broken }) {
		return ""
	}
	u := unattended.New(c)
	first := outcome(t, c, head, u.CheckUnasked)
	second := outcome(t, c, head, func(context.Context, string, repair.Result) error { return nil })
	if second == repaired {
		keepsContent(t, before, head.ID)
	}
	if first == repaired {
		return ""
	}
	return first + "\t" + second
}

// keepsContent checks that a plan without a question keeps each prompt, response, result and file of the request that
// belongs to a message without findings.
func keepsContent(t *testing.T, before *repair.Case, id string) {
	t.Helper()
	r, err := repair.Plan(id, before, repair.Request{Force: true, Unattended: true})
	if err != nil {
		t.Fatal(err)
	}
	atFault := map[string]bool{}
	for _, d := range r.Fixed {
		if d.Tier != repair.Auto {
			t.Errorf("%s is repaired without a question, and its tier is %s", d.Class, d.Tier)
		}
		atFault[d.Ref.Message], atFault[d.Message] = true, true
	}
	blocks := func(c *repair.Case) (all []*request.Block) {
		q, _ := c.Current()
		for _, turn := range q.Whole().Turns {
			all = append(all, turn.Blocks...)
		}
		return all
	}
	after := map[string]bool{}
	for _, b := range blocks(r.After) {
		after[string(b.Type)+b.Text+string(b.Output)+string(b.Data)] = true
	}
	for _, b := range blocks(before) {
		if !b.IsThinking() && !atFault[b.Ref().Message] && !after[string(b.Type)+b.Text+string(b.Output)+string(b.Data)] {
			t.Errorf("the repair loses %s %q of %s", b.Type, b.Text, b.Ref())
		}
	}
}

// TestUnaskedReal: without a question no real conversation is changed, whatever its findings.
func TestUnaskedReal(t *testing.T) {
	home := t.TempDir()
	real.Unpack(t, home)
	n := 0
	for name, a := range map[string]agent.Agent{".claude": claude.Agent{}, ".codex": codex.Agent{}} {
		c := open(t, a, filepath.Join(home, name))
		heads, err := c.Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		n += len(heads)
		for _, head := range heads {
			reqs := []repair.Request{{Force: true, Latent: true}, {Force: true, Error: &repair.APIError{Class: repair.MissingHistory, Index: -1, Block: -1}}}
			if storetest.AllCases() {
				reqs = append(reqs, repair.Request{Force: true})
			}
			for _, req := range reqs {
				entry, r, err := unattended.New(c).Repair(t.Context(), head, req, nil)
				if _, mustAsk := errors.AsType[*repair.AskError](err); entry != "" || err != nil && !mustAsk {
					t.Errorf("%s: repair %q of %v, %v", head.ID, entry, r.Fixed, err)
				}
			}
		}
	}
	if n != len(real.Sessions()) {
		t.Errorf("%d sessions, want %d", n, len(real.Sessions()))
	}
}

// TestUnaskedAfterError: what a running agent reports is repaired without a question: unfinished calls when the agent
// is idle, and thinking that only the provider can check.
func TestUnaskedAfterError(t *testing.T) {
	signature := opencode.Agent{}.ParseAPIError([]byte("messages.1.content.0: Invalid `signature` in `thinking` block"))
	disabled := opencode.Agent{}.ParseAPIError([]byte("messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`."))
	for i, archive := range [][]byte{testdata.OpenCode1153, testdata.OpenCode1227, testdata.OpenCode11833} {
		for name, req := range map[string]repair.Request{
			"tool running":             {Classes: []repair.Class{repair.ToolResultMissing}, Latent: true, Force: true},
			"refused signature":        {Error: &signature, Force: true},
			"thinking alone in a step": {Error: &disabled, Force: true, All: true},
		} {
			path, id := unpackOpenCode(t, archive)
			switch name {
			case "tool running":
				damage.Edit(t, path, id, damage.ByName(t, name))
			case "thinking alone in a step":
				damage.Edit(t, path, id, damage.Text(damage.Hello, ""))
			}
			if entry, r, err := unattended.New(open(t, opencode.Agent{}, path)).Repair(t.Context(), change.Head{ID: id}, req, nil); err != nil || entry == "" {
				t.Errorf("%s, %s: Repair = %q of %v, %v", damage.Versions[i], name, entry, r.Remaining, err)
			}
		}
	}
}

// TestCheckUnasked: before an error a session is repaired without a question only if no readable content is lost, the
// provider is known or the agent cannot read the session, nothing broken is left, and the user has undone no repair of
// the session.
func TestCheckUnasked(t *testing.T) {
	fixed := func(class repair.Class, loses string) repair.Result {
		return repair.Result{Fixed: []repair.Diagnosis{{Severity: repair.Broken, Class: class, Loses: loses}}}
	}
	left := func(d repair.Diagnosis) repair.Result {
		r := fixed(repair.EmptyContentMessage, "")
		r.Remaining = []repair.Diagnosis{d}
		return r
	}
	unknown := func(class repair.Class) repair.Result {
		r := fixed(class, "")
		r.UnknownProvider = "@ai-sdk/xai"
		return r
	}
	root, id := unpackOpenCode(t, testdata.OpenCode1153)
	c := open(t, opencode.Agent{}, root)
	for _, test := range []struct {
		name   string
		result repair.Result
		want   string // a part of the error
	}{
		{"nothing is lost", fixed(repair.EmptyContentMessage, ""), ""},
		{"readable content is lost", fixed(repair.ThinkingBlockOrder, "What the model thought."), "can be read"},
		{"unreadable content is lost", fixed(repair.UnreadableRecord, "The rest of the text."), ""},
		{"an unknown provider", unknown(repair.EmptyContentMessage), "@ai-sdk/xai"},
		{"an unknown provider, and a record that the agent cannot read", unknown(repair.UnreadableRecord), ""},
		{"a broken finding is left", left(repair.Diagnosis{Severity: repair.Broken, Class: repair.ThinkingSignature, Tier: repair.Auto}), "still be broken"},
		{"a broken finding is left that needs a question", left(repair.Diagnosis{Severity: repair.Broken, Class: repair.MissingHistory, Tier: repair.Ask, Fix: "fix"}), "mend fix " + id},
		{"a finding in another setting is left", left(repair.Diagnosis{Severity: repair.Latent, Class: repair.ThinkingSignature}), ""},
	} {
		err := unattended.New(c).CheckUnasked(t.Context(), id, test.result)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.name, err, test.want)
		}
	}

	damage.Text(damage.Hello, " \n")(damage.Tree{T: t, Root: root, Session: id})
	entry, _, err := unattended.New(c).Repair(t.Context(), change.Head{ID: id}, repair.Request{}, nil)
	if err != nil || entry == "" {
		t.Fatalf("Repair = %q, %v", entry, err)
	}
	p, err := c.ProposeUndo(t.Context(), mend.UndoRequest{IDs: []string{entry}})
	if err == nil {
		_, err = c.Apply(t.Context(), p)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := unattended.New(c).CheckUnasked(t.Context(), id, fixed(repair.EmptyContentMessage, "")); err == nil || !strings.Contains(err.Error(), "undone") {
		t.Errorf("after an undo: %v", err)
	}
}
