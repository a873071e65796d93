package wire

import (
	"slices"
	"strings"

	"mend/session"
)

// A rendering is a request in the making.
type rendering struct {
	Settings
	fatal  []Fatal
	refs   map[Fatal]bool // those in fatal
	strip  bool           // files become a line of text
	claude bool           // call ids are made fit
}

// Render makes the request that OpenCode sends for the session when the user
// types one more prompt, or as it stands. It never fails: what the agent would
// die on is in the request's Fatal.
func Render(s *session.Session, set Settings) Request {
	if set.Profile.Version == "" {
		set.Profile = ProfileFor("")
	}
	r := &rendering{Settings: set, refs: map[Fatal]bool{}}
	all := read(s, r.Profile)
	if !r.Standing {
		all = r.prompt(s, all)
	}
	if r.Model == (Model{}) {
		r.Model = r.lastModel(s, all)
	}
	r.claude = strings.Contains(r.Model.ModelID, "claude")
	kept := r.history(all)
	turns := r.turns(kept)
	return Request{Model: r.Model, Turns: turns, Fatal: r.fatal}
}

// die notes what ends the agent, each fault once.
func (r *rendering) die(faults ...Fatal) {
	for _, f := range faults {
		if !r.refs[f] {
			r.refs[f] = true
			r.fatal = append(r.fatal, f)
		}
	}
}

// prompt adds the new prompt, which makes a revert final.
func (r *rendering) prompt(s *session.Session, all []message) []message {
	left, reverted := revert(s, all, r.Profile.Revert)
	if reverted { // for which all of the session is read
		for _, m := range all {
			r.die(m.broken...)
		}
	}
	left = append(slices.Clip(left), newPrompt(s, r.Now))
	slices.SortStableFunc(left, r.Profile.compare)
	return left
}

// lastModel is the model that the agent asks if the user names none: that of
// the newest prompt. The zero Model means that the session does not say.
func (r *rendering) lastModel(s *session.Session, all []message) Model {
	if r.Profile.SessionModel {
		model := column(s, "model").object()
		provider, _ := model["providerID"].str()
		if id, ok := model["id"].str(); ok {
			return Model{provider, id}
		}
	}
	for _, m := range slices.Backward(all) {
		model := m.info["model"]
		if m.role() != session.RoleUser || !model.truthy() {
			continue
		}
		provider, _ := model.object()["providerID"].str()
		id, _ := model.object()["modelID"].str()
		return Model{provider, id}
	}
	return Model{}
}

// history is what of the messages goes into the request. It notes the records
// that the agent dies on before it makes one.
func (r *rendering) history(all []message) []message {
	kept, reached := history(all, r.Profile)
	for _, m := range all[len(all)-r.window(len(all), reached):] {
		r.die(m.broken...)
		r.die(m.faulty...)
		if r.Profile.Times && !m.prompt && len(m.broken)+len(m.faulty) == 0 && m.info["time"].null() {
			r.die(field(m.ref, "time is missing"))
		}
	}
	if r.Standing {
		return kept
	}
	l := latest(kept, r.Profile)
	if l.answered(r.Profile) {
		r.die(Fatal{FatalClock, "its id " + l.assistant.id + " is above that of a new prompt, " + l.user.id + "…, which so counts as answered", l.assistant.ref})
	}
	if l.compacting(kept, r.Profile) {
		return r.compaction(kept)
	}
	if missing := l.tokens(r.Profile); missing != "" {
		r.die(field(l.finished.ref, "%s is missing", missing))
	}
	return kept
}

// window is how many of n messages the agent reads when it looks at reached.
func (r *rendering) window(n, reached int) int {
	page := r.Profile.Page
	if page == 0 {
		return n
	}
	return min(n, (reached+page-1)/page*page)
}

// compaction is what a compaction sends.
func (r *rendering) compaction(kept []message) []message {
	switch r.Profile.Compaction {
	case CompactNoMedia:
		r.strip = true
	case CompactTranscript:
		return slices.DeleteFunc(slices.Clone(kept), func(m message) bool { return !m.prompt })
	default: // CompactWhole
	}
	return kept
}
