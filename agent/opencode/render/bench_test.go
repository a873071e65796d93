package render_test

import (
	"testing"

	"mend/agent/opencode/render"
	"mend/internal/provider/anthropic"
)

// The session has 2,000 messages and 20,000 parts.

func BenchmarkRender(b *testing.B) {
	s := longSession()
	for b.Loop() {
		render.Render(s, render.Settings{})
	}
}

func BenchmarkCheck(b *testing.B) {
	r := render.Render(longSession(), render.Settings{})
	for b.Loop() {
		render.Check(anthropic.Provider{}, r, true)
	}
}

// Every profile, with and without thinking.
func BenchmarkEveryProfile(b *testing.B) {
	s := longSession()
	for b.Loop() {
		view := render.Read(s)
		for _, p := range render.Profiles() {
			q := view.Render(render.Settings{Profile: p})
			render.Check(anthropic.Provider{}, q, true)
			render.Check(anthropic.Provider{}, q, false)
		}
	}
}
