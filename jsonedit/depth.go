package jsonedit

import "bytes"

// MaxDepth is how deep objects and lists may be nested in a text that is read. It
// is the bound of both JSON libraries. The agent's JSON.parse has none.
const MaxDepth = 10_000

// TooDeep reports whether objects and lists are nested deeper than [MaxDepth]
// in data, before anything in it that is not JSON.
func TooDeep(data []byte) bool {
	if len(data) <= MaxDepth {
		return false
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	d := newDecoder(data)
	for {
		if _, err := d.ReadToken(); err != nil {
			next := bytes.TrimLeft(data[d.InputOffset():], ",: \t\r\n")
			return d.StackDepth() >= MaxDepth && len(next) > 0 && (next[0] == '{' || next[0] == '[')
		}
	}
}
