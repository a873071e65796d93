package diagnose

import (
	"strings"
	"testing"

	"mend/repair"
)

// A completion reports what it removes, and nothing else.
func TestCompleteLosses(t *testing.T) {
	call := func(attachment string) turn {
		return answer(stepStart, strings.Replace(withAttachments(attachment), `"output":"y",`, "", 1), stepStart, done)
	}
	for _, c := range []struct {
		name  string
		turn  turn
		loses string
	}{
		{"members of a map", answer(stepStart, `"type":"text","text":"hey","metadata":{"b":"keep me","a":{"x":1},"c":5,"d":null}`), "The invalid values of metadata.b, metadata.c."},
		{"nothing in a map", answer(stepStart, `"type":"text","text":"hey","metadata":{"a":{"x":1},"d":null}`), ""},
		{"items of a list", answer(stepStart, done, `"type":"patch","hash":"x","files":["y",{"z":1},null]`), "The invalid values of files.1."},
		{
			"data of an error",
			turn{"assistant", `"error":{"name":"MyError","data":{"message":"m","detail":"valuable"}}`, []string{done}},
			"",
		},
		{"an error as a text", turn{"assistant", `"error":["x"]`, []string{done}}, ""},
		{
			"a field of an error",
			turn{"assistant", `"error":{"name":"APIError","data":{"message":"m","isRetryable":false,"statusCode":"many"}}`, []string{done}},
			"The invalid values of error.data.statusCode.",
		},
		{"an attachment", call(`{"type":"file","mime":"image/png","url":{"big":"picture"}}`), "The invalid values of state.attachments.0."},
		{"part of an attachment", call(strings.Replace(picture, `"type"`, `"source":5,"type"`, 1)), "The invalid values of state.attachments.0.source."},
	} {
		s := build(user(hi), c.turn, user(hi))
		r := plan(t, s, latent)
		if len(r.Fixed) == 0 || r.Fixed[0].Class != repair.IncompleteRecord || r.Fixed[0].Loses != c.loses {
			t.Errorf("%s: Plan fixes %+v, want one %s that loses %q; leaves %s", c.name, r.Fixed, repair.IncompleteRecord, c.loses, summary(r.Remaining))
		}
	}
}
