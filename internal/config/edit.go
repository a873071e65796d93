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
	Before, After []byte // the content of the file; Before is nil if it does not exist
}

// HasChanged reports whether the content changes.
func (e *Edit) HasChanged() bool { return !bytes.Equal(e.Before, e.After) }

// PlanEdit plans to set the key in the file at path to the value of text. All other bytes of the file stay, including
// comments. It writes nothing.
func PlanEdit(path, key, text string) (e Edit, err error) {
	e = Edit{Path: path}
	if e.Before, err = readSettings(path); err != nil {
		return e, err
	}
	c := Defaults()
	k, err := c.find(key)
	if err != nil {
		return e, err
	}
	if err := c.assign(key, text, File); err != nil {
		return e, err
	}
	data := bytes.TrimPrefix(bytes.Clone(e.Before), []byte(mark))
	if _, err := hujson.Standardize(append(bytes.Clone(data), "\n{}"...)); err == nil { // empty, or only comments
		data = append(data, "{}\n"...)
	}
	tree, err := hujson.Parse(append(data, '\n')) // the parser requires a newline after a comment
	if err != nil {
		return e, fmt.Errorf("%s: %w", path, err)
	}
	patch, err := json.Marshal([]map[string]any{{"op": "add", "path": "/" + k.name, "value": k.value()}})
	if err == nil {
		err = tree.Patch(patch)
	}
	if err != nil {
		return e, fmt.Errorf("%s: %w", path, err)
	}
	e.After = bytes.TrimSuffix(tree.Pack(), []byte("\n"))
	if bytes.HasPrefix(e.Before, []byte(mark)) {
		e.After = append([]byte(mark), e.After...)
	}
	return e, nil
}
