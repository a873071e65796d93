//go:build e2e

package render_test

import (
	"strings"

	"mend/internal/damage"
	"mend/internal/endpoint"
)

const (
	png     = "data:image/png;base64,iVBORw0KGgo="
	prompts = damage.FourthPrompt
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
		{name: "aborted answer with text", cut: aborted},
		{name: "aborted answer of reasoning and step-finish", cut: combine(aborted, drop(damage.Hello, "text"))},
		{name: "aborted answer of reasoning", cut: combine(aborted, drop(damage.Hello, "text"), drop(damage.Hello, "step-finish"))},
		{name: "error null", cut: message(damage.Hello, "error", nil)},
		{name: "error an empty object", cut: message(damage.Hello, "error", fields{})},
		{name: "error a string", cut: message(damage.Hello, "error", "MessageAbortedError")},
		{name: "ignored text in a prompt", cut: add(damage.SecondPrompt, "text", `{"type":"text","text":"ignore me","ignored":true}`)},
		{name: "prompt of ignored text only", cut: set(damage.SecondPrompt, "text", "ignored", true)},
		{name: "ignored text in an answer", cut: set(damage.Hello, "text", "ignored", true)},
		{name: "synthetic text in a prompt", cut: add(damage.SecondPrompt, "text", `{"type":"text","text":"synthetic","synthetic":true}`)},
		{name: "empty prompt", cut: set(damage.SecondPrompt, "text", "text", "")},
		{name: "empty text in a prompt", cut: add(damage.SecondPrompt, "text", `{"type":"text","text":""}`)},
		{name: "empty answer without reasoning", cut: combine(set(damage.Hello, "text", "text", ""), drop(damage.Hello, "reasoning"))},
		{name: "no-break space", cut: set(damage.Hello, "text", "text", "\u00a0")},
		{name: "byte order mark", cut: set(damage.Hello, "text", "text", "\ufeff")},
		{name: "zero width space", cut: set(damage.Hello, "text", "text", "\u200b")},
		{name: "white space around an answer", cut: set(damage.Goodbye, "text", "text", "  x \n")},
		{name: "text missing", cut: without(damage.Hello, "text", "text")},
		{name: "text null in a prompt", cut: set(damage.SecondPrompt, "text", "text", nil)},
		{name: "text a number", cut: set(damage.Hello, "text", "text", 5)},
		{name: "text metadata", cut: set(damage.Hello, "text", "metadata", fields{"anthropic": fields{"x": 1}})},
		{name: "text metadata null", cut: set(damage.Hello, "text", "metadata", nil)},
		{name: "text metadata flat", cut: set(damage.Hello, "text", "metadata", fields{"x": true})},
		{name: "text metadata a list", cut: set(damage.Hello, "text", "metadata", []any{})},
		{name: "text metadata flat in a prompt", cut: set(damage.SecondPrompt, "text", "metadata", fields{"x": true})},
		{name: "bookkeeping parts", cut: combine(
			add(damage.Hello, "text", `{"type":"patch","hash":"x","files":[]}`),
			add(damage.SecondPrompt, "text", `{"type":"agent","name":"x"}`),
			add(damage.OneCall, "tool", `{"type":"snapshot","snapshot":"x"}`),
			add(damage.Done, "text", `{"type":"retry","attempt":1,"error":{},"time":{"created":1}}`))},
		{name: "answer of a step-start only", cut: combine(drop(damage.Hello, "text"), drop(damage.Hello, "reasoning"), drop(damage.Hello, "step-finish"))},
		{name: "answer of a patch only", cut: func(l *harness) {
			l.drop(l.parts(damage.Hello, "")[1:]...)
			l.part(damage.Hello, "step-start").fields = fields{"type": "patch", "hash": "x", "files": []any{}}
		}},
		{name: "no step-start", cut: drop(damage.OneCall, "step-start")},
		{name: "step-start behind the call", cut: combine(add(damage.OneCall, "tool", `{"type":"step-start"}`), func(l *harness) {
			tool := l.part(damage.OneCall, "tool")
			l.add(tool, "zz", `{"type":"text","text":"behind"}`)
		})},
		{name: "kinds of other programs", cut: combine(
			add(damage.Hello, "text", `{"type":"thinking","thinking":"x"}`),
			add(damage.OneCall, "text", `{"type":"tool_use","id":"x","name":"y","input":{}}`),
			add(damage.SecondPrompt, "text", `{"type":"tool_result","tool_use_id":"x","content":"y"}`))},
		{name: "file in an answer", cut: add(damage.Hello, "text", `{"type":"file","mime":"image/png","url":"`+png+`"}`)},
		{name: "type missing", cut: without(damage.Hello, "text", "type")},
		{name: "plan agent", cut: message(damage.Hello, "agent", "plan")},
	}
}

// thinkingTrials change signatures and models.
func thinkingTrials() []trial {
	foreign := combine(message(damage.Hello, "modelID", "other"), message(damage.OneCall, "providerID", "other"))
	meta := func(to any) func(*harness) { return set(damage.Hello, "reasoning", "metadata", to) }
	anthropic := func(to fields) func(*harness) { return meta(fields{"anthropic": to}) }
	return []trial{
		{name: "other model", cut: foreign},
		{name: "other model, blank thinking", cut: combine(foreign, set(damage.Hello, "reasoning", "text", " "))},
		{name: "other model, thinking only", cut: combine(foreign, drop(damage.Hello, "text"))},
		{name: "other model, empty text", cut: combine(foreign, set(damage.Hello, "text", "text", ""))},
		{name: "other model, flat metadata", cut: combine(foreign, meta(fields{"x": 1}), set(damage.OneCall, "tool", "metadata", fields{"x": 1}))},
		{name: "other model, thinking without text", cut: combine(foreign, without(damage.Hello, "reasoning", "text"))},
		{name: "unsigned thinking beside text", cut: without(damage.Hello, "reasoning", "metadata")},
		{name: "unsigned thinking behind text", cut: combine(addAfter(damage.Goodbye, "reasoning", "text"), without(damage.Goodbye, "reasoning", "metadata"))},
		{name: "unsigned blank thinking only", cut: combine(drop(damage.Hello, "text"), without(damage.Hello, "reasoning", "metadata"), set(damage.Hello, "reasoning", "text", " "))},
		{name: "unsigned empty thinking only", cut: combine(drop(damage.Hello, "text"), without(damage.Hello, "reasoning", "metadata"), set(damage.Hello, "reasoning", "text", ""))},
		{name: "signed thinking without text", cut: combine(set(damage.Hello, "reasoning", "text", ""), anthropic(fields{"signature": endpoint.Sign("")}))},
		{name: "signature of no characters", cut: anthropic(fields{"signature": ""})},
		{name: "signature null", cut: anthropic(fields{"signature": nil})},
		{name: "signature a number", cut: anthropic(fields{"signature": 5})},
		{name: "redacted thinking", cut: combine(set(damage.Hello, "reasoning", "text", ""), anthropic(fields{"redactedData": "abc"}))},
		{name: "redacted thinking with text", cut: anthropic(fields{"redactedData": "abc"})},
		{name: "redacted thinking last", cut: combine(anthropic(fields{"redactedData": "abc"}), addAfter(damage.Hello, "reasoning", "text"))},
		{name: "redacted data a number", cut: anthropic(fields{"redactedData": 5})},
		{name: "reasoning metadata null", cut: meta(nil)},
		{name: "reasoning metadata flat", cut: meta(fields{"x": 1})},
		{name: "reasoning metadata of anthropic null", cut: meta(fields{"anthropic": nil})},
		{name: "reasoning metadata a string", cut: meta("x")},
		{name: "reasoning of another provider", cut: meta(fields{"openai": fields{"reasoningEncryptedContent": "x"}})},
		{name: "reasoning text missing", cut: without(damage.Hello, "reasoning", "text")},
		{name: "two thoughts", cut: func(l *harness) {
			r := l.part(damage.Hello, "reasoning")
			l.add(r, "z", `{"type":"reasoning","text":"more","metadata":{"anthropic":{"signature":"`+endpoint.Sign("more")+`"}}}`)
		}},
		{name: "thought between two calls", cut: func(l *harness) {
			l.add(l.part(damage.TwoCalls, "tool"), "z", `{"type":"reasoning","text":"more","metadata":{"anthropic":{"signature":"`+endpoint.Sign("more")+`"}}}`)
		}},
		{name: "text between two calls", cut: add(damage.TwoCalls, "tool", `{"type":"text","text":"more"}`)},
		{name: "blank between two calls", cut: add(damage.TwoCalls, "tool", `{"type":"text","text":" "}`)},
		{name: "loop open", cut: lastPart(callInState("running"))},
		{name: "loop open without thinking", cut: combine(lastPart(callInState("running")), drop(prompts+1, "reasoning"))},
		{name: "loop open, text first", cut: combine(lastPart(callInState("pending")), prepend(prompts+1, `{"type":"text","text":"first"}`))},
	}
}

func callInState(status string) string {
	return `{"type":"tool","tool":"bash","callID":"toolu_x","state":{"status":"` + status + `","input":{},"time":{"start":1}}}`
}

// lastPart replaces the text of the last assistant message with a part, and makes the message
// unfinished.
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
		{name: "callID of another provider", cut: call("callID", "functions.read:0")},
		{name: "callIDs that become one", cut: combine(call("callID", "a:b"), set(damage.TwoCalls, "tool", "callID", "a_b"))},
		{name: "callID missing", cut: without(damage.OneCall, "tool", "callID")},
		{name: "callID null", cut: call("callID", nil)},
		{name: "callID a number", cut: call("callID", 5)},
		{name: "tool missing", cut: without(damage.OneCall, "tool", "tool")},
		{name: "tool of no characters", cut: call("tool", "")},
		{name: "tool a number", cut: call("tool", 5)},
		{name: "tool with hyphens", cut: call("tool", "a-b-c")},
		{name: "tool not there", cut: call("tool", "nonesuch")},
		{name: "state missing", cut: without(damage.OneCall, "tool", "state")},
		{name: "state null", cut: call("state", nil)},
		{name: "state a string", cut: call("state", "completed")},
		{name: "status missing", cut: noState("status")},
		{name: "status unknown", cut: inState("status", "novel")},
		{name: "input missing", cut: noState("input")},
		{name: "input null", cut: inState("input", nil)},
		{name: "input null, failed", cut: state(fields{"status": "error", "input": nil, "error": "x", "time": fields{"start": 1, "end": 2}})},
		{name: "input missing, running", cut: state(fields{"status": "running", "time": fields{"start": 1}})},
		{name: "input a number", cut: inState("input", 5)},
		{name: "provider ran the call", cut: call("metadata", fields{"providerExecuted": true})},
		{name: "provider did not run the call", cut: call("metadata", fields{"providerExecuted": false, "anthropic": fields{}})},
		{name: "tool metadata flat", cut: call("metadata", fields{"x": 1})},
		{name: "tool metadata null", cut: call("metadata", nil)},
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
		{name: "tool failed", cut: failed(fields{"error": "it failed"})},
		{name: "tool failed without error", cut: failed(nil)},
		{name: "tool failed with an object", cut: failed(fields{"error": fields{"a": 1}})},
		{name: "tool failed with an empty error", cut: failed(fields{"error": ""})},
		{name: "tool interrupted with output", cut: failed(fields{"error": "x", "metadata": fields{"interrupted": true, "output": "so far"}})},
		{name: "tool interrupted without output", cut: failed(fields{"error": "x", "metadata": fields{"interrupted": true}})},
		{name: "output of no characters", cut: inState("output", "")},
		{name: "output of blanks", cut: inState("output", " ")},
		{name: "output null", cut: inState("output", nil)},
		{name: "output a number", cut: inState("output", 5)},
		{name: "output true", cut: inState("output", true)},
		{name: "output an object with text", cut: inState("output", fields{"text": "x"})},
		{name: "output an object without text", cut: inState("output", fields{"x": "x"})},
		{name: "output a list", cut: inState("output", []any{"x"})},
		{name: "time missing in a completed call", cut: noState("time")},
		{name: "output cleared", cut: cleared},
		{name: "output cleared and missing", cut: combine(cleared, noState("output"))},
		{name: "output cleared, with attachment", cut: combine(cleared, attached(file("image/png", png)))},
		{name: "title and metadata missing", cut: combine(noState("title"), noState("metadata"))},
		{name: "image attached", cut: attached(file("image/png", png))},
		{name: "PDF attached", cut: attached(file("application/pdf", "data:application/pdf;base64,AAAA"))},
		{name: "text attached", cut: attached(file("text/plain", "data:text/plain;base64,AAAA"))},
		{name: "image and text attached", cut: attached(file("image/png", png), file("text/plain", "data:text/plain;base64,AAAA"))},
		{name: "link attached", cut: attached(file("image/png", "https://example.invalid/x.png"))},
		{name: "image attached, output missing", cut: combine(attached(file("image/png", png)), noState("output"))},
		{name: "image attached, output empty", cut: combine(attached(file("image/png", png)), inState("output", ""))},
		{name: "attachment without mime", cut: attached(fields{"type": "file", "url": png})},
		{name: "attachment without url", cut: attached(fields{"type": "file", "mime": "image/png"})},
		{name: "attachments null", cut: inState("attachments", nil)},
		{name: "attachments empty", cut: attached()},
		{name: "attachments an object", cut: inState("attachments", fields{"a": 1})},
		{name: "attachments of a failed call", cut: failed(fields{"error": "x", "attachments": []any{file("image/png", png)}})},
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
		{name: "image", cut: sent(file("image/png", png))},
		{name: "image alone", cut: combine(sent(file("image/png", png)), drop(damage.SecondPrompt, "text"))},
		{name: "image, large", cut: sent(file("image/png", "data:image/png;base64,"+strings.Repeat("A", largeImage)))},
		{name: "PDF", cut: named("x.pdf", "application/pdf", "data:application/pdf;base64,AAAA")},
		{name: "sound", cut: named("x.mp3", "audio/mpeg", "data:audio/mpeg;base64,AAAA")},
		{name: "sound without name", cut: sent(file("audio/mpeg", "data:audio/mpeg;base64,AAAA"))},
		{name: "film", cut: named("x.mp4", "video/mp4", "data:video/mp4;base64,AAAA")},
		{name: "text file", cut: named("x.txt", "text/plain", "file:///tmp/x.txt")},
		{name: "folder", cut: named("x", "application/x-directory", "file:///tmp/x")},
		{name: "JSON file", cut: named("x.json", "application/json", "data:application/json;base64,AAAA")},
		{name: "image link", cut: sent(file("image/png", "https://example.invalid/x.png"))},
		{name: "image of another kind than said", cut: sent(file("image/png", "data:image/jpeg;base64,AAAA"))},
		{name: "image whose URL says text", cut: sent(file("image/png", "data:text/plain;base64,AAAA"))},
		{name: "image without data", cut: sent(file("image/png", "data:image/png;base64,"))},
		{name: "image URL without comma", cut: sent(file("image/png", "data:image/png;base64"))},
		{name: "image URL with two commas", cut: sent(file("image/png", "data:image/png;base64,AAAA,BBBB"))},
		{name: "image, no URL", cut: sent(file("image/png", "AAAA"))},
		{name: "image cut short", cut: sent(file("image/png", "data:image/png;base64,AAAAA"))},
		{name: "image without padding", cut: sent(file("image/png", "data:image/png;base64,AA"))},
		{name: "image in the alphabet of URLs", cut: sent(file("image/png", "data:image/png;base64,_-AA"))},
		{name: "image with line breaks", cut: sent(file("image/png", "data:image/png;base64,AA\nAA"))},
		{name: "image not in base64", cut: sent(file("image/png", "data:image/png,hello"))},
		{name: "image with escapes", cut: sent(file("image/png", "data:image/png;base64,AA%3D%3D"))},
		{name: "image behind a link of no kind", cut: sent(file("image/png", "abc:def"))},
		{name: "attachment cut short", cut: attached(file("image/png", "data:image/png;base64,AAAAA"))},
		{name: "image URL in capitals", cut: sent(file("image/png", "DATA:image/png;base64,AAAA"))},
		{name: "file without mime", cut: sent(fields{"type": "file", "url": png})},
		{name: "file without url", cut: sent(fields{"type": "file", "mime": "image/png"})},
		{name: "file with name null", cut: named(nil, "image/png", png)},
	}
}
