package record

import (
	"fmt"

	"mend/change"
	"mend/internal/jsonedit"
)

// A DepthError means that a record nests deeper than [jsonedit.MaxDepth], so that its session
// cannot be examined.
type DepthError struct{ Ref change.Ref }

func (e *DepthError) Error() string {
	return fmt.Sprintf("the %v %s nests objects and lists deeper than %d levels, so mend leaves it alone; mend restore "+
		"brings back an earlier state if it was kept", e.Ref.Kind, e.Ref, jsonedit.MaxDepth)
}

// CheckDepth returns a [*DepthError] for the first record that nests too deep.
func (s *Session) CheckDepth() error {
	for r := range s.Records {
		if r.Defect != nil && r.Defect.Kind == change.TooDeep {
			return &DepthError{r.Ref}
		}
	}
	info := &s.Info
	deep := jsonedit.TooDeep(info.Data)
	for c := range info.Cols.All {
		deep = deep || jsonedit.TooDeep(c.Bytes)
	}
	if deep {
		return &DepthError{info.Ref}
	}
	return nil
}
