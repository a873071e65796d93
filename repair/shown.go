package repair

// Shown is how the agent shows a session to its user.
type Shown string

// How sessions are shown. Their spelling is part of the JSON answers.
const (
	Listed    Shown = ""
	Archived  Shown = "archived"   // the user has archived it
	Hidden    Shown = "hidden"     // it is missing from the list where its user looks for it
	NoFolder  Shown = "no folder"  // its folder does not exist
	NotLoaded Shown = "not loaded" // the agent finds no conversation in it
	TakenOver Shown = "taken over" // a newer generation of the agent has a copy of its own
)

// ShownAs returns how a session with these diagnoses is shown. If they disagree, it returns the value of the problem
// that must be solved first.
func ShownAs(ds []Diagnosis) Shown {
	for _, s := range [...]Shown{TakenOver, NotLoaded, NoFolder, Hidden, Archived} {
		for _, d := range ds {
			if d.Shown == s {
				return s
			}
		}
	}
	return Listed
}
