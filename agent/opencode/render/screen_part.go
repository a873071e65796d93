package render

import "mend/session"

func partShapes() check {
	span := shape{need("start", aCount), may("end", aCount)}.check
	quote := shape{need("value", aString), need("start", aCount), need("end", aCount)}.check
	return oneOf("type", map[string]shape{
		session.TypeText: {
			need("text", aString), may("synthetic", aBool), may("ignored", aBool),
			may("time", span), may("metadata", anObject),
		},
		session.TypeReasoning:  {need("text", aString), may("metadata", anObject), need("time", span)},
		session.TypeFile:       fileShape(),
		session.TypeTool:       {need("callID", aString), need("tool", aString), need("state", stateShapes()), may("metadata", anObject)},
		session.TypeStepStart:  {may("snapshot", aString)},
		session.TypeStepFinish: {need("reason", aString), may("snapshot", aString), need("cost", aNumber), need("tokens", tokenShape().check)},
		"snapshot":             {need("snapshot", aString)},
		"patch":                {need("hash", aString), need("files", listOf(aString))},
		"agent":                {need("name", aString), may("source", quote)},
		"compaction":           {need("auto", aBool), may("overflow", aBool), may("tail_start_id", idOf("msg"))},
		"subtask": {
			need("prompt", aString), need("description", aString), need("agent", aString), may("command", aString),
			may("model", shape{need("providerID", aString), need("modelID", aString)}.check),
		},
		"retry": {
			need("attempt", aCount), need("time", shape{need("created", aCount)}.check),
			need("error", oneOf("name", map[string]shape{"APIError": errorShapes()["APIError"]})),
		},
	})
}

func stateShapes() check {
	done := shape{need("start", aCount), need("end", aCount), may("compacted", aCount)}.check
	input := need("input", anObject)
	file := append(shape{need("id", idOf("prt")), need("sessionID", idOf("ses")), need("messageID", idOf("msg"))}, fileShape()...)
	return oneOf("status", map[string]shape{
		session.StatusPending: {input, need("raw", aString)},
		session.StatusRunning: {input, may("title", aString), may("metadata", anObject), need("time", shape{need("start", aCount)}.check)},
		session.StatusCompleted: {
			input, need("output", aString), need("title", aString), need("metadata", anObject),
			need("time", done), may("attachments", listOf(attachment(file))),
		},
		session.StatusError: {input, need("error", aString), may("metadata", anObject), need("time", done)},
	})
}

// attachment is a file part inside another part.
func attachment(s shape) check { return oneOf("type", map[string]shape{session.TypeFile: s}) }

func fileShape() shape {
	place := shape{need("value", aString), need("start", aNumber), need("end", aNumber)}.check
	point := shape{need("line", aCount), need("character", aCount)}.check
	at := need("text", place)
	return shape{
		need("mime", aString), may("filename", aString), need("url", aString),
		may("source", oneOf("type", map[string]shape{
			"file":     {at, need("path", aString)},
			"resource": {at, need("clientName", aString), need("uri", aString)},
			"symbol": {
				at, need("path", aString), need("name", aString), need("kind", aCount),
				need("range", shape{need("start", point), need("end", point)}.check),
			},
		})),
	}
}
