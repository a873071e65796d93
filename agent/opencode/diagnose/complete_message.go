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

// completeMessage returns the fix that completes the record of the message.
func (g recordContext) completeMessage() []fix {
	if !strings.HasPrefix(g.m.ID, "msg") {
		return nil // the invalid id is in all its parts, too
	}
	data, c, err := g.completedMessage(g.m.Data)
	if err != nil || c.None() {
		return nil
	}
	text, loses := describeChanges(c)
	return []fix{g.replaceMessage(with(g.m.Record, data), text, loses)}
}

// completedMessage returns the data of the message with every member that its role
// needs.
func (g recordContext) completedMessage(data []byte) ([]byte, schema.Changes, error) {
	data, c, err := g.complete(data, &schema.Message)
	if err == nil && textAt(data, "role") == session.RoleUser {
		data, err = withoutHalfModel(data, &c)
	}
	return data, c, err
}

// withoutHalfModel removes the model from a prompt if it lacks one of its two names,
// because the next prompt would use it.
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

// withData returns the context with other data in the record of the message.
func (g recordContext) withData(data []byte) recordContext {
	m := record.NewMessage(with(g.m.Record, data))
	m.Parts = g.m.Parts
	g.m = &m
	return g
}

// replaceMessage returns the fix that replaces the message's record. A new time may
// move the message among the others.
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

// totalCost returns the sum of the costs in the ends of the steps.
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

// lastTokens returns a count of tokens from the last end of a step that has it, as the
// agent does for the message; 0 if none has it.
func (g recordContext) lastTokens(name string) []byte {
	path := append([]string{"tokens"}, strings.Split(name, ".")...)
	for _, p := range slices.Backward(g.stepEnds()) {
		if raw, ok := jsonedit.Get(p.Data, path...); ok && isNumber(raw) {
			return raw
		}
	}
	return []byte("0")
}

// stepEnds returns the readable ends of the steps.
func (g recordContext) stepEnds() (ends []record.Part) {
	for _, p := range g.m.Parts {
		if p.Type == record.TypeStepFinish && !p.Malformed() {
			ends = append(ends, p)
		}
	}
	return ends
}
