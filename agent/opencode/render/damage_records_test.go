//go:build e2e

package render_test

import (
	"fmt"
	"strings"

	"mend/internal/damage"
)

// recordTrials change bytes and fields of records.
func recordTrials() []trial {
	return []trial{
		{name: "part of NUL bytes", cut: rawPart(zeros)},
		{name: "message of NUL bytes", cut: rawMessage(zeros)},
		{name: "part null", cut: rawPart(text(`null`))},
		{name: "part a list", cut: rawPart(text(`[]`))},
		{name: "part a string", cut: rawPart(text(`"x"`))},
		{name: "part a number", cut: rawPart(text(`5`))},
		{name: "message null", cut: rawMessage(text(`null`))},
		{name: "message a list", cut: rawMessage(text(`[]`))},
		{name: "message a number", cut: rawMessage(text(`5`))},
		{name: "part with text behind", cut: rawPart(func(s string) string { return s + "}" })},
		{name: "part with a byte order mark", cut: rawPart(func(s string) string { return "\ufeff" + s })},
		{name: "part with white space around", cut: rawPart(func(s string) string { return "\n " + s + "\n\n" })},
		{name: "part with bytes that are no text", cut: rawPart(func(s string) string { return strings.Replace(s, "Hello", "He\xffllo", 1) })},
		{name: "part with a name twice", cut: rawPart(func(s string) string { return strings.Replace(s, "{", `{"text":"first",`, 1) })},
		{name: "part with half a surrogate pair", cut: rawPart(func(s string) string { return strings.Replace(s, "Hello", `He\ud800llo`, 1) })},
		{name: "truncated part of an error message", cut: combine(rawPart(first20), message(damage.Hello, "error", failure("APIError")))},
		{name: "role missing", cut: noField(damage.Hello, "role")},
		{name: "role unknown", cut: message(damage.Hello, "role", "novel")},
		{name: "role system", cut: message(damage.Hello, "role", "system")},
		{name: "time missing in an answer", cut: noField(damage.Hello, "time")},
		{name: "time missing in a prompt", cut: noField(damage.SecondPrompt, "time")},
		{name: "time.created missing", cut: message(damage.Hello, "time", fields{})},
		{name: "tokens missing in the last answer", cut: noField(damage.Goodbye, "tokens")},
		{name: "tokens missing in an older answer", cut: noField(damage.Hello, "tokens")},
		{name: "tokens.cache missing in the last answer", cut: message(damage.Goodbye, "tokens", fields{"input": 1, "output": 2})},
		{name: "only tokens.total in the last answer", cut: message(damage.Goodbye, "tokens", fields{"total": 3})},
		{name: "finish missing in the last answer", cut: noField(damage.Goodbye, "finish")},
		{name: "tokens and finish missing in the last answer", cut: combine(noField(damage.Goodbye, "finish"), noField(damage.Goodbye, "tokens"))},
		{name: "parentID missing", cut: noField(damage.Hello, "parentID")},
		{name: "agent missing in an answer", cut: noField(damage.Hello, "agent")},
		{name: "agent missing in a prompt", cut: noField(damage.SecondPrompt, "agent")},
		{name: "model missing in a prompt", cut: noField(damage.SecondPrompt, "model")},
		{name: "model missing in the last prompt", cut: noField(damage.FourthPrompt, "model")},
		{name: "modelID missing in an answer", cut: noField(damage.Hello, "modelID")},
		{name: "mode, path and cost missing", cut: combine(noField(damage.Hello, "mode"), noField(damage.Hello, "path"), noField(damage.Hello, "cost"))},
		{name: "time missing in a text and a thought", cut: combine(without(damage.Hello, "text", "time"), without(damage.Hello, "reasoning", "time"))},
		{name: "stray hidden file among parts", cut: func(l *harness) { l.stray["part/"+l.message(damage.Hello).id+"/.DS_Store"] = "x" }},
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
		{name: "compacted", cut: afterCompaction(damage.Hello, marker, "")},
		{name: "compacted twice", cut: combine(afterCompaction(damage.DoneAgain, marker, ""), afterCompaction(damage.Done, marker, ""))},
		{name: "compacted, with an error", cut: afterCompaction(damage.Hello, marker, `,"error":{"name":"APIError","data":{"message":"x","isRetryable":false}}`)},
		{name: "compacted, tail kept", cut: tail(damage.DoneAgain, damage.SecondPrompt)},
		{name: "compacted, tail starts in a pair", cut: tail(damage.DoneAgain, damage.Done)},
		{name: "compacted, tail is not there", cut: combine(tail(damage.DoneAgain, damage.SecondPrompt), dropMessage(damage.SecondPrompt))},
		{name: "compacted, broken part before", cut: combine(afterCompaction(damage.DoneAgain, marker, ""), rawPart(first20))},
		{name: "compacted, broken message before", cut: combine(afterCompaction(damage.DoneAgain, marker, ""), rawMessage(first20))},
		{name: "compacted, blank answer before", cut: combine(afterCompaction(damage.DoneAgain, marker, ""), set(damage.Hello, "text", "text", " "))},
		{name: "compaction never done, answered since", cut: func(l *harness) { l.insert(damage.Hello, userFields, marker) }},
		{name: "compaction to be done", compacts: true, cut: func(l *harness) { l.insert(damage.Goodbye, userFields, marker) }},
		{name: "compaction to be done, blank answer", compacts: true, cut: func(l *harness) {
			l.insert(damage.Goodbye, userFields, marker)
			l.part(damage.Hello, "text").fields["text"] = " "
		}},
		{name: "compaction to be done, large image", compacts: true, cut: combine(
			attached(file("image/png", "data:image/png;base64,"+strings.Repeat("A", largeImage))),
			func(l *harness) { l.insert(damage.Goodbye, userFields, marker) })},
		{name: "compaction to be done, image in a prompt", compacts: true, cut: func(l *harness) {
			l.insert(damage.Goodbye, userFields, marker)
			l.add(l.part(damage.SecondPrompt, "text"), "z", `{"type":"file","mime":"image/png","url":"`+png+`"}`)
		}},
		{name: "compaction to be done, tokens missing", compacts: true, cut: func(l *harness) {
			l.insert(damage.Goodbye, userFields, marker)
			delete(l.message(damage.Goodbye).fields, "tokens")
		}},
		{name: "subtask in a prompt", cut: add(damage.SecondPrompt, "text", `{"type":"subtask","prompt":"x","description":"y","agent":"general"}`)},
		{name: "reverted", cut: reverted(damage.FourthPrompt, "")},
		{name: "reverted to an answer", cut: reverted(damage.DoneAgain, "")},
		{name: "reverted to a part", cut: reverted(damage.DoneAgain, "text")},
		{name: "reverted to a message that is not there", cut: func(l *harness) { l.info["revert"] = fields{"messageID": "msg_1x"} }},
		{name: "reverted, blank answer behind", cut: combine(reverted(damage.FourthPrompt, ""), set(damage.Goodbye, "text", "text", " "))},
		{name: "reverted, broken part behind", cut: combine(reverted(damage.SecondPrompt, ""), rawPart(first20))},
		{name: "two prompts in a row", cut: dropMessage(damage.Hello)},
		{name: "two answers in a row", cut: dropMessage(damage.SecondPrompt)},
		{name: "first prompt gone", cut: dropMessage(damage.FirstPrompt)},
		{name: "unanswered prompt last", cut: dropMessage(damage.Goodbye)},
		{name: "answered twice", cut: func(l *harness) { l.message(damage.Goodbye).fields["finish"] = "tool-calls" }},
		{name: "an answer from the future", cut: func(l *harness) {
			m := l.message(damage.Goodbye)
			m.created += 1e12
			m.fields["time"] = fields{"created": m.created}
		}},
		{name: "an id that sorts behind all", cut: func(l *harness) {
			m := l.message(damage.Hello)
			for _, p := range l.parts(damage.Hello, "") {
				p.owner = "msg_zzz"
			}
			m.id = "msg_zzz"
		}},
		{name: "the last answer's id is above the clock", cut: func(l *harness) {
			m := l.message(damage.Goodbye)
			to := strings.Replace(m.id, "msg_1", "msg_2", 1)
			for _, p := range l.parts(damage.Goodbye, "") {
				p.owner = to
			}
			m.id = to
		}},
		{name: "an older answer's id is above the clock", cut: func(l *harness) {
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
		{name: "blank and R10", cut: combine(set(damage.Hello, "text", "text", " "), drop(damage.Goodbye, "text"))},
		{name: "R1 and R17", cut: combine(add(damage.OneCall, "tool", `{"type":"text","text":"behind"}`), set(damage.TwoCalls, "tool", "callID", "toolu_0002A"))},
		{name: "R13 and R14", cut: combine(set(damage.OneCall, "tool", "callID", ""), inState("input", "x"))},
		{name: "R16 and R11", cut: combine(drop(damage.FirstPrompt, ""), set(damage.Hello, "text", "text", " "))},
		{name: "running and blank behind", cut: combine(
			state(fields{"status": "running", "input": fields{}, "time": fields{"start": 1}}),
			add(damage.OneCall, "tool", `{"type":"text","text":" "}`))},
		{name: "truncated and blank", cut: combine(rawPart(first20), set(damage.Goodbye, "text", "text", " "))},
	}
}

// formTrials are records that the agent may be unable to show.
func formTrials() []trial {
	thought := func(time fields) func(*harness) { return set(damage.Hello, "reasoning", "time", time) }
	return []trial{
		{name: "time of a part with a fraction", cut: thought(fields{"start": 1.5})},
		{name: "time of a part below zero", cut: thought(fields{"start": -1})},
		{name: "time of a part too large", cut: thought(fields{"start": 1e17})},
		{name: "time of a part a string", cut: thought(fields{"start": "1"})},
		{name: "time of an answer with a fraction", cut: message(damage.Hello, "time", fields{"created": 1.5})},
		{name: "cost below zero", cut: message(damage.Hello, "cost", -1.5)},
		{name: "parentID of another form", cut: message(damage.Hello, "parentID", "x")},
		{name: "retry", cut: add(damage.Hello, "text", `{"type":"retry","attempt":1,"error":{"name":"APIError","data":{"message":"x","isRetryable":true}},"time":{"created":1}}`)},
		{name: "retry of another error", cut: add(damage.Hello, "text", `{"type":"retry","attempt":1,"error":{"name":"UnknownError","data":{"message":"x"}},"time":{"created":1}}`)},
		{name: "summary true in a prompt", cut: message(damage.SecondPrompt, "summary", true)},
		{name: "diffs", cut: message(damage.SecondPrompt, "summary", fields{"title": "x", "diffs": []any{fields{"file": "x", "before": "", "after": "", "additions": 1, "deletions": 0}}})},
		{name: "diffs without numbers", cut: message(damage.SecondPrompt, "summary", fields{"diffs": []any{fields{"file": "x"}}})},
		{name: "error of no known name", cut: message(damage.Hello, "error", fields{"name": "Novel", "data": fields{}})},
		{name: "error without isRetryable", cut: message(damage.Hello, "error", fields{"name": "APIError", "data": fields{"message": "x"}})},
		{name: "file with a source", cut: add(damage.SecondPrompt, "text", `{"type":"file","mime":"text/plain","filename":"x","url":"file:///x","source":{"type":"file","path":"x","text":{"value":"@x","start":0,"end":2}}}`)},
		{name: "file with a broken source", cut: add(damage.SecondPrompt, "text", `{"type":"file","mime":"text/plain","filename":"x","url":"file:///x","source":{"type":"file","path":"x"}}`)},
		{name: "snapshot, patch, agent, compaction, subtask", cut: combine(
			add(damage.Hello, "text", `{"type":"snapshot","snapshot":"x"}`),
			add(damage.OneCall, "text", `{"type":"patch","hash":"x","files":["y"]}`),
			add(damage.FirstPrompt, "text", `{"type":"agent","name":"x","source":{"value":"@x","start":0,"end":2}}`),
			add(damage.SecondPrompt, "text", `{"type":"subtask","prompt":"x","description":"y","agent":"general","command":"z","model":{"providerID":"a","modelID":"b"}}`))},
		{name: "patch without files", cut: add(damage.Hello, "text", `{"type":"patch","hash":"x"}`)},
		{name: "compaction without auto", cut: add(damage.FirstPrompt, "text", `{"type":"compaction"}`)},
		{name: "tools of a prompt", cut: message(damage.SecondPrompt, "tools", fields{"bash": true})},
		{name: "tools of a prompt, no booleans", cut: message(damage.SecondPrompt, "tools", fields{"bash": 1})},
		{name: "attachment of another type", cut: attached(fields{"id": "prt_1", "sessionID": "ses_1", "messageID": "msg_1", "type": "text", "mime": "image/png", "url": png})},
		{name: "attachment without ids", cut: attached(fields{"type": "file", "mime": "image/png", "url": png})},
	}
}
