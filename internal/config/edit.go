package config

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tailscale/hujson"
)

// An Edit is a change of one setting in the user's file.
type Edit struct {
	Path          string
	Before, After []byte // the file; Before is nil if it does not exist
}

// Changed reports whether the file would be another one.
func (e *Edit) Changed() bool { return !bytes.Equal(e.Before, e.After) }

// PlanEdit plans that the file at path sets the key to the value that text means, or with a nil text that it
// does not set it. All other bytes of the file stay, comments too. It writes nothing.
func PlanEdit(path, key string, text *string) (e Edit, err error) {
	e = Edit{Path: path}
	if e.Before, err = readSettings(path); err != nil {
		return e, err
	}
	c := Defaults()
	k, err := c.find(key)
	if err != nil {
		return e, err
	}
	now := Defaults()
	if err := now.parse(bytes.Clone(e.Before)); err != nil {
		return e, fmt.Errorf("%s: %w", path, err)
	}
	e.After = e.Before
	step := map[string]any{"op": "remove", "path": "/" + k.name}
	if text != nil {
		if err := c.assign(key, *text, File); err != nil {
			return e, err
		}
		step["op"], step["value"] = "add", k.value()
	} else if now.Origin(k.name) != File {
		return e, nil
	}
	data := bytes.Clone(e.Before)
	if _, err := hujson.Standardize(append(bytes.Clone(data), "\n{}"...)); err == nil { // empty, or comments alone
		data = append(data, "{}\n"...)
	}
	tree, err := hujson.Parse(append(data, '\n')) // it requires a newline after a comment
	if err != nil {
		return e, fmt.Errorf("%s: %w", path, err)
	}
	patch, err := json.Marshal([]map[string]any{step})
	if err == nil {
		err = tree.Patch(patch)
	}
	if err != nil {
		return e, fmt.Errorf("%s: %w", path, err)
	}
	e.After = bytes.TrimSuffix(tree.Pack(), []byte("\n"))
	return e, nil
}
