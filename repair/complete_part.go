package repair

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"mend/jsonedit"
	"mend/session"
)

const partPrefix = "prt_"

// damagedCall is the error of a call whose result cannot be told.
const damagedCall = "[The stored record of this call was damaged; its result is lost]"

// completePart is what completes the part, or takes its place where that cannot
// be done.
func (g gap) completePart() []fix {
	if g.p.Type == session.TypeFile && !g.isFile(g.p.Data) {
		return append(g.toldFile(g.p.Data), g.instead()...)
	}
	data, c, err := g.completedPart(g.p.Data)
	if err != nil || g.p.Type == session.TypeText && session.Blank(textAt(data, "text")) {
		return g.instead()
	}
	var fixes []fix
	cure, loses := c.describe()
	if !c.none() {
		fixes = append(fixes, fix{cure: cure, loses: loses, edit: rewrite(with(g.p.Record, data)), alike: true})
	}
	if _, marked := jsonedit.Get(data, "metadata", providerExecuted); marked && g.p.Type == session.TypeTool {
		fixes = append(fixes, g.unmarked(data, c))
	}
	if c.none() {
		return fixes
	}
	return append(fixes, g.instead()...)
}

// providerExecuted is a mark in the metadata of a call that the provider ran itself:
// the one member that is no object. Versions before 1.14 end on it.
const providerExecuted = "providerExecuted"

// unmarked is the fix that completes a call and takes that mark away.
func (g gap) unmarked(data []byte, c changes) fix {
	cure, loses := "", "That the provider ran the call itself: every version now sends the call with its stored result."
	if !c.none() {
		var also string
		if cure, also = c.describe(); also != "" {
			loses += " " + also
		}
		cure += " "
	}
	return fix{cure: cure + "The mark that the provider ran the call itself is removed from its metadata.", loses: loses, alike: true, edit: func(d *draft) error {
		data, err := jsonedit.Remove(data, "metadata", providerExecuted)
		if err != nil {
			return err
		}
		return rewrite(with(g.p.Record, data))(d)
	}}
}

// completedPart is the part's data with all that its kind needs.
func (g gap) completedPart(data []byte) ([]byte, changes, error) {
	switch kind := textAt(data, "type"); kind {
	case session.TypeTool:
	case session.TypeReasoning:
		if badlySigned(data) {
			return nil, changes{}, errors.New("its signature is none")
		}
		fallthrough
	default:
		return g.complete(data, partSlots[kind])
	}
	data, c, err := g.complete(data, toolSlots)
	if err != nil {
		return nil, c, err
	}
	data, inner, err := g.complete(data, stateSlots(textAt(data, "state", "status")))
	c.filled = append(c.filled, inner.filled...)
	c.altered = append(c.altered, inner.altered...)
	c.lost = append(c.lost, inner.lost...)
	return data, c, err
}

// badlySigned reports whether thinking has a signature that is no text: without
// it, it would be unsigned, and there is no other.
func badlySigned(data []byte) bool {
	for _, name := range []string{"signature", "redactedData"} {
		if raw, ok := jsonedit.Get(data, "metadata", "anthropic", name); ok && raw[0] != '"' {
			return true
		}
	}
	return false
}

// partSlots are what parts have by kind, but for tools. A text that is missing is
// blank; thinking without its text, or with a signature that is none, is nothing.
var partSlots = map[string][]slot{
	session.TypeText: append(spanSlots(may("time", anObject)),
		need("text", aText, always(`""`)), may("synthetic", aTruth), may("ignored", aTruth), may("metadata", aMap(anObject))),
	session.TypeReasoning: append(spanSlots(need("time", anObject, always("{}"))),
		need("text", exactText, unknown), may("metadata", aMap(anObject))),
	session.TypeFile:      fileSlots(gap.mime),
	session.TypeStepStart: {may("snapshot", aText)},
	session.TypeStepFinish: append(tokenSlots(gap.answerTokens),
		need("reason", aText, gap.reason), may("snapshot", aText), need("cost", aNumber, always("0"))),
	"snapshot": {need("snapshot", aText, unknown)},
	"patch":    {need("hash", exactText, unknown), need("files", aList(exactText), always("[]"))},
	"agent":    {need("name", aText, unknown), may("source", intact(alike(quoteSlots(aCount)...)))},
	"compaction": {
		need("auto", aTruth, always("false")), may("overflow", aTruth), may("tail_start_id", idOf("msg")),
	},
	"subtask": {
		need("prompt", aText, always(`""`)), need("description", aText, always(`""`)), need("agent", aText, gap.agent),
		may("command", aText), may("model", intact(alike(need("providerID", aText, unknown), need("modelID", aText, unknown)))),
	},
	"retry": {
		need("attempt", aCount, always("1")), need("time", anObject, always("{}")), need("time.created", aCount, gap.start),
		need("error", anError("APIError"), unknown),
	},
}

// noOutput stands for the output of a completed call that has none on record: some
// providers refuse an empty one.
const noOutput = "[no output recorded]"

var toolSlots = []slot{
	need("callID", exactText, gap.callID), need("tool", aText, always(`"invalid"`)),
	may("metadata", aMap(anObject, providerExecuted)), need("state", anObject, always("{}")),
	need("state.status", aStatus, gap.status),
}

// stateSlots are what the state of a call has.
func stateSlots(status string) []slot {
	text := jsonedit.Quote(damagedCall)
	slots := []slot{need("input", anInput, always("{}"))}
	switch status {
	case session.StatusPending:
		slots = append(slots, need("raw", aText, always(`""`)))
	case session.StatusRunning:
		slots = append(slots, may("title", aText), may("metadata", anObject), need("time", anObject, always("{}")), need("time.start", aCount, gap.start))
	case session.StatusCompleted:
		slots = append(slots, need("output", aText, always(`"`+noOutput+`"`)), need("title", aText, always(`""`)), need("metadata", anObject, always("{}")),
			need("time", anObject, always("{}")), need("time.start", aCount, gap.start), need("time.end", aCount, gap.end),
			may("time.compacted", aCount), may("attachments", aList(anAttachment)))
	default:
		slots = append(slots, need("error", aText, always(string(text))), may("metadata", anObject),
			need("time", anObject, always("{}")), need("time.start", aCount, gap.start), need("time.end", aCount, gap.end))
	}
	return under("state", slots...)
}

// spanSlots are the times of a text or a thought.
func spanSlots(time slot) []slot {
	return []slot{time, need("time.start", aCount, gap.start), may("time.end", aCount)}
}

func tokenSlots(spent func(gap, string) []byte) []slot {
	count := func(name string) slot {
		return need("tokens."+name, aNumber, func(g gap) []byte { return spent(g, name) })
	}
	return []slot{
		need("tokens", anObject, always("{}")), may("tokens.total", aNumber), count("input"), count("output"), count("reasoning"),
		need("tokens.cache", anObject, always("{}")), count("cache.read"), count("cache.write"),
	}
}

// answerTokens is a count of tokens that the answer tells, for the end of its last
// step, where the agent takes it from.
func (g gap) answerTokens(name string) []byte {
	ends := g.stepEnds()
	if raw, ok := jsonedit.Get(g.m.Data, append([]string{"tokens"}, strings.Split(name, ".")...)...); ok && isNumber(raw) && len(ends) > 0 && ends[len(ends)-1].Ref == g.p.Ref {
		return raw
	}
	return []byte("0")
}

// reason is why a step ended: the answer tells that of its last one; another went on
// with calls, or is not known.
func (g gap) reason() []byte {
	ends := g.stepEnds()
	if finish := given(g.m, "finish"); finish != nil && len(ends) > 0 && ends[len(ends)-1].Ref == g.p.Ref {
		return finish
	}
	return []byte(`"unknown"`)
}

func quoteSlots(place fit) []slot {
	return []slot{need("value", exactText, unknown), need("start", place, unknown), need("end", place, unknown)}
}

func fileSlots(mime func(gap) []byte) []slot {
	return []slot{need("mime", exactText, mime), may("filename", aText), need("url", exactText, unknown), may("source", intact(sourceSlots))}
}

func sourceSlots(raw []byte) []slot {
	slots := append([]slot{need("text", anObject, unknown)}, under("text", quoteSlots(aNumber)...)...)
	switch textAt(raw, "type") {
	case "file":
		return append(slots, need("path", exactText, unknown))
	case "resource":
		return append(slots, need("clientName", exactText, unknown), need("uri", exactText, unknown))
	case "symbol":
		slots = append(slots, need("path", exactText, unknown), need("name", exactText, unknown), need("kind", aCount, unknown), need("range", anObject, unknown))
		for _, at := range []string{"range.start", "range.end"} {
			slots = append(slots, need(at, anObject, unknown), need(at+".line", aCount, unknown), need(at+".character", aCount, unknown))
		}
		return slots
	}
	return []slot{need("type", noFit, unknown)}
}

// exactText is a string that nothing else can stand for.
func exactText(_ gap, raw []byte) ([]byte, bool) { return raw, raw[0] == '"' }

func noFit(gap, []byte) ([]byte, bool) { return nil, false }

func aStatus(_ gap, raw []byte) ([]byte, bool) {
	switch s, _ := unquoted(raw); s {
	case session.StatusPending, session.StatusRunning, session.StatusCompleted, session.StatusError:
		return raw, true
	}
	return nil, false
}

// anInput keeps an object that is written as a string, and wraps another value.
func anInput(_ gap, raw []byte) ([]byte, bool) {
	text, _ := unquoted(raw)
	text = strings.TrimSpace(text)
	switch {
	case raw[0] == '{':
		return raw, true
	case raw[0] == 'n':
		return nil, false
	case strings.HasPrefix(text, "{") && json.Valid([]byte(text)):
		return []byte(text), true
	}
	return fmt.Appendf(nil, `{"input":%s}`, raw), true
}

// anAttachment is a file inside a call: what can be sent of it is there, the
// rest is filled in.
func anAttachment(g gap, raw []byte) ([]byte, bool) {
	always := func(id string) func(gap) []byte { return func(gap) []byte { return jsonedit.Quote(id) } }
	ref := g.ref()
	slots := append([]slot{
		need("id", idOf("prt"), always(partPrefix+strings.TrimPrefix(ref.Part, partPrefix)+"_file")),
		need("sessionID", idOf("ses"), always(ref.Session)), need("messageID", idOf("msg"), always(ref.Message)),
		need("type", theText(session.TypeFile), always(session.TypeFile)),
	}, fileSlots(unknown)...)
	return completed(alike(slots...))(g, raw)
}

// theText is that string and no other.
func theText(s string) fit {
	return func(_ gap, raw []byte) ([]byte, bool) {
		text, ok := unquoted(raw)
		return raw, ok && text == s
	}
}

// callID is an id for a call that has lost its own.
func (g gap) callID() []byte { return jsonedit.Quote(callIDOf(g.p.Ref.Part)) }

// status is that of a call that does not tell.
func (g gap) status() []byte {
	if out, ok := jsonedit.Get(g.p.Data, "state", "output"); ok && out[0] != 'n' {
		return jsonedit.Quote(session.StatusCompleted)
	}
	return jsonedit.Quote(session.StatusError)
}

// mime is the type that a file's data: URL tells.
func (g gap) mime() []byte {
	head, isData := strings.CutPrefix(textAt(g.p.Data, "url"), "data:")
	head, _, ok := strings.Cut(head, ",")
	if mime, _, _ := strings.Cut(head, ";"); isData && ok && mime != "" {
		return jsonedit.Quote(mime)
	}
	return nil
}

// start is when the part began, as far as anything tells.
func (g gap) start() []byte { return strconv.AppendInt(nil, g.begun(), 10) }

func (g gap) begun() int64 {
	if g.p != nil && g.p.Start > 0 {
		return g.p.Start
	}
	return g.m.Created
}

// end is when it ended.
func (g gap) end() []byte {
	end := g.m.Completed
	if end == 0 {
		end = g.m.LatestTime()
	}
	return strconv.AppendInt(nil, max(end, g.begun()), 10)
}
