//go:build e2e

package render_test

import (
	"strings"
	"testing"

	"mend/internal/request"
	"mend/internal/test/damage"
)

// TestAbilities: the prediction is right for files with a model that supports only text.
func TestAbilities(t *testing.T) {
	for _, version := range damage.Versions {
		t.Run(version, func(t *testing.T) {
			l := newHarnessFrom(t, version, true, "text")
			l.reads = func(request.Model, string) (reads, known bool) { return false, true }
			for _, c := range mediaTrials() {
				t.Run(c.name, func(t *testing.T) { l.try(t, c, true) })
			}
		})
	}
}

// mediaTrials are files for a model that supports only text.
func mediaTrials() []trial {
	sent := func(file fields) func(*harness) {
		return func(l *harness) {
			l.add(l.part(damage.SecondPrompt, "text"), "z", `{}`)
			l.rows[len(l.rows)-1].fields = file
		}
	}
	named := func(f fields) fields { f["filename"] = "x.y"; return f }
	large := "data:image/png;base64," + strings.Repeat("A", largeImage)
	return []trial{
		{name: "image", apply: sent(file("image/png", png))},
		{name: "image with name", apply: sent(named(file("image/png", png)))},
		{name: "image, large", apply: sent(named(file("image/png", large)))},
		{name: "image link", apply: sent(file("image/png", "https://example.invalid/x.png"))},
		{name: "image without data", apply: sent(file("image/png", "data:image/png;base64,"))},
		{name: "image with another type in its URL", apply: sent(file("image/png", "data:application/pdf;base64,AAAA"))},
		{name: "PDF", apply: sent(named(file("application/pdf", "data:application/pdf;base64,AAAA")))},
		{name: "image attached", apply: attached(file("image/png", png))},
		{name: "image attached, large", apply: attached(file("image/png", large))},
		{name: "PDF attached", apply: attached(file("application/pdf", "data:application/pdf;base64,AAAA"))},
	}
}
