package rollout

import (
	"fmt"

	"mend/change"
	"mend/internal/jsonedit"
)

// Moved returns the case of the session in another folder. What its records say of the past stays.
func (c *Case) Moved(folder string) (*Case, error) {
	if c.src.Torn {
		return nil, fmt.Errorf("the compressed rollout is cut: repair the session first, with mend repair %s", c.src.ID)
	}
	d := c.Draft().(*draft)
	at, id := c.meta()
	if id != c.src.ID {
		return nil, fmt.Errorf("the first record of the rollout cannot be read: repair the session first, with mend repair %s", c.src.ID)
	}
	for _, i := range []int{at, lastLine(c.lines, func(l *line) bool { return l.kind == "turn_context" })} {
		if i < 0 {
			continue
		}
		if err := d.set(i, jsonedit.Quote(folder), "payload", "cwd"); err != nil {
			return nil, err
		}
	}
	d.setCol(change.TextCol("cwd", folder))
	return d.Case().(*Case), nil
}
