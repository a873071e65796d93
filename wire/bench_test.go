package wire_test

import (
	"testing"

	"mend/wire"
)

// What a diagnosis asks of a session of 2,000 messages and 20,000 parts.

func BenchmarkRender(b *testing.B) {
	s := longTalk()
	for b.Loop() {
		wire.Render(s, wire.Settings{})
	}
}

// A rendering after an edit of one record.
func BenchmarkRenderAgain(b *testing.B) {
	s := longTalk()
	var r wire.Renderer
	r.Read(s).Render(wire.Settings{})
	p := &s.Messages[1].Parts[0]
	for b.Loop() {
		p.Data = append([]byte(nil), p.Data...)
		r.Read(s).Render(wire.Settings{})
	}
}

func BenchmarkCheck(b *testing.B) {
	r := wire.Render(longTalk(), wire.Settings{})
	for b.Loop() {
		wire.Check(r, true)
	}
}

// Every profile, with and without thinking.
func BenchmarkEveryProfile(b *testing.B) {
	s := longTalk()
	for b.Loop() {
		of := new(wire.Renderer).Read(s)
		for _, p := range wire.Profiles() {
			q := of.Render(wire.Settings{Profile: p})
			of.Check(q, true)
			of.Check(q, false)
		}
	}
}
