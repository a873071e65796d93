package diagnose

import (
	"slices"

	"mend/agent/opencode/record"
	"mend/session"
)

// A partIndex finds parts in lists that do not change. The zero partIndex is ready to use.
type partIndex struct {
	ids map[*record.Part]partIDs // of long lists, by their first elements
}

// partIDs are the places of parts, by the ids in their refs: the first of those with one id.
type partIDs map[string]int

const longList = 16 // parts; a shorter list is searched without an index

// find returns the place of the part that is stored under ref, of several the first; -1 if
// there is none.
func (x *partIndex) find(parts []record.Part, ref session.Ref) int {
	if len(parts) < longList {
		return searchPart(parts, ref)
	}
	ids, ok := x.ids[&parts[0]]
	if !ok {
		ids = indexParts(parts)
		if x.ids == nil {
			x.ids = map[*record.Part]partIDs{}
		}
		x.ids[&parts[0]] = ids
	}
	at, ok := ids[ref.Part]
	switch {
	case !ok:
		return -1
	case at < len(parts) && parts[at].Ref == ref:
		return at
	}
	return searchPart(parts, ref)
}

// searchPart is [partIndex.find] without an index.
func searchPart(parts []record.Part, ref session.Ref) int {
	return slices.IndexFunc(parts, func(p record.Part) bool { return p.Ref == ref })
}

func indexParts(parts []record.Part) partIDs {
	ids := make(partIDs, len(parts))
	for i := len(parts) - 1; i >= 0; i-- {
		ids[parts[i].Ref.Part] = i
	}
	return ids
}
