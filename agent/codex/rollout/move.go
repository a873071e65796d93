package rollout

import (
	"bytes"
	"fmt"
	"slices"

	"mend/change"
	"mend/internal/jsonedit"
)

// Moved returns the case of the session in another folder. What its records say of the past stays.
func (c *Case) Moved(folder string) (*Case, error) {
	d := &draft{c: c, lines: slices.Clone(c.lines), torn: c.torn, path: c.path, row: c.row}
	at, ok := c.meta()
	if !ok {
		return nil, fmt.Errorf("the first record of the rollout cannot be read: repair the session first, with mend repair %s", c.src.ID)
	}
	places := []int{at}
	for i := range slices.Backward(c.lines) {
		if c.lines[i].kind == "turn_context" {
			places = append(places, i)
			break
		}
	}
	for _, i := range places {
		raw, err := jsonedit.Set(d.lines[i].raw, jsonedit.Quote(folder), "payload", "cwd")
		if err != nil {
			return nil, err
		}
		d.setRaw(i, raw)
	}
	if d.row != nil {
		row := d.row.WithCol(change.TextCol("cwd", folder))
		d.row = &row
	}
	return d.Case().(*Case), nil
}

// CountMessages counts the prompts and answers of a rollout, and returns the id of the first.
func CountMessages(data []byte) (n int, first string) {
	lines, _ := parseLines(data)
	for i := range lines {
		if l := &lines[i]; l.kind == "response_item" && (isPrompt(l.payload) || text(l.payload, "role") == "assistant") {
			if n++; n == 1 {
				first = text(l.payload, "id")
			}
		}
	}
	return n, first
}

// Has reports whether a rollout has all items of another one.
func Has(data, of []byte) bool {
	has := map[string]bool{}
	lines, _ := parseLines(data)
	for i := range lines {
		has[string(lines[i].payload.Raw())] = true
	}
	wanted, _ := parseLines(of)
	return !slices.ContainsFunc(wanted, func(l line) bool {
		return (l.kind == "response_item" || l.kind == "compacted") && !has[string(bytes.TrimSpace(l.payload.Raw()))]
	})
}
