package diagnose

import (
	"mend/repair"
	"mend/session"
)

// Renamed implements [repair.Renamer]. The fixes that give records other ids keep the
// tails of these ([session.Renumber]).
func (c *chart) Renamed(earlier repair.Case) map[session.Ref]session.Ref {
	before, after := earlier.(*chart).s, c.s
	if len(before.Messages) != len(after.Messages) {
		return nil
	}
	to := map[session.Ref]session.Ref{}
	places, tails := placesOf(after), map[string]int{}
	for i := range after.Messages {
		tails[session.Tail(after.Messages[i].Ref.Message)] = i
	}
	for i := range before.Messages {
		was := &before.Messages[i]
		if _, stays := places[was.Ref.Message]; stays {
			continue
		}
		at, ok := tails[session.Tail(was.Ref.Message)]
		if !ok {
			continue
		}
		is := &after.Messages[at]
		if len(was.Parts) != len(is.Parts) {
			continue
		}
		to[was.Ref] = is.Ref
		for j := range was.Parts {
			to[was.Parts[j].Ref] = is.Parts[j].Ref
		}
	}
	return to
}
