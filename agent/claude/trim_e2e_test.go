//go:build e2e

package claude_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	fixture "mend/internal/test/claude"
	"mend/internal/unattended"
	"mend/repair"
)

// TestRealTrim trims the results of a session: the real program no longer sends them, and all
// else as before; after the undo it sends them again.
func TestRealTrim(t *testing.T) {
	text := strings.TrimSpace(strings.Repeat("many words ", 80))
	data := bytes.Replace(fixture.Baseline, []byte(`"content":"hi"`), []byte(`"content":"`+text+`"`), 1)
	onVersions(t, func(t *testing.T, version string, h *fixture.Home) {
		if testing.Short() && version != fixture.Versions[0] {
			t.Skip("the newest version is the sample")
		}
		has := func(r fixture.Reply, text string) int {
			n := 0
			for _, b := range r.Blocks {
				if strings.Contains(b, text) {
					n++
				}
			}
			return n
		}
		h.Put(fixture.Session, data)
		before := h.Prompt(fixture.Session, prompt, true)
		h.Put(fixture.Session, data)
		c := client(t, h)
		id, trimmed, err := unattended.New(c).Trim(t.Context(), fixture.Session, repair.TrimRequest{Goal: 1, KeepTurns: 1})
		if err != nil || len(trimmed.Outputs) != 2 { // the text and the image
			t.Fatalf("Trim = %+v, %v", trimmed, err)
		}
		stored := h.Read(fixture.Session)
		if !bytes.HasPrefix(stored, data) {
			t.Error("the trim changes stored bytes")
		}
		after := h.Prompt(fixture.Session, prompt, true)
		if !before.Answered || !after.Answered || has(before, text) != 1 || has(after, text) != 0 || has(after, "[Old tool result content cleared]") != 2 {
			t.Errorf("before: %t, %d times the text; after: %t, %d times, %d cleared: %s", before.Answered, has(before, text), after.Answered, has(after, text), has(after, "cleared"), after.Output)
		}
		kept := func(r fixture.Reply) []string {
			return slices.DeleteFunc(slices.Clone(r.Blocks), func(b string) bool {
				return strings.Contains(b, text) || strings.Contains(b, "cleared") || strings.Contains(b, "image")
			})
		}
		if diff := cmp.Diff(kept(before), kept(after)); diff != "" {
			t.Errorf("the other blocks differ (-before +after):\n%s", diff)
		}
		h.Put(fixture.Session, stored)
		checkUndo(t, c, h, fixture.Session, id, data)
		if again := h.Prompt(fixture.Session, prompt, true); !slices.Equal(again.Blocks, before.Blocks) {
			t.Errorf("after the undo the request differs:\n%s", cmp.Diff(before.Blocks, again.Blocks))
		}
	})
}
