package render

import (
	"slices"

	"mend/agent/opencode/js"
)

// sortParts sorts parts from files as the agent does. It lists the files by name and sorts
// the records by their ids with a comparison that is inconsistent for ids that are equal or
// no strings. For those the result depends on the algorithm, which is JavaScriptCore's: a
// binary insertion sort.
func sortParts(all []part) {
	ordered := true
	for i := range all {
		ordered = ordered && all[i].named && (i == 0 || all[i-1].ID < all[i].ID)
	}
	if ordered {
		return
	}
	slices.SortStableFunc(all, func(a, b part) int { return js.CompareStrings(a.Ref.Part, b.Ref.Part) })
	ids := make([]js.Value, len(all))
	for i := range all {
		ids[i] = js.Parse(all[i].value().Get("id").Raw())
	}
	done := 1
	if len(all) >= 8 { // the sorted run at the start stays
		for done < len(all) && !before(ids[done], ids[done-1]) {
			done++
		}
	}
	for ; done < len(all); done++ {
		p, id := all[done], ids[done]
		low, high := 0, done
		for low < high {
			if mid := (low + high) / 2; before(id, ids[mid]) {
				high = mid
			} else {
				low = mid + 1
			}
		}
		copy(all[low+1:done+1], all[low:done])
		copy(ids[low+1:done+1], ids[low:done])
		all[low], ids[low] = p, id
	}
}

// before reports whether `a.id > b.id ? 1 : -1` is negative.
func before(a, b js.Value) bool { return !js.Greater(a, b) }
