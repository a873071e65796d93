//go:build e2e

package codex_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	fixture "mend/internal/test/codex"
	"mend/testdata"
)

var updateForms = flag.Bool("update", false, "write what Codex reads into rollout/testdata/forms.txt")

// TestRealForms finds out which of the records in rollout/testdata/forms.txt Codex reads. Records that change the
// history, and the first record, are tested one at a time.
func TestRealForms(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Codex for each form of the first record")
	}
	const file = "rollout/testdata/forms.txt"
	text, err := os.ReadFile(file)
	must(t, err)
	h := newHome(t)
	restore := h.Save()
	id, ordinal := regexp.MustCompile(`form\d{4}`), regexp.MustCompile(`"ordinal":\d+,`)
	ask := func(do func(r *fixture.Rollout)) fixture.Reply {
		restore()
		h.Damage(fixture.Damage{Do: func(r *fixture.Rollout) {
			last := ordinal.ReplaceAll(r.Lines[len(r.Lines)-1], []byte(`"ordinal":99999,`)) // Codex needs an ordinal in the last line
			do(r)
			r.Lines = append(r.Lines, last)
		}})
		return h.Prompt(testdata.CodexSession, "one more")
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	sent := map[string]bool{}
	all := ask(func(r *fixture.Rollout) {
		for _, l := range lines {
			if _, record, _ := strings.Cut(l, " "); id.MatchString(record) && !strings.Contains(record, "compaction") {
				r.Lines = append(r.Lines, []byte(record))
			}
		}
	})
	for _, name := range id.FindAllString(strings.Join(all.Items, "\n"), -1) {
		sent[name] = true
	}
	if len(sent) == 0 {
		t.Fatalf("nothing was sent: %s", all.Output)
	}
	healthy := len(ask(func(*fixture.Rollout) {}).Items)
	for i, l := range lines {
		previous, record, _ := strings.Cut(l, " ")
		read := sent[id.FindString(record)]
		switch {
		case strings.Contains(record, `"type":"compacted"`):
			r := ask(func(r *fixture.Rollout) { r.Lines = append(r.Lines, []byte(record)) })
			read = len(r.Items) < healthy
		case strings.Contains(record, "compaction"):
			r := ask(func(r *fixture.Rollout) { r.Lines = append(r.Lines, []byte(record)) })
			read = strings.Contains(strings.Join(r.Items, "\n"), id.FindString(record))
		case strings.Contains(record, `"type":"session_meta"`):
			read = ask(func(r *fixture.Rollout) { r.Lines[0] = []byte(record) }).Fate() == "alive"
		}
		state := map[bool]string{true: "read", false: "skipped"}[read]
		if lines[i] = state + " " + record; state != previous && !*updateForms {
			t.Errorf("a record is %s, want %s: %s", state, previous, record)
		}
	}
	if *updateForms {
		must(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644)) //nolint:gosec // a file of the repository
	}
}
