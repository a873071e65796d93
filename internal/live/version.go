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

// An UnverifiedError says that mend was not verified with a version of the agent, and why it does not count as the
// newest of those that it was verified with, "" if it is older.
type UnverifiedError struct{ Version, Why string }

func (e UnverifiedError) Error() string {
	text := "mend was not verified with version " + e.Version
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// CheckVersion returns an [UnverifiedError] if nothing must be repaired unasked with a version of the agent. A newer
// one than those that mend was verified with counts as the newest of them until something contradicts that, which log
// has kept.
func CheckVersion(log VersionLog, version string, verified, newer bool) error {
	if verified {
		return nil
	}
	why := ""
	if newer && log != nil {
		if why = log.Contradiction(version); why == "" {
			return nil
		}
	}
	return UnverifiedError{version, why}
}

// checkVersion is [CheckVersion] before a request. It returns the version if that is a newer one.
func (h *Hook) checkVersion(version string) (newer string, err error) {
	version, verified, isNewer := h.store.KnowsVersion(version)
	if err := CheckVersion(h.opt.Versions, version, verified, isNewer); err != nil {
		h.sayVersion(version, err.Error())
		return "", err
	}
	if verified {
		return "", nil
	}
	h.sayVersion(version, "")
	return version, nil
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
	h.sayVersion(version, UnverifiedError{version, why}.Error())
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
