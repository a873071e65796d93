package render

import (
	"slices"

	"mend/request"
	"mend/session"
)

// A rendering is a request in the making.
type rendering struct {
	Settings
	traits trait // of the profile
	asked  trait // those that were asked for
	fatal  []Fatal
	told   map[Fatal]bool // those in fatal
	strip  bool           // files become a line of text
	claude bool           // call ids are made fit
	next   *message       // the new prompt; nil for none
	unseen session.Ref    // see [Request.Unseen]
}

func newRendering(set Settings) *rendering {
	return &rendering{Settings: set, traits: set.Profile.traits()}
}

// die notes what ends the agent, each fault once.
func (r *rendering) die(faults ...Fatal) {
	for _, f := range faults {
		if !r.told[f] {
			if r.told == nil {
				r.told = map[Fatal]bool{}
			}
			r.told[f] = true
			r.fatal = append(r.fatal, f)
		}
	}
}

// prompt adds the new prompt, which makes a revert final.
func (r *rendering) prompt(s *session.Session, all []*message) []*message {
	left, reverted := revert(s, all, r.Profile.Revert)
	if reverted { // for which all of the session is read
		for _, m := range all {
			r.die(m.broken...)
		}
	}
	next := newPrompt(s, r.Now)
	r.next = next
	at := len(left)
	for at > 0 && r.Profile.compare(left[at-1], next) > 0 {
		at--
	}
	return slices.Insert(slices.Clip(left), at, next)
}

// lastModel is the model that the agent asks if the user names none: that of
// the newest prompt. Where no prompt says, the agent takes the one that is set,
// which most likely is the one that answered last. The zero Model means that the
// session does not say. The agent asks for the model of that prompt by both of its
// names, and ends where one of them is missing.
func (r *rendering) lastModel(s *session.Session, all []*message) request.Model {
	if r.Profile.SessionModel {
		model := column(s, "model")
		provider, _ := model.Get("providerID").Text()
		if id, ok := model.Get("id").Text(); ok {
			return request.Model{ProviderID: provider, ModelID: id}
		}
	}
	for _, m := range slices.Backward(all) {
		model := m.body.Get("model")
		if m.role() != session.RoleUser || !model.Truthy() {
			continue
		}
		provider, _ := model.Get("providerID").Text()
		id, _ := model.Get("modelID").Text()
		if missing := r.unnamed(provider, id); missing != "" {
			r.die(field(m.ref, "%s is missing, and the next prompt asks the same model", missing))
		}
		return request.Model{ProviderID: provider, ModelID: id}
	}
	for _, m := range slices.Backward(all) {
		provider, _ := m.body.Get("providerID").Text()
		if id, ok := m.body.Get("modelID").Text(); ok && m.role() == session.RoleAssistant {
			return request.Model{ProviderID: provider, ModelID: id}
		}
	}
	return request.Model{}
}

// unnamed is the member that the next prompt lacks to ask the model of the newest
// one, "" if it lacks none: a session as it stands is asked nothing.
func (r *rendering) unnamed(provider, id string) string {
	switch {
	case r.Standing:
		return ""
	case provider == "":
		return "model.providerID"
	case id == "":
		return "model.modelID"
	}
	return ""
}

// history is what of the messages goes into the request. It notes the records
// that the agent dies on before it makes one.
func (r *rendering) history(all []*message) []*message {
	kept, reached := history(all, r.Profile)
	for _, m := range all[len(all)-r.window(len(all), reached):] {
		r.die(m.broken...)
		r.die(m.faulty...)
		if r.Profile.Times && !m.prompt && len(m.broken)+len(m.faulty) == 0 && m.body.Get("time").Nullish() {
			r.die(field(m.ref, "time is missing"))
		}
	}
	if r.Standing {
		return kept
	}
	l := latest(kept, r.Profile)
	if l.answered(r.Profile) {
		r.die(Fatal{FatalClock, l.whyAnswered(), l.assistant.ref})
	}
	if a := l.assistant; a != nil && !r.Profile.newer(r.next, a) {
		r.unseen = a.ref
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
func (r *rendering) compaction(kept []*message) []*message {
	switch r.Profile.Compaction {
	case CompactNoMedia:
		r.strip = true
	case CompactTranscript:
		return slices.DeleteFunc(slices.Clone(kept), func(m *message) bool { return !m.prompt })
	default: // CompactWhole
	}
	return kept
}
