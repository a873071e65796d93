package live

import (
	"fmt"
	"strings"
	"testing"
)

// TestStep checks what follows from events of one session, without a Watch.
func TestStep(t *testing.T) {
	failure := func(text string) *Info { return &Info{ID: "msg_2", Error: errorJSON(text)} }
	compacted := &Info{Error: []byte(`{"name":"ContextOverflowError"}`)}
	names := map[taskKind]string{
		taskForget: "forget", taskSucceeded: "succeeded", taskFailure: "failure",
		taskOverflow: "overflow", taskIdle: "idle", taskSilent: "silent",
	}
	asked, again := update{prompted: true, prompt: "msg_1"}, update{prompted: true, prompt: "msg_3"}
	idle, answered := update{idle: true}, update{succeeded: true, answered: true}
	aborted := update{failure: &Info{Error: []byte(`{"name":"AbortError"}`)}}
	tooLong := update{failure: compacted, tooLong: true}
	for name, c := range map[string]struct {
		events []update
		want   string
	}{
		"a turn":                            {[]update{asked, answered, idle}, "succeeded, idle"},
		"only completed":                    {[]update{asked, {succeeded: true}, idle}, "idle"},
		"no answer":                         {[]update{asked, idle, idle}, "idle, silent, idle"},
		"an error":                          {[]update{asked, {failure: failure("x"), recoverable: true}, idle}, "failure, idle"},
		"an unknown error":                  {[]update{asked, {failure: failure("x")}, idle}, "idle, silent"},
		"aborted":                           {[]update{asked, aborted, idle, idle}, "idle"},
		"aborted, and a prompt":             {[]update{asked, aborted, again, idle}, "idle, silent"},
		"a prompt that is reported again":   {[]update{asked, answered, asked, idle}, "succeeded, idle"},
		"deleted":                           {[]update{asked, {deleted: true}, idle}, "forget, idle"},
		"too long, and no compaction":       {[]update{asked, {failure: failure("x"), tooLong: true}, {failure: failure("x"), tooLong: true}}, "overflow"},
		"too long after two compactions":    {[]update{asked, tooLong, again, tooLong}, ""},
		"too long after three":              {[]update{asked, tooLong, again, tooLong, asked, tooLong, again, tooLong}, "overflow"},
		"too long, and an answer between":   {[]update{asked, tooLong, again, tooLong, answered, asked, tooLong}, "succeeded"},
		"too long, but not of a new prompt": {[]update{{failure: failure("x"), tooLong: true}}, ""},
	} {
		var s sessionState
		var got []string
		for _, u := range c.events {
			var tasks []task
			s, tasks = step(s, u)
			for _, t := range tasks {
				got = append(got, names[t.kind])
			}
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, ", "), c.want)
		}
	}
}

// TestTasks checks that the tasks of a session are few, and in order.
func TestTasks(t *testing.T) {
	var q queueItem
	for n, kind := range []taskKind{taskSilent, taskFailure, taskIdle, taskFailure, taskIdle, taskFailure} {
		q.add(task{kind: kind, failure: Info{ID: fmt.Sprint(n)}})
	}
	var got []string
	for _, t := range q.tasks {
		got = append(got, fmt.Sprint(t.kind, " ", t.failure.ID))
	}
	if want := "3 1, 3 5, 5 4, 6 0"; strings.Join(got, ", ") != want {
		t.Errorf("tasks %q, want %q", strings.Join(got, ", "), want)
	}
}
