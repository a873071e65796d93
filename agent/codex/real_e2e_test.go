//go:build e2e

package codex_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"mend/change"
	"mend/internal/mend"
	"mend/internal/provider/openai"
	fixture "mend/internal/test/codex"
	"mend/internal/test/encode"
	"mend/repair"
	"mend/testdata"
)

var (
	version = flag.String("codex", fixture.Version, "the version of Codex to run")
	only    = flag.String("only", "", "make only the damages with this text in their names")
)

func newHome(t *testing.T) *fixture.Home {
	t.Helper()
	exe, err := fixture.Install(*version)
	if err != nil {
		t.Skip(err)
	}
	h := fixture.NewHome(t, exe)
	if r := h.Prompt(testdata.CodexSession, "zero more"); r.Fate() != "alive" { // creates the databases
		t.Fatalf("the healthy session is %s: %s", r.Fate(), r.Output)
	}
	return h
}

// TestRealDamages: mend predicts the request and the result of each kind of damage. After the repair Codex continues
// the session, and sends all content that the damage did not remove. An undo restores each byte.
func TestRealDamages(t *testing.T) {
	h := newHome(t)
	restore := h.Save()
	healthy := h.Prompt(testdata.CodexSession, "one more")
	revived, dead := 0, 0
	for _, d := range fixture.Damages() {
		if !strings.Contains(d.Name, *only) || testing.Short() && !fixture.Everyday(d.Name) {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			journal := t.TempDir()
			restore()
			h.Damage(d)
			c := open(t, h, journal)
			head := session(t, c)
			want, items := predictFate(t, c, head), expectedItems(t, c, head)
			before := files(t, h)
			seen := h.Prompt(testdata.CodexSession, "one more")
			if want == "alive" && d.Fate == "O8" {
				want = "O8" // only the provider knows
			}
			if seen.Fate() != want || d.Fate != "?" && seen.Fate() != d.Fate {
				t.Errorf("mend predicts %s, the table has %s, and the session is %s: %s", want, d.Fate, seen.Fate(), seen.Output)
			}
			if seen.Sent && seen.Rule != "O9" {
				if diff := gocmp.Diff(items, short(seen.Items)); diff != "" {
					t.Errorf("the request differs (-predicted +seen):\n%s", diff)
				}
			}
			restore()
			h.Damage(d)
			if diff := gocmp.Diff(before, files(t, h)); diff != "" {
				t.Fatalf("the damage differs the second time: %s", diff)
			}
			c = open(t, h, journal)
			for range 2 {
				request := repair.Request{}
				if seen.Rule == "O8" {
					e := c.ParseAPIError([]byte(seen.Message))
					request.Error, request.All = &e, true
				}
				head = session(t, c)
				r, err := c.ProposeRepair(t.Context(), head, request)
				must(t, err)
				if len(r.Plan.Ops) == 0 {
					break
				}
				apply(t, c, r.Plan)
				for _, f := range r.Fixed {
					t.Logf("%s: %s %s", f.Rule, f.Why, f.Fix)
				}
			}
			same := seen.Fate() == "alive" && fmt.Sprint(files(t, h)) == fmt.Sprint(before)
			after := h.Prompt(testdata.CodexSession, "one more")
			if seen.Fate() != "alive" {
				dead++
			}
			switch {
			case after.Fate() == "alive" && seen.Fate() != "alive":
				revived++
			case after.Fate() != "alive" && d.Name != "empty" && d.Name != "all NUL" && d.Keeps != "everything":
				t.Errorf("after the repair the session is %s: %s", after.Fate(), after.Output+after.Message)
			}
			if missing := lostContents(healthy.Items, after.Items, d.Fate == "O8" || d.Fate == "O13"); len(missing) > 0 && !d.Lost && !same && d.Keeps == "" {
				t.Errorf("after the repair the request lacks %s", strings.Join(missing, "\n"))
			}
			restore()
			h.Damage(d)
			c = open(t, h, t.TempDir())
			head = session(t, c)
			before = files(t, h)
			if r, err := c.ProposeRepair(t.Context(), head, repair.Request{Latent: true}); err == nil && len(r.Plan.Ops) > 0 {
				undo(t, c, apply(t, c, r.Plan))
				if diff := gocmp.Diff(before, files(t, h)); diff != "" {
					t.Errorf("after the undo the store differs: %s", diff)
				}
			}
		})
	}
	t.Logf("%d of %d sessions that were dead or refused work after the repair", revived, dead)
}

// expectedItems returns, in short form, the items that mend expects in the request.
func expectedItems(t *testing.T, c *mend.Store, head change.Head) []string {
	t.Helper()
	return short(forecast(t, c, head))
}

// forecast returns the items that mend expects in the request.
func forecast(t *testing.T, c *mend.Store, head change.Head) (lines []string) {
	t.Helper()
	f, err := c.Forecast(t.Context(), head)
	must(t, err)
	var q struct{ Input []json.RawMessage }
	must(t, json.Unmarshal(encode.JSON(openai.Provider{}, f.Request), &q))
	for _, it := range q.Input[1 : len(q.Input)-1] { // without the instructions and the prompt
		lines = append(lines, string(it))
	}
	return lines
}

// short returns the parts of items that a test compares, which identify them.
func short(items []string) (all []string) {
	for _, raw := range items {
		var it struct {
			Type, Role, ID string
			CallID         string `json:"call_id"`
			Encrypted      string `json:"encrypted_content"`
			Name           string
			Arguments      string
			Output         json.RawMessage
			Content        []struct {
				Text     string
				ImageURL string `json:"image_url"`
			}
		}
		if err := json.NewDecoder(strings.NewReader(raw)).Decode(&it); err != nil {
			all = append(all, raw)
			continue
		}
		if it.Type == "agent_message" {
			it.Type, it.Role = "message", "user"
		}
		if it.Role != "" && it.Type == "" {
			it.Type = "message"
		}
		if string(it.Output) == `"aborted"` {
			it.ID = ""
		}
		line := fmt.Sprint(it.Type, " ", it.Role, " ", it.ID, " ", it.CallID, " ", it.Name, " ", it.Encrypted, " ", strings.NewReplacer(" ", "", `"`, "", `\`, "").Replace(it.Arguments))
		if out := string(it.Output); len(out) < 2000 {
			line += " " + out
		}
		for _, p := range it.Content {
			if it.Type != "reasoning" && p.Text+p.ImageURL != "" { // mend has an empty text for no content
				line += fmt.Sprintf(" %.60q", p.Text+p.ImageURL)
			}
		}
		all = append(all, line)
	}
	return all
}

// lostContents returns the contents of one request that another one lacks.
func lostContents(blocks, in []string, reasoning bool) (missing []string) {
	present := map[string]bool{}
	for _, it := range in {
		present[content(it)] = true
	}
	for _, it := range blocks {
		if text := content(it); !present[text] && (!reasoning || !strings.Contains(it, `"type":"reasoning"`)) {
			missing = append(missing, text)
		}
	}
	return missing
}

// content returns an item without the members that fixes change.
func content(raw string) string {
	var it map[string]any
	if json.Unmarshal([]byte(raw), &it) != nil {
		return raw
	}
	for _, name := range []string{"id", "call_id", "name"} {
		delete(it, name)
	}
	text, _ := json.Marshal(it) // cannot fail: it was decoded from JSON
	return string(text)
}
