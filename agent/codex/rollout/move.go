package rollout

import (
	"fmt"
	"slices"

	"mend/change"
	"mend/internal/jsonedit"
)

// Moved returns the case of the session in another folder. What its records say of the past stays.
func (c *Case) Moved(folder string) (*Case, error) {
	if c.src.Torn {
		return nil, fmt.Errorf("the compressed rollout is cut: repair the session first, with mend repair %s", c.src.ID)
	}
	d := c.Draft().(*draft)
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
		if err := d.set(i, jsonedit.Quote(folder), "payload", "cwd"); err != nil {
			return nil, err
		}
	}
	d.setCol(change.TextCol("cwd", folder))
	return d.Case().(*Case), nil
}
