package diagnose

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"mend/agent/opencode/record"
	"mend/agent/opencode/schema"
	"mend/jsonedit"
	"mend/session"
)

// completeMessage returns what completes the message's record.
func (g recordContext) completeMessage() []fix {
	if !strings.HasPrefix(g.m.ID, "msg") {
		return nil // it is named everywhere
	}
	data, c, err := g.completedMessage(g.m.Data)
	if err != nil || c.None() {
		return nil
	}
	text, loses := describeChanges(c)
	return []fix{g.replaceMessage(with(g.m.Record, data), text, loses)}
}

// completedMessage returns the message's data with all that its role needs.
func (g recordContext) completedMessage(data []byte) ([]byte, schema.Changes, error) {
	data, c, err := g.complete(data, &schema.Message)
	if err == nil && textAt(data, "role") == session.RoleUser {
		data, err = withoutHalfModel(data, &c)
	}
	return data, c, err
}

// withoutHalfModel returns a prompt's data without a model that has not both of its names:
// the next prompt would ask for it.
func withoutHalfModel(data []byte, c *schema.Changes) ([]byte, error) {
	if textAt(data, "model", "providerID") != "" && textAt(data, "model", "modelID") != "" {
		return data, nil
	}
	if !slices.Contains(c.Lost, "model") {
		c.Filled = slices.DeleteFunc(c.Filled, func(path string) bool { return strings.HasPrefix(path, "model") })
		c.Lost = append(c.Lost, "model")
	}
	return jsonedit.Remove(data, "model")
}

// withData returns the record with that data in the message's record.
func (g recordContext) withData(data []byte) recordContext {
	m := record.NewMessage(with(g.m.Record, data))
	m.Parts = g.m.Parts
	g.m = &m
	return g
}

// replaceMessage returns the fix that puts another record in the place of the message's, at
// the place in the session that its time gives it: that of all others may change.
func (g recordContext) replaceMessage(r session.Record, text, loses string) fix {
	return fix{text: text, loses: loses, whole: true, alike: true, edit: func(d *draft) error {
		i := d.index(r.Ref)
		if i < 0 {
			return fmt.Errorf("%s: no such message", r.Ref)
		}
		d.replaceMessage(i, record.NewMessage(r))
		return nil
	}}
}

// totalCost returns what the steps of an answer cost, by their ends.
func (g recordContext) totalCost() []byte {
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

// lastTokens returns a count of tokens of the last step that tells of it: what the agent writes
// into the answer. Without one it is 0.
func (g recordContext) lastTokens(name string) []byte {
	path := append([]string{"tokens"}, strings.Split(name, ".")...)
	for _, p := range slices.Backward(g.stepEnds()) {
		if raw, ok := jsonedit.Get(p.Data, path...); ok && isNumber(raw) {
			return raw
		}
	}
	return []byte("0")
}

// stepEnds returns the ends of the answer's steps that can be read.
func (g recordContext) stepEnds() (ends []record.Part) {
	for _, p := range g.m.Parts {
		if p.Type == record.TypeStepFinish && !p.Malformed() {
			ends = append(ends, p)
		}
	}
	return ends
}
