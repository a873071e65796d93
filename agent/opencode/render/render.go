package render

import (
	"slices"

	"mend/request"
	"mend/session"
)

// A rendering is a request in the making.
type builder struct {
	Settings
	traits     trait // of the profile
	used       trait // those that were asked for
	failures   []Failure
	reported   map[Failure]bool // those in fatal
	stripFiles bool             // files become a line of text
	claude     bool             // call ids are made fit
	newPrompt  *message         // the new prompt; nil for none
	unseen     session.Ref      // see [Request.Unseen]
}

func newBuilder(set Settings) *builder {
	return &builder{Settings: set, traits: set.Profile.traits()}
}

// die notes what ends the agent, each fault once.
func (r *builder) fail(faults ...Failure) {
	for _, f := range faults {
		if !r.reported[f] {
			if r.reported == nil {
				r.reported = map[Failure]bool{}
			}
			r.reported[f] = true
			r.failures = append(r.failures, f)
		}
	}
}

// prompt adds the new prompt, which makes a revert final.
func (r *builder) addPrompt(s *session.Session, all []*message) []*message {
	left, reverted := applyRevert(s, all, r.Profile.Revert)
	if reverted { // for which all of the session is read
		for _, m := range all {
			r.fail(m.readFailures...)
		}
	}
	next := newPrompt(s, r.Now)
	r.newPrompt = next
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
func (r *builder) nextModel(s *session.Session, all []*message) request.Model {
	if r.Profile.SessionModel {
		model := infoField(s, "model")
		provider, _ := model.Get("providerID").Text()
		if id, ok := model.Get("id").Text(); ok {
			return request.Model{ProviderID: provider, ModelID: id}
		}
	}
	for _, m := range slices.Backward(all) {
		model := m.body.Get("model")
		if m.role != session.RoleUser || !model.Truthy() {
			continue
		}
		provider, _ := model.Get("providerID").Text()
		id, _ := model.Get("modelID").Text()
		if missing := r.missingModelField(provider, id); missing != "" {
			r.fail(fieldFailure(m.ref, "%s is missing, and the next prompt asks the same model", missing))
		}
		return request.Model{ProviderID: provider, ModelID: id}
	}
	for _, m := range slices.Backward(all) {
		provider, _ := m.body.Get("providerID").Text()
		if id, ok := m.body.Get("modelID").Text(); ok && m.role == session.RoleAssistant {
			return request.Model{ProviderID: provider, ModelID: id}
		}
	}
	return request.Model{}
}

// unnamed is the member that the next prompt lacks to ask the model of the newest
// one, "" if it lacks none: a session as it stands is asked nothing.
func (r *builder) missingModelField(provider, id string) string {
	switch {
	case r.NoPrompt:
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
func (r *builder) selectMessages(all []*message) []*message {
	kept, reached := keptMessages(all, r.Profile)
	for _, m := range all[len(all)-r.pageMessages(len(all), reached):] {
		r.fail(m.readFailures...)
		r.fail(m.useFailures...)
		if r.Profile.NeedsTime && !m.isPrompt && len(m.readFailures)+len(m.useFailures) == 0 && m.body.Get("time").Nullish() {
			r.fail(fieldFailure(m.ref, "time is missing"))
		}
	}
	if r.NoPrompt {
		return kept
	}
	l := newestOf(kept, r.Profile)
	if l.answered(r.Profile) {
		r.fail(Failure{FailureClock, l.answeredReason(), l.assistant.ref})
	}
	if a := l.assistant; a != nil && !r.Profile.newer(r.newPrompt, a) {
		r.unseen = a.ref
	}
	if l.compacting(kept, r.Profile) {
		return r.compact(kept)
	}
	if missing := l.missingTokens(r.Profile); missing != "" {
		r.fail(fieldFailure(l.finished.ref, "%s is missing", missing))
	}
	return kept
}

// window is how many of n messages the agent reads when it looks at reached.
func (r *builder) pageMessages(n, reached int) int {
	page := r.Profile.Page
	if page == 0 {
		return n
	}
	return min(n, (reached+page-1)/page*page)
}

// compaction is what a compaction sends.
func (r *builder) compact(kept []*message) []*message {
	switch r.Profile.Compaction {
	case CompactNoMedia:
		r.stripFiles = true
	case CompactTranscript:
		return slices.DeleteFunc(slices.Clone(kept), func(m *message) bool { return !m.isPrompt })
	default: // CompactWhole
	}
	return kept
}
