package live

import (
	"strings"
	"testing"
)

// TestStep: these events of one session lead to these causes.
func TestStep(t *testing.T) {
	failure := func(text string) *Info { return &Info{ID: "msg_2", Error: errorJSON(text)} }
	compacted := &Info{Error: []byte(`{"name":"ContextOverflowError"}`)}
	names := map[Cause]string{AfterError: "failure", AfterOverflow: "overflow", AtIdle: "idle", AfterSilence: "silent"}
	asked, again := update{prompted: true, prompt: "msg_1"}, update{prompted: true, prompt: "msg_3"}
	idle, answered := update{idle: true}, update{succeeded: true, answered: true}
	aborted := update{failure: &Info{Error: []byte(`{"name":"AbortError"}`)}}
	tooLong := update{failure: compacted, tooLong: true}
	for name, c := range map[string]struct {
		events []update
		want   string
	}{
		"a turn":                            {[]update{asked, answered, idle}, "idle"},
		"only completed":                    {[]update{asked, {succeeded: true}, idle}, "idle"},
		"no answer":                         {[]update{asked, idle, idle}, "silent, idle"},
		"an error":                          {[]update{asked, {failure: failure("x"), recoverable: true}, idle}, "failure, idle"},
		"an unknown error":                  {[]update{asked, {failure: failure("x")}, idle}, "silent"},
		"aborted":                           {[]update{asked, aborted, idle, idle}, "idle"},
		"aborted, and a prompt":             {[]update{asked, aborted, again, idle}, "silent"},
		"a prompt that is reported again":   {[]update{asked, answered, asked, idle}, "idle"},
		"deleted":                           {[]update{asked, {deleted: true}, idle}, "idle"},
		"too long, and no compaction":       {[]update{asked, {failure: failure("x"), tooLong: true}, {failure: failure("x"), tooLong: true}}, "overflow"},
		"too long after two compactions":    {[]update{asked, tooLong, again, tooLong}, ""},
		"too long after three":              {[]update{asked, tooLong, again, tooLong, asked, tooLong, again, tooLong}, "overflow"},
		"too long, and an answer between":   {[]update{asked, tooLong, again, tooLong, answered, asked, tooLong}, ""},
		"too long, but not of a new prompt": {[]update{{failure: failure("x"), tooLong: true}}, ""},
	} {
		var s sessionState
		var got []string
		for _, u := range c.events {
			var cause Cause
			if s, cause = step(s, u); cause != 0 {
				got = append(got, names[cause])
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, ", "), c.want)
		}
	}
}
