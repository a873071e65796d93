package render_test

import (
	"testing"

	"mend/agent/opencode/render"
	"mend/provider/anthropic"
)

// The session has 2,000 messages and 20,000 parts.

func BenchmarkRender(b *testing.B) {
	s := longSession()
	for b.Loop() {
		render.Render(s, render.Settings{})
	}
}

// A rendering after an edit of one record.
func BenchmarkRenderAgain(b *testing.B) {
	s := longSession()
	var r render.Renderer
	r.Read(s).Render(render.Settings{})
	p := &s.Messages[1].Parts[0]
	for b.Loop() {
		p.Data = append([]byte(nil), p.Data...)
		r.Read(s).Render(render.Settings{})
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
		view := new(render.Renderer).Read(s)
		for _, p := range render.Profiles() {
			q := view.Render(render.Settings{Profile: p})
			view.Check(anthropic.Provider{}, q, true)
			view.Check(anthropic.Provider{}, q, false)
		}
	}
}
