package live

import "mend/repair"

// An unverifiedError means that mend was not verified with a version of the agent. Why is the reason not to treat a
// newer version like the newest verified one; "" for an older version.
type unverifiedError struct{ Version, Why string }

func (e unverifiedError) Error() string {
	text := "mend was not verified with version " + e.Version
	if e.Why != "" {
		text += ": " + e.Why
	}
	return text
}

// checkVersion returns an [unverifiedError] if mend must not repair sessions before requests of this version of the
// agent. A newer version is treated like the newest verified one until the provider refuses a request that mend had
// repaired. newer is the version if it is a newer one, else "".
func (h *Hook) checkVersion(version string) (newer string, err error) {
	v := h.store.Version(version)
	if v.Verified || v.Name == "" { // without a version the session is judged by its records alone
		return "", nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if why := h.contradictions[v.Name]; why != "" || !v.Newer {
		return "", unverifiedError{v.Name, why}
	}
	return v.Name, nil
}

// noteRefusal is called when a request was refused because of stored data. If mend had repaired the session before that
// request, the version counts as unknown from now on.
func (h *Hook) noteRefusal(id string, e repair.APIError) {
	h.mu.Lock()
	defer h.mu.Unlock()
	version, ok := h.trials[id]
	delete(h.trials, id)
	if !ok || repair.OnlyProviderSees(e.Class) {
		return
	}
	h.contradictions[version] = "a request that mend had repaired was refused: " + string(e.Class)
	h.opt.Log.Warn("not checked before requests from now on", "version", version, "why", h.contradictions[version])
}

// endTrial ends the trial of a session: one of its requests was answered.
func (h *Hook) endTrial(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.trials, id)
}
