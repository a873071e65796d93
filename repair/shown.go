package repair

// Shown says how the agent shows a session to its user.
type Shown string

// How sessions are shown. Their spelling is part of the JSON answers.
const (
	Listed    Shown = ""
	Archived  Shown = "archived"   // the user has put it away
	Hidden    Shown = "hidden"     // it is not listed where its user looks for it
	NoFolder  Shown = "no folder"  // its folder is gone
	NotLoaded Shown = "not loaded" // the agent finds no conversation in it
	TakenOver Shown = "taken over" // a newer generation of the agent has a copy of its own
)

// ShownBy returns how a session is shown that has these diagnoses: of several reasons the one that has
// to be solved first.
func ShownBy(ds []Diagnosis) Shown {
	for _, s := range [...]Shown{TakenOver, NotLoaded, NoFolder, Hidden, Archived} {
		for _, d := range ds {
			if d.Shown == s {
				return s
			}
		}
	}
	return Listed
}
