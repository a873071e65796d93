package record

import (
	"fmt"

	"mend/change"
	"mend/internal/jsonedit"
)

// tooDeep explains that a record nests deeper than [jsonedit.MaxDepth], so that its session cannot be examined.
func tooDeep(ref change.Ref) error {
	return fmt.Errorf("the %v %s nests objects and lists deeper than %d levels, so mend leaves it alone; mend restore "+
		"brings back an earlier state if it was kept", ref.Kind, ref, jsonedit.MaxDepth)
}

// CheckDepth returns an error about the first record that nests too deep.
func (s *Session) CheckDepth() error {
	for r := range s.Records {
		if r.Defect != nil && r.Defect.Kind == change.TooDeep {
			return tooDeep(r.Ref)
		}
	}
	info := &s.Info
	deep := jsonedit.TooDeep(info.Data)
	for c := range info.Cols.All {
		deep = deep || jsonedit.TooDeep(c.Bytes)
	}
	if deep {
		return tooDeep(info.Ref)
	}
	return nil
}
