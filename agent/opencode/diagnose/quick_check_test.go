package diagnose

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mend/agent/opencode/record"
	"mend/internal/storetest"
	"mend/session"
)

// findings returns what is wrong with the session in all its settings, by simulation.
func findings(s *record.Session) []fault {
	return simulationOf(s, Options{Now: fixtureTime}, false).Findings().All()
}

// quickCheck reports whether the session passes a quick check.
func quickCheck(s *record.Session, now time.Time) bool { return newQuickCheck(s, now, nil) != nil }

func TestPlain(t *testing.T) {
	rows := []struct {
		name string
		s    *record.Session
		want bool
	}{
		{"what the real agent wrote", fixture(t), true},
		{"calls", build(user(hi), calling(stepStart, signed, hi, bash, bash2, stepFinish), answer(stepStart, hi, stepFinish)), true},
		{"no answer yet", build(user(hi)), true},
		{"a file that cannot be sent", build(user(hi, `"type":"file","mime":"application/zip","url":"data:application/zip;base64,AA=="`)), false},
		{"an image that is no base64", build(user(hi, `"type":"file","mime":"image/png","url":"data:image/png;base64,A"`)), false},
		{"a picture of a size that some provider refuses", build(user(hi, `"type":"file","mime":"image/png","url":"data:image/png;base64,`+strings.Repeat("AAAA", 1<<18)+`"`)), false},
		{"all kinds of parts", allKinds(), true},
		{"nothing", build(), false},
		{"an answer first", build(answer(hi)), false},
		{"two answers", build(user(hi), answer(hi), answer(hi)), false},
		{"a prompt of nothing", build(user(), answer(hi)), false},
		{"a blank text", build(user(blank)), false},
		{"a file", build(user(hi, file)), true},
		{"the loop is open", build(user(hi), calling(stepStart, bash, stepFinish)), false},
		{"two calls of one id", build(user(hi), calling(bash, bash), answer(hi)), false},
		{"unsigned thinking", build(user(hi), answer(unsigned, hi)), false},
		{"thinking behind text", build(user(hi), answer(signed, hi, signed2, hi)), false},
		{"thinking last", build(user(hi), answer(hi, signed)), false},
		{"text behind a call", build(user(hi), calling(bash, hi), answer(hi)), false},
	}
	for _, r := range rows {
		if r.want {
			for i := range r.s.Messages { // as agents write it
				complete(&r.s.Messages[i])
			}
		}
		if got := quickCheck(r.s, fixtureTime); got != r.want {
			t.Errorf("%s: plain = %v, want %v", r.name, got, r.want)
		}
		if found := findings(r.s); r.want && len(found) > 0 {
			t.Errorf("%s: plain, and yet %v", r.name, found)
		}
	}
}

// allKinds returns a session with every kind of part, answers that failed, and a compaction.
func allKinds() *record.Session {
	const (
		text    = `"type":"file","mime":"text/plain","url":"file:///x","filename":"x"`
		agent   = `"type":"agent","name":"explore","source":{"value":"@explore","start":0,"end":8}`
		subtask = `"type":"subtask","prompt":"x","description":"y","agent":"explore"`
		compact = `"type":"compaction","auto":true`
		patch   = `"type":"patch","hash":"x","files":["y"]`
		retry   = `"type":"retry","attempt":1,"error":{"name":"APIError","data":{"message":"x","isRetryable":true,"responseHeaders":{"a":"b"}}},"time":{"created":1}`
	)
	aborted := func(parts ...string) turn {
		return turn{"assistant", `"error":{"name":"MessageAbortedError","data":{"message":"x"}}`, parts}
	}
	summary := turn{"assistant", `"finish":"stop","summary":true`, []string{stepStart, hi, stepFinish}}
	s := build(
		user(hi, file, text, agent), calling(stepStart, signed, hi, bash, stepFinish, patch), answer(stepStart, hi, stepFinish),
		user(subtask), failed("APIError", retry),
		user(hi), aborted(stepStart, hi, bash2),
		user(compact), summary,
		user(hi), aborted(stepStart, signed2),
		user(hi), answer(hi),
	)
	s.Messages[8] = rebuiltMessage(&s.Messages[8], strings.Replace(string(s.Messages[8].Data), messageID(1), messageID(8), 1))
	return s
}

// complete gives an answer the time at which it ended.
func complete(m *record.Message) {
	if m.Role == session.RoleAssistant && m.Completed == 0 {
		*m = rebuiltMessage(m, strings.Replace(string(m.Data), `"time":{`, `"time":{"completed":9000,`, 1))
	}
}

// rebuiltMessage returns the message with other data.
func rebuiltMessage(m *record.Message, data string) record.Message {
	n := record.NewMessage(session.Record{Ref: m.Ref, Data: []byte(data), Mode: m.Mode})
	n.Parts = m.Parts
	return n
}

// TestPlainIsHealthy breaks a session in random ways: where it still counts as
// plain, no simulation finds anything.
func TestPlainIsHealthy(t *testing.T) {
	kinds := allKinds()
	for i := range kinds.Messages {
		complete(&kinds.Messages[i])
	}
	wholes := []*record.Session{fixture(t), kinds}
	stillPlain := 0
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(wholes).Draw(t, "session").Clone()
		for range rapid.IntRange(1, 3).Draw(t, "changes") {
			disturb(t, s)
		}
		s.Sort()
		if !quickCheck(s, fixtureTime) {
			return
		}
		stillPlain++
		if found := findings(s); len(found) > 0 {
			t.Fatalf("plain, and yet %v in\n%s", found, records(s))
		}
	})
	if stillPlain == 0 {
		t.Error("no session was plain")
	}
}

func TestPlainWorldIsHealthy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := generator{damages: rapid.Bool().Draw(t, "damages")}
		s := w.session(t)
		for i := range s.Messages {
			complete(&s.Messages[i])
		}
		if found := findings(s); quickCheck(s, fixtureTime) && len(found) > 0 {
			t.Fatalf("plain, and yet %v in\n%s", found, records(s))
		}
	})
}

// TestPlainIsHealthyAfterAnyChange tries every change of one member, in one
// message of each kind.
func TestPlainIsHealthyAfterAnyChange(t *testing.T) {
	whole := fixture(t)
	whole.Messages = whole.Messages[:3] // a prompt, an answer with a call, and one with text
	tried := 0
	for i := range whole.Messages {
		for j := -1; j < len(whole.Messages[i].Parts); j++ {
			for _, path := range pathsOf(&whole.Messages[i], j) {
				for k, value := range oddValues {
					if !storetest.Includes(k, 3) {
						continue
					}
					s := whole.Clone()
					if !disturbMember(&s.Messages[i], j, path, value) {
						continue
					}
					s.Sort()
					if !quickCheck(s, fixtureTime) {
						continue
					}
					tried++
					if found := findings(s); len(found) > 0 {
						t.Errorf("message %d, part %d, %v = %s: plain, and yet %v", i, j, path, value, found)
					}
				}
			}
		}
	}
	if tried < 100 {
		t.Errorf("only %d changed sessions were plain", tried)
	}
}
