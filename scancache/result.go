package scancache

import (
	"cmp"
	"crypto/sha256"
	"time"

	"mend/repair"
	"mend/session"
)

// A Result is what a scan found in one session, and how long that is valid.
type Result struct {
	// Stamp is the stamp of the session's records. A result with the zero stamp is
	// not kept.
	Stamp [sha256.Size]byte
	// From and Until are the times, in milliseconds since 1970, between which the result
	// is valid: outside them the next prompt has another place among the messages.
	From  int64
	Until int64
	Idle  bool // valid only while no process has the store open

	Settings string // that hold only for the session; other ones make the result invalid
	Provider string // that the session was diagnosed for

	Thinking  bool // diagnosed for a model that is asked to think
	Diagnoses []repair.Diagnosis
}

func (r *Result) validAt(t time.Time) bool {
	ms := t.UnixMilli()
	return r.From <= ms && ms < r.Until
}

func (r *Result) sameState(o *Result) bool {
	return r.Stamp == o.Stamp && r.From == o.From && r.Until == o.Until && r.Settings == o.Settings && r.Provider == o.Provider
}

// A sessionKey identifies a session. In a tree two projects may have a session of the
// same id.
type sessionKey struct{ folder, project, id string }

func (k sessionKey) compare(o sessionKey) int {
	return cmp.Or(cmp.Compare(k.folder, o.folder), cmp.Compare(k.project, o.project), cmp.Compare(k.id, o.id))
}

func keyOf(s *session.Head) sessionKey { return sessionKey{s.Ref.Project, s.Project, s.ID} }
