package repair

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mend/jsonedit"
	"mend/session"
)

// completeMessage is what completes the message's record.
func (g gap) completeMessage() []fix {
	if !strings.HasPrefix(g.m.ID, "msg") {
		return nil // it is named everywhere
	}
	data, c, err := g.completedMessage(g.m.Data)
	if err != nil || c.none() {
		return nil
	}
	cure, loses := c.describe()
	return []fix{g.restated(with(g.m.Record, data), cure, loses)}
}

// completedMessage is the message's data with all that its role needs.
func (g gap) completedMessage(data []byte) ([]byte, changes, error) {
	data, c, err := g.complete(data, []slot{need("role", aRole, gap.role), need("time", anObject, always("{}"))})
	if err != nil {
		return nil, c, err
	}
	g = g.as(data)
	slots := promptSlots
	if g.m.Role == session.RoleAssistant {
		slots = answerSlots
	}
	for _, sl := range slots {
		// One by one: what is filled in tells what comes next.
		var more changes
		if data, more, err = g.complete(data, []slot{sl}); err != nil {
			return nil, c, err
		}
		if !more.none() {
			g = g.as(data)
		}
		c.filled = append(c.filled, more.filled...)
		c.altered = append(c.altered, more.altered...)
		c.lost = append(c.lost, more.lost...)
	}
	if g.m.Role == session.RoleUser {
		if data, err = withoutHalfModel(data, &c); err != nil {
			return nil, c, err
		}
	}
	return data, c, nil
}

// withoutHalfModel is a prompt's data without a model that has not both of its names:
// the next prompt would ask for it.
func withoutHalfModel(data []byte, c *changes) ([]byte, error) {
	if textAt(data, "model", "providerID") != "" && textAt(data, "model", "modelID") != "" {
		return data, nil
	}
	if !slices.Contains(c.lost, "model") {
		c.filled = slices.DeleteFunc(c.filled, func(path string) bool { return strings.HasPrefix(path, "model") })
		c.lost = append(c.lost, "model")
	}
	return jsonedit.Remove(data, "model")
}

// as is the gap with that data in the message's record.
func (g gap) as(data []byte) gap {
	m := session.NewMessage(with(g.m.Record, data))
	m.Parts = g.m.Parts
	g.m = &m
	return g
}

// restated is the fix that puts another record in the place of the message's, at
// the place in the session that its time gives it: that of all others may change.
func (g gap) restated(r session.Record, cure, loses string) fix {
	return fix{cure: cure, loses: loses, whole: true, alike: true, edit: func(d *draft) error {
		i := d.index(r.Ref)
		if i < 0 {
			return fmt.Errorf("%s: no such message", r.Ref)
		}
		d.put(i, session.NewMessage(r))
		return nil
	}}
}

var promptSlots = []slot{
	need("time.created", aTime, gap.created), want("agent", aText, gap.agent),
	need("model", anObject, always("{}")), want("model.providerID", aName, gap.providerID), want("model.modelID", aName, gap.modelID),
	may("model.variant", aText),
	may("summary", anObject), may("summary.title", aText), may("summary.body", aText),
	need("summary.diffs", aList(completed(alike(
		may("file", aText), may("patch", aText), need("additions", aNumber, always("0")), need("deletions", aNumber, always("0")), may("status", aText),
	))), always("[]")),
	may("format", intact(formatSlots)), may("system", aText), may("tools", aMap(aTruth)),
}

func formatSlots(raw []byte) []slot {
	switch textAt(raw, "type") {
	case "text":
		return nil
	case "json_schema":
		return []slot{need("schema", anObject, unknown)}
	}
	return []slot{need("type", noFit, unknown)}
}

var answerSlots = slices.Concat([]slot{
	need("time.created", aCount, gap.created), may("time.completed", aCount),
	may("error", anError()), want("parentID", idOf("msg"), gap.parent),
	want("modelID", aText, gap.modelID), want("providerID", aText, gap.providerID),
	want("agent", aText, gap.agent), want("mode", aText, gap.mode),
	need("path", anObject, always("{}")), want("path.cwd", aText, gap.cwd), want("path.root", aText, gap.root),
	may("summary", aTruth), need("cost", aNumber, gap.cost), may("variant", aText), may("finish", aText),
}, tokenSlots(gap.spent))

// aName is a text that names something: nothing else can stand for it.
func aName(_ gap, raw []byte) ([]byte, bool) {
	text, ok := unquoted(raw)
	return raw, ok && !session.Blank(text)
}

// cost is what the steps of an answer cost, by their ends.
func (g gap) cost() []byte {
	var sum float64
	for _, p := range g.stepEnds() {
		raw, _ := jsonedit.Get(p.Data, "cost")
		n, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			continue
		}
		sum += n
	}
	return strconv.AppendFloat(nil, sum, 'f', -1, 64)
}

// spent is a count of tokens of the last step that tells of it: what the agent writes
// into the answer. Without one it is 0.
func (g gap) spent(name string) []byte {
	path := append([]string{"tokens"}, strings.Split(name, ".")...)
	for _, p := range slices.Backward(g.stepEnds()) {
		if raw, ok := jsonedit.Get(p.Data, path...); ok && isNumber(raw) {
			return raw
		}
	}
	return []byte("0")
}

// stepEnds are the ends of the answer's steps that can be read.
func (g gap) stepEnds() (ends []session.Part) {
	for _, p := range g.m.Parts {
		if p.Type == session.TypeStepFinish && !p.Malformed() {
			ends = append(ends, p)
		}
	}
	return ends
}

func aRole(_ gap, raw []byte) ([]byte, bool) {
	s, _ := unquoted(raw)
	return raw, s == session.RoleUser || s == session.RoleAssistant
}

// errorSlots are what the data of an error has, by the error's name.
var errorSlots = map[string][]slot{
	"ProviderAuthError":        {need("providerID", aText, gap.providerID)},
	"UnknownError":             {may("ref", aText)},
	"MessageOutputLengthError": nil,
	"MessageAbortedError":      nil,
	"StructuredOutputError":    {need("retries", aCount, always("0"))},
	"ContextOverflowError":     {may("responseBody", aText)},
	"ContentFilterError":       nil,
	"APIError": {
		may("statusCode", aCount), need("isRetryable", aTruth, always("false")), may("responseHeaders", aMap(aText)),
		may("responseBody", aText), may("metadata", aMap(aText)),
	},
}

// anError is an error of one of the names, of any that is known if none is given.
// Another one becomes an UnknownError that says the same.
func anError(names ...string) fit {
	return func(g gap, raw []byte) ([]byte, bool) {
		name := textAt(raw, "name")
		slots, known := errorSlots[name]
		switch {
		case slices.Contains([]string{"null", "false", "0", `""`}, string(raw)):
			return nil, false // no error at all
		case len(names) > 0 && !slices.Contains(names, name):
			return nil, false
		case !known:
			return g.unknownError(raw), true
		}
		message := []slot{need("data", anObject, always("{}")), need("data.message", aText, always(`""`))}
		if name == "MessageOutputLengthError" {
			message = message[:1]
		}
		if to, ok := g.completedBy(raw, append(message, under("data", slots...)...)); ok {
			return to, true
		}
		return g.unknownError(raw), true
	}
}

// unknownError is an error of no known kind that says what raw says: a message of
// its own alone, or all of it as text.
func (g gap) unknownError(raw []byte) []byte {
	var text []byte
	for _, path := range [][]string{{"data", "message"}, {"message"}, {"name"}} {
		if v, ok := jsonedit.Get(raw, path...); ok && v[0] == '"' && text == nil {
			text = v
			g.dropBeside(raw, path)
		}
	}
	if text == nil {
		text, _ = aText(g, raw)
	}
	return []byte(`{"name":"UnknownError","data":{"message":` + string(text) + `}}`)
}

// dropBeside notes every member of the object that is not on the way to path.
func (g gap) dropBeside(raw []byte, path []string) {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if name != path[0] {
			g.drop(name)
		}
	}
	if len(path) > 1 {
		inner := g
		var below []string
		inner.dropped = &below
		inner.dropBeside(members[path[0]], path[1:])
		for _, name := range below {
			g.drop(path[0] + "." + name)
		}
	}
}
