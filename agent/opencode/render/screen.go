package render

import (
	"strings"

	"mend/session"
)

// FatalScreen is the code of a record that the agent's screen cannot show.
const FatalScreen = "screen"

// Screen lists the records for which the agent cannot show the session: its
// server refuses to list any message of it, with status 400 or 500, while a
// prompt may well go through (docs/opencode.md F12, F13, F15). From
// some version on every record must have exactly the form that the agent itself
// writes; a kind of part that it does not know is enough. A message is judged once,
// and so is what is stored beside a record that cannot be read.
func (is *Reading) Screen(p Profile) []Fatal {
	var all []Fatal
	messages, parts := messageShapes(), partShapes()
	for _, m := range is.all {
		all = append(all, m.broken...)
		if !p.Strict {
			continue
		}
		if !m.screened {
			m.screened, m.screen = true, m.unfit(messages, parts)
		}
		all = append(all, m.screen...)
	}
	return all
}

// unfit are the records of a message that have not the form which is wanted.
func (m *message) unfit(messages, parts check) []Fatal {
	var all []Fatal
	judge := func(ref session.Ref, v value, prefix, id string, is check) {
		wrong := wrongStart(id, prefix)
		if wrong != "" {
			wrong = ".id" + wrong
		} else {
			wrong = is(v)
		}
		if wrong != "" {
			all = append(all, Fatal{FatalScreen, strings.TrimPrefix(strings.TrimSpace(wrong), "."), ref})
		}
	}
	if m.body.there() {
		judge(m.ref, m.body, "msg", m.id, messages)
	}
	for _, part := range m.parts {
		judge(part.ref, part.body, "prt", part.id, parts)
	}
	return all
}

// The forms below are what 1.18.33 takes. Ids stand elsewhere, and are as good
// in a file as in a row.

func messageShapes() check {
	return oneOf("role", map[string]shape{
		session.RoleUser: {
			need("time", shape{need("created", aTime)}.check),
			need("agent", aString),
			need("model", shape{need("providerID", aString), need("modelID", aString), may("variant", aString)}.check),
			may("summary", summaryShape().check),
			may("format", oneOf("type", map[string]shape{"text": {}, "json_schema": {need("schema", anObject)}})),
			may("system", aString),
			may("tools", mapOf(aBool)),
		},
		session.RoleAssistant: {
			need("time", shape{need("created", aCount), may("completed", aCount)}.check),
			may("error", oneOf("name", errorShapes())),
			need("parentID", idOf("msg")),
			need("modelID", aString),
			need("providerID", aString),
			need("mode", aString),
			need("agent", aString),
			need("path", shape{need("cwd", aString), need("root", aString)}.check),
			may("summary", aBool),
			need("cost", aNumber),
			need("tokens", tokenShape().check),
			may("variant", aString),
			may("finish", aString),
		},
	})
}

func summaryShape() shape {
	diff := shape{may("file", aString), may("patch", aString), need("additions", aNumber), need("deletions", aNumber), may("status", aString)}
	return shape{may("title", aString), may("body", aString), need("diffs", listOf(diff.check))}
}

func tokenShape() shape {
	return shape{
		may("total", aNumber), need("input", aNumber), need("output", aNumber), need("reasoning", aNumber),
		need("cache", shape{need("read", aNumber), need("write", aNumber)}.check),
	}
}

func errorShapes() map[string]shape {
	data := func(members ...member) shape { return shape{need("data", shape(members).check)} }
	text := need("message", aString)
	return map[string]shape{
		"ProviderAuthError":        data(need("providerID", aString), text),
		"UnknownError":             data(text, may("ref", aString)),
		"MessageOutputLengthError": data(),
		"MessageAbortedError":      data(text),
		"StructuredOutputError":    data(text, need("retries", aCount)),
		"ContextOverflowError":     data(text, may("responseBody", aString)),
		"ContentFilterError":       data(text),
		"APIError": data(text, may("statusCode", aCount), need("isRetryable", aBool),
			may("responseHeaders", mapOf(aString)), may("responseBody", aString), may("metadata", mapOf(aString))),
	}
}
