//go:build e2e

package render_test

import (
	"strings"

	"mend/internal/test/damage"
	"mend/internal/test/endpoint"
)

func moreTrials() []trial {
	var all []trial
	for _, group := range [][]trial{assistantTrials(), thinkingTrials(), callTrials(), resultTrials(), fileTrials(), recordTrials(), historyTrials(), tailTrials(), formTrials(), combinedTrials(), modelTrials(), futureTrials()} {
		all = append(all, group...)
	}
	return all
}

// assistantTrials change texts, errors and kinds of parts.
func assistantTrials() []trial {
	aborted := message(damage.Hello, "error", failure("MessageAbortedError"))
	return []trial{
		{name: "aborted answer with text", apply: aborted},
		{name: "aborted answer of reasoning and step-finish", apply: combine(aborted, drop(damage.Hello, "text"))},
		{name: "aborted answer of reasoning", apply: combine(aborted, drop(damage.Hello, "text"), drop(damage.Hello, "step-finish"))},
		{name: "error null", apply: message(damage.Hello, "error", nil)},
		{name: "error an empty object", apply: message(damage.Hello, "error", fields{})},
		{name: "error a string", apply: message(damage.Hello, "error", "MessageAbortedError")},
		{name: "ignored text in a prompt", apply: add(damage.SecondPrompt, "text", `{"type":"text","text":"ignore me","ignored":true}`)},
		{name: "prompt of ignored text only", apply: set(damage.SecondPrompt, "text", "ignored", true)},
		{name: "ignored text in an answer", apply: set(damage.Hello, "text", "ignored", true)},
		{name: "synthetic text in a prompt", apply: add(damage.SecondPrompt, "text", `{"type":"text","text":"synthetic","synthetic":true}`)},
		{name: "empty prompt", apply: set(damage.SecondPrompt, "text", "text", "")},
		{name: "empty text in a prompt", apply: add(damage.SecondPrompt, "text", `{"type":"text","text":""}`)},
		{name: "empty answer without reasoning", apply: combine(set(damage.Hello, "text", "text", ""), drop(damage.Hello, "reasoning"))},
		{name: "no-break space", apply: set(damage.Hello, "text", "text", "\u00a0")},
		{name: "byte order mark", apply: set(damage.Hello, "text", "text", "\ufeff")},
		{name: "zero width space", apply: set(damage.Hello, "text", "text", "\u200b")},
		{name: "white space around an answer", apply: set(damage.Goodbye, "text", "text", "  x \n")},
		{name: "text missing", apply: without(damage.Hello, "text", "text")},
		{name: "text null in a prompt", apply: set(damage.SecondPrompt, "text", "text", nil)},
		{name: "text a number", apply: set(damage.Hello, "text", "text", 5)},
		{name: "text metadata", apply: set(damage.Hello, "text", "metadata", fields{"anthropic": fields{"x": 1}})},
		{name: "text metadata null", apply: set(damage.Hello, "text", "metadata", nil)},
		{name: "text metadata flat", apply: set(damage.Hello, "text", "metadata", fields{"x": true})},
		{name: "text metadata a list", apply: set(damage.Hello, "text", "metadata", []any{})},
		{name: "text metadata flat in a prompt", apply: set(damage.SecondPrompt, "text", "metadata", fields{"x": true})},
		{name: "bookkeeping parts", apply: combine(
			add(damage.Hello, "text", `{"type":"patch","hash":"x","files":[]}`),
			add(damage.SecondPrompt, "text", `{"type":"agent","name":"x"}`),
			add(damage.OneCall, "tool", `{"type":"snapshot","snapshot":"x"}`),
			add(damage.Done, "text", `{"type":"retry","attempt":1,"error":{},"time":{"created":1}}`))},
		{name: "answer of a step-start only", apply: combine(drop(damage.Hello, "text"), drop(damage.Hello, "reasoning"), drop(damage.Hello, "step-finish"))},
		{name: "answer of a patch only", apply: func(l *harness) {
			l.drop(l.parts(damage.Hello, "")[1:]...)
			l.part(damage.Hello, "step-start").fields = fields{"type": "patch", "hash": "x", "files": []any{}}
		}},
		{name: "no step-start", apply: drop(damage.OneCall, "step-start")},
		{name: "step-start after the call", apply: combine(add(damage.OneCall, "tool", `{"type":"step-start"}`), func(l *harness) {
			tool := l.part(damage.OneCall, "tool")
			l.add(tool, "zz", `{"type":"text","text":"after the call"}`)
		})},
		{name: "kinds of other programs", apply: combine(
			add(damage.Hello, "text", `{"type":"thinking","thinking":"x"}`),
			add(damage.OneCall, "text", `{"type":"tool_use","id":"x","name":"y","input":{}}`),
			add(damage.SecondPrompt, "text", `{"type":"tool_result","tool_use_id":"x","content":"y"}`))},
		{name: "file in an answer", apply: add(damage.Hello, "text", `{"type":"file","mime":"image/png","url":"`+png+`"}`)},
		{name: "type missing", apply: without(damage.Hello, "text", "type")},
		{name: "plan agent", apply: message(damage.Hello, "agent", "plan")},
	}
}

// thinkingTrials change signatures and models.
func thinkingTrials() []trial {
	foreign := combine(message(damage.Hello, "modelID", "other"), message(damage.OneCall, "providerID", "other"))
	meta := func(to any) func(*harness) { return set(damage.Hello, "reasoning", "metadata", to) }
	anthropic := func(to fields) func(*harness) { return meta(fields{"anthropic": to}) }
	return []trial{
		{name: "other model", apply: foreign},
		{name: "other model, blank thinking", apply: combine(foreign, set(damage.Hello, "reasoning", "text", " "))},
		{name: "other model, thinking only", apply: combine(foreign, drop(damage.Hello, "text"))},
		{name: "other model, empty text", apply: combine(foreign, set(damage.Hello, "text", "text", ""))},
		{name: "other model, flat metadata", apply: combine(foreign, meta(fields{"x": 1}), set(damage.OneCall, "tool", "metadata", fields{"x": 1}))},
		{name: "other model, thinking without text", apply: combine(foreign, without(damage.Hello, "reasoning", "text"))},
		{name: "unsigned thinking beside text", apply: without(damage.Hello, "reasoning", "metadata")},
		{name: "unsigned thinking after text", apply: combine(addAfter(damage.Goodbye, "reasoning", "text"), without(damage.Goodbye, "reasoning", "metadata"))},
		{name: "unsigned blank thinking only", apply: combine(drop(damage.Hello, "text"), without(damage.Hello, "reasoning", "metadata"), set(damage.Hello, "reasoning", "text", " "))},
		{name: "unsigned empty thinking only", apply: combine(drop(damage.Hello, "text"), without(damage.Hello, "reasoning", "metadata"), set(damage.Hello, "reasoning", "text", ""))},
		{name: "signed thinking without text", apply: combine(set(damage.Hello, "reasoning", "text", ""), anthropic(fields{"signature": endpoint.Sign("")}))},
		{name: "signature of no characters", apply: anthropic(fields{"signature": ""})},
		{name: "signature null", apply: anthropic(fields{"signature": nil})},
		{name: "signature a number", apply: anthropic(fields{"signature": 5})},
		{name: "redacted thinking", apply: combine(set(damage.Hello, "reasoning", "text", ""), anthropic(fields{"redactedData": "abc"}))},
		{name: "redacted thinking with text", apply: anthropic(fields{"redactedData": "abc"})},
		{name: "redacted thinking last", apply: combine(anthropic(fields{"redactedData": "abc"}), addAfter(damage.Hello, "reasoning", "text"))},
		{name: "redacted data a number", apply: anthropic(fields{"redactedData": 5})},
		{name: "reasoning metadata null", apply: meta(nil)},
		{name: "reasoning metadata flat", apply: meta(fields{"x": 1})},
		{name: "reasoning metadata of anthropic null", apply: meta(fields{"anthropic": nil})},
		{name: "reasoning metadata a string", apply: meta("x")},
		{name: "reasoning of another provider", apply: meta(fields{"openai": fields{"reasoningEncryptedContent": "x"}})},
		{name: "reasoning text missing", apply: without(damage.Hello, "reasoning", "text")},
		{name: "two thinking parts", apply: func(l *harness) {
			r := l.part(damage.Hello, "reasoning")
			l.add(r, "z", `{"type":"reasoning","text":"more","metadata":{"anthropic":{"signature":"`+endpoint.Sign("more")+`"}}}`)
		}},
		{name: "thinking between two calls", apply: func(l *harness) {
			l.add(l.part(damage.TwoCalls, "tool"), "z", `{"type":"reasoning","text":"more","metadata":{"anthropic":{"signature":"`+endpoint.Sign("more")+`"}}}`)
		}},
		{name: "text between two calls", apply: add(damage.TwoCalls, "tool", `{"type":"text","text":"more"}`)},
		{name: "blank between two calls", apply: add(damage.TwoCalls, "tool", `{"type":"text","text":" "}`)},
		{name: "loop open", apply: lastPart(callInState("running"))},
		{name: "loop open without thinking", apply: combine(lastPart(callInState("running")), drop(damage.Goodbye, "reasoning"))},
		{name: "loop open, text first", apply: combine(lastPart(callInState("pending")), prepend(damage.Goodbye, `{"type":"text","text":"first"}`))},
	}
}

func callInState(status string) string {
	return `{"type":"tool","tool":"bash","callID":"toolu_x","state":{"status":"` + status + `","input":{},"time":{"start":1}}}`
}

// lastPart replaces the text of the last assistant message with a part, and makes the message unfinished.
func lastPart(part string) func(*harness) {
	return func(l *harness) {
		l.add(l.part(damage.Goodbye, "text"), "z", part)
		l.drop(l.part(damage.Goodbye, "text"), l.part(damage.Goodbye, "step-finish"))
		delete(l.message(damage.Goodbye).fields, "finish")
	}
}

// callTrials change ids, names and inputs of tool calls.
func callTrials() []trial {
	call := func(name string, to any) func(*harness) { return set(damage.OneCall, "tool", name, to) }
	return []trial{
		{name: "callID of another provider", apply: call("callID", "functions.read:0")},
		{name: "callIDs that become one", apply: combine(call("callID", "a:b"), set(damage.TwoCalls, "tool", "callID", "a_b"))},
		{name: "callID missing", apply: without(damage.OneCall, "tool", "callID")},
		{name: "callID null", apply: call("callID", nil)},
		{name: "callID a number", apply: call("callID", 5)},
		{name: "tool missing", apply: without(damage.OneCall, "tool", "tool")},
		{name: "tool of no characters", apply: call("tool", "")},
		{name: "tool a number", apply: call("tool", 5)},
		{name: "tool with hyphens", apply: call("tool", "a-b-c")},
		{name: "tool not there", apply: call("tool", "nonesuch")},
		{name: "state missing", apply: without(damage.OneCall, "tool", "state")},
		{name: "state null", apply: call("state", nil)},
		{name: "state a string", apply: call("state", "completed")},
		{name: "status missing", apply: noState("status")},
		{name: "status unknown", apply: inState("status", "novel")},
		{name: "input missing", apply: noState("input")},
		{name: "input null", apply: inState("input", nil)},
		{name: "input null, failed", apply: state(fields{"status": "error", "input": nil, "error": "x", "time": fields{"start": 1, "end": 2}})},
		{name: "input missing, running", apply: state(fields{"status": "running", "time": fields{"start": 1}})},
		{name: "input a number", apply: inState("input", 5)},
		{name: "provider ran the call", apply: call("metadata", fields{"providerExecuted": true})},
		{name: "provider did not run the call", apply: call("metadata", fields{"providerExecuted": false, "anthropic": fields{}})},
		{name: "tool metadata flat", apply: call("metadata", fields{"x": 1})},
		{name: "tool metadata null", apply: call("metadata", nil)},
	}
}

// resultTrials change the results of tools.
func resultTrials() []trial {
	failed := func(more fields) func(*harness) {
		s := fields{"status": "error", "input": fields{"a": 1}, "time": fields{"start": 1, "end": 2}}
		for k, v := range more {
			s[k] = v
		}
		return state(s)
	}
	cleared := inState("time", fields{"start": 1, "end": 2, "compacted": 3})
	return []trial{
		{name: "tool failed", apply: failed(fields{"error": "it failed"})},
		{name: "tool failed without error", apply: failed(nil)},
		{name: "tool failed with an object", apply: failed(fields{"error": fields{"a": 1}})},
		{name: "tool failed with an empty error", apply: failed(fields{"error": ""})},
		{name: "tool interrupted with output", apply: failed(fields{"error": "x", "metadata": fields{"interrupted": true, "output": "so far"}})},
		{name: "tool interrupted without output", apply: failed(fields{"error": "x", "metadata": fields{"interrupted": true}})},
		{name: "output of no characters", apply: inState("output", "")},
		{name: "output of blanks", apply: inState("output", " ")},
		{name: "output null", apply: inState("output", nil)},
		{name: "output a number", apply: inState("output", 5)},
		{name: "output true", apply: inState("output", true)},
		{name: "output an object with text", apply: inState("output", fields{"text": "x"})},
		{name: "output an object without text", apply: inState("output", fields{"x": "x"})},
		{name: "output a list", apply: inState("output", []any{"x"})},
		{name: "time missing in a completed call", apply: noState("time")},
		{name: "output cleared", apply: cleared},
		{name: "output cleared and missing", apply: combine(cleared, noState("output"))},
		{name: "output cleared, with attachment", apply: combine(cleared, attached(file("image/png", png)))},
		{name: "title and metadata missing", apply: combine(noState("title"), noState("metadata"))},
		{name: "image attached", apply: attached(file("image/png", png))},
		{name: "PDF attached", apply: attached(file("application/pdf", "data:application/pdf;base64,AAAA"))},
		{name: "text attached", apply: attached(file("text/plain", "data:text/plain;base64,AAAA"))},
		{name: "image and text attached", apply: attached(file("image/png", png), file("text/plain", "data:text/plain;base64,AAAA"))},
		{name: "link attached", apply: attached(file("image/png", "https://example.invalid/x.png"))},
		{name: "image attached, output missing", apply: combine(attached(file("image/png", png)), noState("output"))},
		{name: "image attached, output empty", apply: combine(attached(file("image/png", png)), inState("output", ""))},
		{name: "attachment without mime", apply: attached(fields{"type": "file", "url": png})},
		{name: "attachment without url", apply: attached(fields{"type": "file", "mime": "image/png"})},
		{name: "attachments null", apply: inState("attachments", nil)},
		{name: "attachments empty", apply: attached()},
		{name: "attachments an object", apply: inState("attachments", fields{"a": 1})},
		{name: "attachments of a failed call", apply: failed(fields{"error": "x", "attachments": []any{file("image/png", png)}})},
	}
}

// fileTrials change files of prompts.
func fileTrials() []trial {
	sent := func(file fields) func(*harness) {
		return func(l *harness) {
			p := l.part(damage.SecondPrompt, "text")
			l.add(p, "z", `{}`)
			l.rows[len(l.rows)-1].fields = file
		}
	}
	named := func(name any, mime, url string) func(*harness) {
		f := file(mime, url)
		f["filename"] = name
		return sent(f)
	}
	return []trial{
		{name: "image", apply: sent(file("image/png", png))},
		{name: "image alone", apply: combine(sent(file("image/png", png)), drop(damage.SecondPrompt, "text"))},
		{name: "image, large", apply: sent(file("image/png", "data:image/png;base64,"+strings.Repeat("A", largeImage)))},
		{name: "PDF", apply: named("x.pdf", "application/pdf", "data:application/pdf;base64,AAAA")},
		{name: "sound", apply: named("x.mp3", "audio/mpeg", "data:audio/mpeg;base64,AAAA")},
		{name: "sound without name", apply: sent(file("audio/mpeg", "data:audio/mpeg;base64,AAAA"))},
		{name: "film", apply: named("x.mp4", "video/mp4", "data:video/mp4;base64,AAAA")},
		{name: "text file", apply: named("x.txt", "text/plain", "file:///tmp/x.txt")},
		{name: "folder", apply: named("x", "application/x-directory", "file:///tmp/x")},
		{name: "JSON file", apply: named("x.json", "application/json", "data:application/json;base64,AAAA")},
		{name: "image link", apply: sent(file("image/png", "https://example.invalid/x.png"))},
		{name: "image with another type in its URL", apply: sent(file("image/png", "data:image/jpeg;base64,AAAA"))},
		{name: "image with the type of a text in its URL", apply: sent(file("image/png", "data:text/plain;base64,AAAA"))},
		{name: "image without data", apply: sent(file("image/png", "data:image/png;base64,"))},
		{name: "image URL without comma", apply: sent(file("image/png", "data:image/png;base64"))},
		{name: "image, no URL", apply: sent(file("image/png", "AAAA"))},
		{name: "image in the alphabet of URLs", apply: sent(file("image/png", "data:image/png;base64,_-AA"))},
		{name: "image with line breaks", apply: sent(file("image/png", "data:image/png;base64,AA\nAA"))},
		{name: "image not in base64", apply: sent(file("image/png", "data:image/png,hello"))},
		{name: "image with escapes", apply: sent(file("image/png", "data:image/png;base64,AA%3D%3D"))},
		{name: "image at a link of an unknown kind", apply: sent(file("image/png", "abc:def"))},
		{name: "attachment cut short", apply: attached(file("image/png", "data:image/png;base64,AAAAA"))},
		{name: "image URL in capitals", apply: sent(file("image/png", "DATA:image/png;base64,AAAA"))},
		{name: "file without mime", apply: sent(fields{"type": "file", "url": png})},
		{name: "file without url", apply: sent(fields{"type": "file", "mime": "image/png"})},
		{name: "file with name null", apply: named(nil, "image/png", png)},
	}
}
