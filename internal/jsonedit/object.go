package jsonedit

import "slices"

// A Member is a member of an object.
type Member struct {
	Name string
	Raw  []byte // one JSON value
}

// Object returns an object of the members, in the given order and without white space.
func Object(members ...Member) []byte {
	b := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = slices.Concat(b, Quote(m.Name), []byte{':'}, m.Raw)
	}
	return append(b, '}')
}
