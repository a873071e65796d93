package render

import (
	"slices"

	"mend/agent/opencode/record"
	"mend/change"
	"mend/internal/request"
)

// A builder builds one request.
type builder struct {
	Settings
	failures   []Failure
	reported   map[Failure]bool // the failures, to record each once
	stripFiles bool             // a line of text replaces each file
	target     Target
	api        API
	claude     bool // the model is Claude: call ids are sanitized
	newPrompt  *message
	unseen     change.Ref // see [Request.Unseen]
	late       change.Ref // see [Request.Late]
	compacting bool       // the request is for a compaction
	compacted  bool       // a pending compaction counts as done; see [Request.Next]
}

// isSince reports whether the version is that release or a later one.
func (r *builder) isSince(first release) bool { return r.Profile.isSince(first) }

// fail records failures, each once.
func (r *builder) fail(failures ...Failure) {
	for _, f := range failures {
		if !r.reported[f] {
			if r.reported == nil {
				r.reported = map[Failure]bool{}
			}
			r.reported[f] = true
			r.failures = append(r.failures, f)
		}
	}
}

// addPrompt inserts the new prompt into the messages, which makes a revert final.
func (r *builder) addPrompt(s *record.Session, all []*message) []*message {
	left, reverted := applyRevert(s, all, r.Profile)
	if reverted { // the agent reads the whole session to revert it
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

// nextModel returns the model that the agent uses if the user selects none: since v117 the model in the session's
// record, else the model of the newest prompt that names one. If none does, the agent uses its configured model, which
// mend does not know; nextModel then returns the model of the newest assistant message. The zero Model means that the
// session names none. If part of the model's name is missing, the new prompt fails.
func (r *builder) nextModel(s *record.Session, all []*message) request.Model {
	if r.isSince(v117) {
		model, _ := s.Field("model")
		provider := model.TextAt("providerID")
		if id, ok := model.Get("id").Text(); ok {
			return request.Model{ProviderID: provider, ModelID: id}
		}
	}
	for _, m := range slices.Backward(all) {
		model := m.JSON.Get("model")
		if m.Role != change.RoleUser || !model.Truthy() {
			continue
		}
		provider := model.TextAt("providerID")
		id := model.TextAt("modelID")
		if missing := missingModelField(provider, id); missing != "" {
			r.fail(fieldFailure(m.Ref, "%s is missing, and the next prompt uses the same model", missing))
		}
		return request.Model{ProviderID: provider, ModelID: id}
	}
	for _, m := range slices.Backward(all) {
		provider := m.JSON.TextAt("providerID")
		if id, ok := m.JSON.Get("modelID").Text(); ok && m.Role == change.RoleAssistant {
			return request.Model{ProviderID: provider, ModelID: id}
		}
	}
	return request.Model{}
}

// missingModelField returns the missing field of the model that makes a new prompt fail, or "".
func missingModelField(provider, id string) string {
	switch {
	case provider == "":
		return "model.providerID"
	case id == "":
		return "model.modelID"
	}
	return ""
}

// selectMessages returns the messages that the request is built from. It records why the agent fails before it builds
// one.
func (r *builder) selectMessages(all []*message) []*message {
	kept, reached := keptMessages(all, r.Profile)
	for _, m := range all[len(all)-r.pageMessages(len(all), reached):] {
		r.fail(m.readFailures...)
		r.fail(m.useFailures...)
		needsTime := !r.Profile.IsKilo() || m.Role == change.RoleUser || m.Role == change.RoleAssistant
		if r.isSince(v11815) && needsTime && !m.isPrompt && len(m.readFailures)+len(m.useFailures) == 0 && m.timeless {
			r.fail(fieldFailure(m.Ref, "time is missing"))
		}
	}
	l := newestOf(kept, r.Profile)
	if l.isAnswered(r.Profile) {
		r.fail(Failure{FailureClock, l.answeredReason(), l.assistant.Ref, nil})
	} else if l.user != r.newPrompt {
		r.late = l.user.Ref
	}
	if a := l.assistant; a != nil && !r.Profile.newer(r.newPrompt, a) {
		r.unseen = a.Ref
	}
	if l.hasPendingCompaction(kept, r.Profile) {
		if r.compacted {
			return kept
		}
		r.compacting = true
		return r.compact(kept)
	}
	if missing := l.missingTokens(r.Profile); missing != "" {
		r.fail(fieldFailure(l.finished.Ref, "%s is missing", missing))
	}
	return kept
}

// pageMessages returns how many of n messages the agent reads to get the newest reached messages: it reads whole
// pages.
func (r *builder) pageMessages(n, reached int) int {
	page := r.Profile.page()
	if page == 0 {
		return n
	}
	return min(n, (reached+page-1)/page*page)
}

// compact returns the messages that the request for a compaction is built from.
func (r *builder) compact(kept []*message) []*message {
	if r.isSince(v11815) {
		return slices.DeleteFunc(slices.Clone(kept), func(m *message) bool { return !m.isPrompt })
	}
	r.stripFiles = r.isSince(v12)
	return kept
}
