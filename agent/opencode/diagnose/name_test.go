package diagnose

import (
	"strings"
	"testing"
)

// A file without an id in it, or with one that is no text, gets the id of its name (-seed 3203262).
func TestFileWithoutID(t *testing.T) {
	for _, id := range []string{``, `"id":1795224840132,`} {
		s := build(user(hi), answer(stepStart, signed, `raw:{`+id+`"sessionID":"ses_1","messageID":"msg_02","type":"text","text":"Hello."}`, done))
		r := plan(t, s, Request{Options: Options{Version: "1.1.53"}, Latent: true})
		if after := string(r.After.Messages[1].Parts[2].Data); len(r.Fixed) == 0 || !strings.Contains(after, `"id":"prt_0203"`) || len(r.Remaining) > 0 {
			t.Errorf("%q: fixed %s, remaining %s, the part is %s", id, summary(r.Fixed), summary(r.Remaining), after)
		}
	}
}
