package render_test

import (
	"reflect"
	"testing"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/change"
	"mend/internal/provider"
	"mend/internal/provider/anthropic"
	"mend/internal/test/damage"
	"mend/internal/test/encode"
	"mend/internal/test/endpoint"
)

// FuzzRender replaces a message and two parts of a session with arbitrary bytes. The request refers only to records of
// the session, can be encoded, and is the same with a used View as with a new one.
func FuzzRender(f *testing.F) {
	for i := range damage.Versions {
		s := knownDamage(f, i, func(damage.Store) {})
		for _, m := range s.Messages {
			for j := range m.Parts {
				f.Add(m.Data, m.Parts[j].Data, m.Parts[(j+1)%len(m.Parts)].Data, i == 0, uint8(j))
			}
		}
	}
	f.Fuzz(func(t *testing.T, message, first, second []byte, file bool, setting uint8) {
		b := newBuilder()
		b.prompt(textPart("a prompt"))
		b.assistant(stepStartPart(), thinkingPart("a thought"), toolPart("toolu_1", "output"), stepStartPart(), textPart("a text"))
		b.prompt(textPart("another prompt"))
		s := b.Clone()
		overwrite(&s.Messages[1], message, first, second, file)

		profiles := render.Profiles()
		set := render.Settings{Profile: profiles[int(setting)%len(profiles)]}
		view := render.Read(s)
		view.Render(render.Settings{}) // must not affect the next call
		q := view.Render(set)
		if again := render.Render(s, set); !reflect.DeepEqual(q, again) {
			t.Errorf("Render differs the second time: %+v and %+v", q, again)
		}
		checkRequest(t, s, q)
		render.Read(s).Screen(set.Profile)
	})
}

// overwrite replaces the bytes of a message and of its first and last part.
func overwrite(m *record.Message, message, first, last []byte, file bool) {
	changed := func(r change.Record, data []byte) change.Record {
		r.Data, r.Defect = data, nil
		if !file {
			r.Cols = change.NewCols(change.IntCol("time_created", m.Created))
		}
		return r
	}
	parts := m.Parts
	*m = record.NewMessage(changed(m.Record, message))
	m.Parts = parts
	n := len(parts) - 1
	parts[0] = record.NewPart(changed(parts[0].Record, first))
	parts[n] = record.NewPart(changed(parts[n].Record, last))
}

// checkRequest checks the properties that every request has.
func checkRequest(t interface{ Errorf(string, ...any) }, s *record.Session, q render.Request) {
	known := map[change.Ref]bool{{}: true}
	for r := range s.Records {
		known[r.Ref] = true
	}
	for n, turn := range q.Turns {
		if n > 0 && q.Turns[n-1].Role == turn.Role {
			t.Errorf("turns %d and %d have the same role, %s", n-1, n, turn.Role)
		}
		for _, ref := range turn.Messages {
			if !known[ref] {
				t.Errorf("turn %d has the ref %v, which is not in the session", n, ref)
			}
		}
		for m, b := range turn.Blocks {
			if !known[b.Ref()] {
				t.Errorf("block %d.%d has the ref %v, which is not in the session", n, m, b.Ref())
			}
		}
	}
	for _, f := range q.Failures {
		if !known[f.Ref] || f.Ref.Kind == 0 {
			t.Errorf("%+v is about a record that is not in the session", f)
		}
	}
	sent, err := endpoint.Parse(encode.JSON(anthropic.Provider{}, q.Request))
	if err != nil || len(sent.Messages) != len(q.Turns) {
		t.Errorf("JSON() = %s: %d messages, want %d; %v", encode.JSON(anthropic.Provider{}, q.Request), len(sent.Messages), len(q.Turns), err)
		return
	}
	for n, m := range sent.Messages {
		if m.Role != q.Turns[n].Role || len(m.Content) != len(q.Turns[n].Blocks) {
			t.Errorf("JSON() has %+v at %d, want %+v", m, n, q.Turns[n])
		}
	}
}

// compareWithEndpoint fails the test if the strict endpoint and Check find different violations in the request.
func compareWithEndpoint(t interface{ Error(...any) }, q render.Request, thinking bool) {
	found := map[string]endpoint.Place{}
	for _, v := range provider.Check(anthropic.Provider{}, q.Request, thinking) {
		if _, ok := found[v.Rule]; !ok {
			found[v.Rule] = endpoint.Place{N: v.N, M: v.M}
		}
	}
	if err := endpoint.Compare(encode.JSON(anthropic.Provider{}, q.Request), thinking, found); err != nil {
		t.Error(err)
	}
}
