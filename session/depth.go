package session

import (
	"bytes"
	"fmt"
)

// MaxDepth is how deep objects and lists may be nested in a text that is read. It
// is the bound of both JSON libraries. The agent's JSON.parse has none.
const MaxDepth = 10_000

// NestsTooDeep reports whether objects and lists are nested deeper than [MaxDepth]
// in data, before anything in it that is not JSON.
func NestsTooDeep(data []byte) bool {
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

// A DepthError says that a record nests deeper than [MaxDepth], so that its session
// cannot be examined.
type DepthError struct{ Ref Ref }

func (e *DepthError) Error() string {
	return fmt.Sprintf("the %v %s nests objects and lists deeper than %d levels", e.Ref.Kind, e.Ref, MaxDepth)
}

// CheckDepth returns a [*DepthError] for the first record that nests too deep.
func (s *Session) CheckDepth() error {
	for r := range s.Records {
		if r.Defect != nil && r.Defect.Kind == TooDeep {
			return &DepthError{r.Ref}
		}
	}
	info := &s.Info
	deep := NestsTooDeep(info.Data)
	for _, c := range info.Cols {
		deep = deep || NestsTooDeep(c.Bytes)
	}
	if deep {
		return &DepthError{info.Ref}
	}
	return nil
}
