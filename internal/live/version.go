package live

import (
	"context"
	"encoding/json"
	"fmt"

	"mend/change"
	"mend/repair"
)

// A VersionLog keeps what was seen of versions of the agent that are newer than those that mend
// was verified with.
type VersionLog interface {
	// Contradiction returns what showed that mend does not know a version; "" for nothing.
	Contradiction(version string) string
	// Record records whether the requests of a version are those that mend expects: "" if
	// they are, else what contradicts that. A contradiction stays.
	Record(version, contradiction string) error
}

// checkVersion returns an error if nothing must be repaired before a request of this version of
// the agent. A newer one than those that mend was verified with counts as the newest of them
// until something contradicts that; it is returned.
func (h *Hook) checkVersion(version string) (newer string, err error) {
	version, verified, isNewer := h.store.KnowsVersion(version)
	if verified {
		return "", nil
	}
	why := ""
	if isNewer && h.opt.Versions != nil {
		if why = h.opt.Versions.Contradiction(version); why == "" {
			h.sayVersion(version, "")
			return version, nil
		}
		why = ": " + why
	}
	h.sayVersion(version, "mend was not verified with version "+version+why)
	return "", fmt.Errorf("%w: %q%s", ErrUnverified, version, why)
}

// sayVersion says once for each version that mend was not verified with it, and why nothing is
// repaired before its requests; "" if it counts as the newest verified one.
func (h *Hook) sayVersion(version, why string) {
	h.mu.Lock()
	key := version + "\x00" + why
	_, known := h.said.Get(key)
	h.said.Set(key, struct{}{})
	h.mu.Unlock()
	switch {
	case known:
		return
	case why == "":
		h.opt.Log.Info("a version that was not verified counts as the newest that was", "version", version)
	default:
		h.opt.Log.Warn("not checked before requests", "version", version, "why", why)
	}
	if h.opt.Version != nil {
		h.opt.Version(version, why)
	}
}

// contradict records what shows that mend does not know a version, and says so.
func (h *Hook) contradict(version, why string) {
	if err := h.opt.Versions.Record(version, why); err != nil {
		h.opt.Log.Warn("keeping what is known of a version", "error", err)
	}
	h.sayVersion(version, "mend was not verified with version "+version+": "+why)
}

// noteRefusal is called when a request of a session was refused because of what is stored. If
// mend had repaired the session before that request, mend does not know the version.
func (h *Hook) noteRefusal(id string, e repair.APIError) {
	h.mu.Lock()
	version, ok := h.trials.Get(id)
	h.trials.Remove(id)
	h.mu.Unlock()
	if ok && !repair.OnlyProviderSees(e.Class) {
		h.contradict(version, fmt.Sprintf("a request that mend had repaired was refused: %s", e.Class))
	}
}

// endTrial is called when a request of a session was answered.
func (h *Hook) endTrial(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trials.Remove(id)
}

// IsRequest reports whether an event is the report of a request, for [Hook.CompareRequest].
func IsRequest(e Event) bool { return e.Type == eventRequest }

// CompareRequest compares a request that the agent reports with the one that mend expects, if the
// version of the agent is newer than those that mend was verified with.
func (h *Hook) CompareRequest(ctx context.Context, e Event) {
	var r struct {
		SessionID string               `json:"sessionID"`
		Version   string               `json:"version"`
		Messages  []repair.SentMessage `json:"messages"`
	}
	err := json.Unmarshal(e.Properties, &r)
	if err == nil {
		err = change.ValidateID(r.SessionID)
	}
	if err != nil {
		h.opt.Log.Warn("an event that cannot be read", "error", err)
		return
	}
	version, verified, newer := h.store.KnowsVersion(r.Version)
	if verified || !newer || h.opt.Versions == nil || h.opt.Versions.Contradiction(version) != "" {
		return
	}
	difference, err := h.store.CompareRequest(ctx, r.SessionID, r.Messages)
	switch {
	case err != nil:
		h.opt.Log.Warn("comparing a request", "session", r.SessionID, "error", err)
	case difference != "":
		h.contradict(version, difference)
	default:
		if err := h.opt.Versions.Record(version, ""); err != nil {
			h.opt.Log.Warn("keeping what is known of a version", "error", err)
		}
		h.opt.Log.Info("the request is as mend expects it", "version", version)
	}
}
