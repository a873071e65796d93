//go:build e2e

package render_test

import (
	"fmt"
	"strings"

	"mend/internal/test/damage"
)

// recordTrials change bytes and fields of records.
func recordTrials() []trial {
	return []trial{
		{name: "part of NUL bytes", apply: rawPart(zeros)},
		{name: "message of NUL bytes", apply: rawMessage(zeros)},
		{name: "part null", apply: rawPart(text(`null`))},
		{name: "part a list", apply: rawPart(text(`[]`))},
		{name: "part a string", apply: rawPart(text(`"x"`))},
		{name: "part a number", apply: rawPart(text(`5`))},
		{name: "message null", apply: rawMessage(text(`null`))},
		{name: "message a list", apply: rawMessage(text(`[]`))},
		{name: "message a number", apply: rawMessage(text(`5`))},
		{name: "part with text after", apply: rawPart(func(s string) string { return s + "}" })},
		{name: "part with a byte order mark", apply: rawPart(func(s string) string { return "\ufeff" + s })},
		{name: "part with white space around", apply: rawPart(func(s string) string { return "\n " + s + "\n\n" })},
		{name: "part with invalid UTF-8", apply: rawPart(func(s string) string { return strings.Replace(s, "Hello", "He\xffllo", 1) })},
		{name: "part with a name twice", apply: rawPart(func(s string) string { return strings.Replace(s, "{", `{"text":"first",`, 1) })},
		{name: "part with half a surrogate pair", apply: rawPart(func(s string) string { return strings.Replace(s, "Hello", `He\ud800llo`, 1) })},
		{name: "truncated part of an error message", apply: combine(rawPart(first20), message(damage.Hello, "error", failure("APIError")))},
		{name: "role missing", apply: noField(damage.Hello, "role")},
		{name: "role unknown", apply: message(damage.Hello, "role", "novel")},
		{name: "role system", apply: message(damage.Hello, "role", "system")},
		{name: "time missing in an answer", apply: noField(damage.Hello, "time")},
		{name: "time missing in a prompt", apply: noField(damage.SecondPrompt, "time")},
		{name: "time.created missing", apply: message(damage.Hello, "time", fields{})},
		{name: "tokens missing in the last answer", apply: noField(damage.Goodbye, "tokens")},
		{name: "tokens missing in an older answer", apply: noField(damage.Hello, "tokens")},
		{name: "tokens.cache missing in the last answer", apply: message(damage.Goodbye, "tokens", fields{"input": 1, "output": 2})},
		{name: "only tokens.total in the last answer", apply: message(damage.Goodbye, "tokens", fields{"total": 3})},
		{name: "finish missing in the last answer", apply: noField(damage.Goodbye, "finish")},
		{name: "tokens and finish missing in the last answer", apply: combine(noField(damage.Goodbye, "finish"), noField(damage.Goodbye, "tokens"))},
		{name: "parentID missing", apply: noField(damage.Hello, "parentID")},
		{name: "agent missing in an answer", apply: noField(damage.Hello, "agent")},
		{name: "agent missing in a prompt", apply: noField(damage.SecondPrompt, "agent")},
		{name: "model missing in a prompt", apply: noField(damage.SecondPrompt, "model")},
		{name: "model missing in the last prompt", apply: noField(damage.FourthPrompt, "model")},
		{name: "modelID missing in an answer", apply: noField(damage.Hello, "modelID")},
		{name: "mode, path and cost missing", apply: combine(noField(damage.Hello, "mode"), noField(damage.Hello, "path"), noField(damage.Hello, "cost"))},
		{name: "time missing in a text and in reasoning", apply: combine(without(damage.Hello, "text", "time"), without(damage.Hello, "reasoning", "time"))},
		{name: "stray hidden file among parts", apply: func(l *harness) { l.stray["part/"+l.message(damage.Hello).id+"/.DS_Store"] = "x" }},
	}
}

const (
	userFields    = `{"role":"user","agent":"build","model":{"providerID":"anthropic","modelID":"claude-fake"}}`
	summaryFields = `{"role":"assistant","agent":"compaction","mode":"compaction","providerID":"anthropic","modelID":"claude-fake","summary":true,"finish":"stop",
		"path":{"cwd":"/","root":"/"},"cost":0,"tokens":{"input":1,"output":1,"reasoning":0,"cache":{"read":0,"write":0}}%s}`
	stepStart = `{"type":"step-start"}`
)

// afterCompaction adds a finished compaction after message n.
func afterCompaction(n int, marker, summary string) func(*harness) {
	return func(l *harness) {
		m := l.insert(n, userFields, marker)
		a := l.insert(n+1, fmt.Sprintf(summaryFields, summary), stepStart, `{"type":"text","text":"a summary"}`)
		a.fields["parentID"] = m.id
	}
}

const marker = `{"type":"compaction","auto":false}`

// historyTrials change orders, compactions and reverts.
func historyTrials() []trial {
	reverted := func(n int, kind string) func(*harness) {
		return func(l *harness) {
			r := fields{"messageID": l.message(n).id}
			if kind != "" {
				r["partID"] = l.part(n, kind).id
			}
			l.info["revert"] = r
		}
	}
	tail := func(n, from int) func(*harness) {
		return func(l *harness) {
			id := l.message(from).id
			afterCompaction(n, `{"type":"compaction","auto":false,"tail_start_id":"`+id+`"}`, "")(l)
		}
	}
	return []trial{
		{name: "compacted", apply: afterCompaction(damage.Hello, marker, "")},
		{name: "compacted twice", apply: combine(afterCompaction(damage.DoneAgain, marker, ""), afterCompaction(damage.Done, marker, ""))},
		{name: "compacted, with an error", apply: afterCompaction(damage.Hello, marker, `,"error":{"name":"APIError","data":{"message":"x","isRetryable":false}}`)},
		{name: "compacted, tail kept", apply: tail(damage.DoneAgain, damage.SecondPrompt)},
		{name: "compacted, tail starts in a pair", apply: tail(damage.DoneAgain, damage.Done)},
		{name: "compacted, tail is missing", apply: combine(tail(damage.DoneAgain, damage.SecondPrompt), dropMessage(damage.SecondPrompt))},
		{name: "compacted, broken part before", apply: combine(afterCompaction(damage.DoneAgain, marker, ""), rawPart(first20))},
		{name: "compacted, broken message before", apply: combine(afterCompaction(damage.DoneAgain, marker, ""), rawMessage(first20))},
		{name: "compacted, blank answer before", apply: combine(afterCompaction(damage.DoneAgain, marker, ""), set(damage.Hello, "text", "text", " "))},
		{name: "compaction never done, answered since", apply: func(l *harness) { l.insert(damage.Hello, userFields, marker) }},
		{name: "compaction to be done", compacts: true, apply: func(l *harness) { l.insert(damage.Goodbye, userFields, marker) }},
		{name: "compaction to be done, blank answer", compacts: true, apply: func(l *harness) {
			l.insert(damage.Goodbye, userFields, marker)
			l.part(damage.Hello, "text").fields["text"] = " "
		}},
		{name: "compaction to be done, large image", compacts: true, apply: combine(
			attached(file("image/png", "data:image/png;base64,"+strings.Repeat("A", largeImage))),
			func(l *harness) { l.insert(damage.Goodbye, userFields, marker) })},
		{name: "compaction to be done, image in a prompt", compacts: true, apply: func(l *harness) {
			l.insert(damage.Goodbye, userFields, marker)
			l.add(l.part(damage.SecondPrompt, "text"), "z", `{"type":"file","mime":"image/png","url":"`+png+`"}`)
		}},
		{name: "compaction to be done, tokens missing", compacts: true, apply: func(l *harness) {
			l.insert(damage.Goodbye, userFields, marker)
			delete(l.message(damage.Goodbye).fields, "tokens")
		}},
		{name: "subtask in a prompt", apply: add(damage.SecondPrompt, "text", `{"type":"subtask","prompt":"x","description":"y","agent":"general"}`)},
		{name: "reverted", apply: reverted(damage.FourthPrompt, "")},
		{name: "reverted to an answer", apply: reverted(damage.DoneAgain, "")},
		{name: "reverted to a part", apply: reverted(damage.DoneAgain, "text")},
		{name: "reverted to a missing message", apply: func(l *harness) { l.info["revert"] = fields{"messageID": "msg_1x"} }},
		{name: "reverted, blank answer after", apply: combine(reverted(damage.FourthPrompt, ""), set(damage.Goodbye, "text", "text", " "))},
		{name: "reverted, broken part after", apply: combine(reverted(damage.SecondPrompt, ""), rawPart(first20))},
		{name: "two prompts in a row", apply: dropMessage(damage.Hello)},
		{name: "two answers in a row", apply: dropMessage(damage.SecondPrompt)},
		{name: "first prompt gone", apply: dropMessage(damage.FirstPrompt)},
		{name: "unanswered prompt last", apply: dropMessage(damage.Goodbye)},
		{name: "answered twice", apply: func(l *harness) { l.message(damage.Goodbye).fields["finish"] = "tool-calls" }},
		{name: "an answer from the future", apply: func(l *harness) {
			m := l.message(damage.Goodbye)
			m.created += 1e12
			m.fields["time"] = fields{"created": m.created}
		}},
		{name: "an id that sorts after all", apply: func(l *harness) {
			m := l.message(damage.Hello)
			for _, p := range l.parts(damage.Hello, "") {
				p.owner = "msg_zzz"
			}
			m.id = "msg_zzz"
		}},
		{name: "the last answer's id is above the clock", apply: func(l *harness) {
			m := l.message(damage.Goodbye)
			to := strings.Replace(m.id, "msg_1", "msg_2", 1)
			for _, p := range l.parts(damage.Goodbye, "") {
				p.owner = to
			}
			m.id = to
		}},
		{name: "an older answer's id is above the clock", apply: func(l *harness) {
			m := l.message(damage.Hello)
			to := strings.Replace(m.id, "msg_1", "msg_2", 1)
			for _, p := range l.parts(damage.Hello, "") {
				p.owner = to
			}
			m.id = to
		}},
	}
}

// dropMessage removes a message with its parts.
func dropMessage(n int) func(*harness) {
	return func(l *harness) {
		m := l.message(n)
		l.drop(l.parts(n, "")...)
		l.drop(m)
	}
}

// combinedTrials damage a session in several ways.
func combinedTrials() []trial {
	return []trial{
		{name: "blank and R10", apply: combine(set(damage.Hello, "text", "text", " "), drop(damage.Goodbye, "text"))},
		{name: "R1 and R17", apply: combine(add(damage.OneCall, "tool", `{"type":"text","text":"after the call"}`), set(damage.TwoCalls, "tool", "callID", "toolu_0002A"))},
		{name: "R13 and R14", apply: combine(set(damage.OneCall, "tool", "callID", ""), inState("input", "x"))},
		{name: "R16 and R11", apply: combine(drop(damage.FirstPrompt, ""), set(damage.Hello, "text", "text", " "))},
		{name: "running and blank after", apply: combine(
			state(fields{"status": "running", "input": fields{}, "time": fields{"start": 1}}),
			add(damage.OneCall, "tool", `{"type":"text","text":" "}`))},
		{name: "truncated and blank", apply: combine(rawPart(first20), set(damage.Goodbye, "text", "text", " "))},
	}
}

// formTrials are records that the agent may be unable to show.
func formTrials() []trial {
	reasoning := func(time fields) func(*harness) { return set(damage.Hello, "reasoning", "time", time) }
	return []trial{
		{name: "time of a part with a fraction", apply: reasoning(fields{"start": 1.5})},
		{name: "time of a part below zero", apply: reasoning(fields{"start": -1})},
		{name: "time of a part too large", apply: reasoning(fields{"start": 1e17})},
		{name: "time of a part a string", apply: reasoning(fields{"start": "1"})},
		{name: "time of an answer with a fraction", apply: message(damage.Hello, "time", fields{"created": 1.5})},
		{name: "cost below zero", apply: message(damage.Hello, "cost", -1.5)},
		{name: "parentID of another form", apply: message(damage.Hello, "parentID", "x")},
		{name: "retry", apply: add(damage.Hello, "text", `{"type":"retry","attempt":1,"error":{"name":"APIError","data":{"message":"x","isRetryable":true}},"time":{"created":1}}`)},
		{name: "retry of another error", apply: add(damage.Hello, "text", `{"type":"retry","attempt":1,"error":{"name":"UnknownError","data":{"message":"x"}},"time":{"created":1}}`)},
		{name: "summary true in a prompt", apply: message(damage.SecondPrompt, "summary", true)},
		{name: "diffs", apply: message(damage.SecondPrompt, "summary", fields{"title": "x", "diffs": []any{fields{"file": "x", "before": "", "after": "", "additions": 1, "deletions": 0}}})},
		{name: "diffs without numbers", apply: message(damage.SecondPrompt, "summary", fields{"diffs": []any{fields{"file": "x"}}})},
		{name: "error with an unknown name", apply: message(damage.Hello, "error", fields{"name": "Novel", "data": fields{}})},
		{name: "error without isRetryable", apply: message(damage.Hello, "error", fields{"name": "APIError", "data": fields{"message": "x"}})},
		{name: "file with a source", apply: add(damage.SecondPrompt, "text", `{"type":"file","mime":"text/plain","filename":"x","url":"file:///x","source":{"type":"file","path":"x","text":{"value":"@x","start":0,"end":2}}}`)},
		{name: "file with a broken source", apply: add(damage.SecondPrompt, "text", `{"type":"file","mime":"text/plain","filename":"x","url":"file:///x","source":{"type":"file","path":"x"}}`)},
		{name: "snapshot, patch, agent, compaction, subtask", apply: combine(
			add(damage.Hello, "text", `{"type":"snapshot","snapshot":"x"}`),
			add(damage.OneCall, "text", `{"type":"patch","hash":"x","files":["y"]}`),
			add(damage.FirstPrompt, "text", `{"type":"agent","name":"x","source":{"value":"@x","start":0,"end":2}}`),
			add(damage.SecondPrompt, "text", `{"type":"subtask","prompt":"x","description":"y","agent":"general","command":"z","model":{"providerID":"a","modelID":"b"}}`))},
		{name: "patch without files", apply: add(damage.Hello, "text", `{"type":"patch","hash":"x"}`)},
		{name: "compaction without auto", apply: add(damage.FirstPrompt, "text", `{"type":"compaction"}`)},
		{name: "tools of a prompt", apply: message(damage.SecondPrompt, "tools", fields{"bash": true})},
		{name: "tools of a prompt, numbers", apply: message(damage.SecondPrompt, "tools", fields{"bash": 1})},
		{name: "attachment of another type", apply: attached(fields{"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "mime": "image/png", "url": png})},
		{name: "attachment without ids", apply: attached(fields{"type": "file", "mime": "image/png", "url": png})},
	}
}
