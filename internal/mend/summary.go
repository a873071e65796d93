package mend

import (
	"cmp"
	"slices"
	"time"

	"mend/repair"
)

// A Summary has the results of a scan of a whole store.
type Summary struct {
	Sessions int `json:"sessions"`
	Broken   int `json:"broken"` // including those that could not be examined
	Latent   int `json:"latent"`
	Lost     int `json:"lost"`
	Busy     int `json:"busy"`
	Failed   int `json:"failed"` // could not be examined
	NoFix    int `json:"noFix"`  // broken and examined, but without a fix
	// The number of sessions that their agent shows as archived, does not list, has no folder for, or finds
	// no conversation in.
	Archived  int              `json:"archived"`
	Hidden    int              `json:"hidden"`
	NoFolder  int              `json:"noFolder"`
	NotLoaded int              `json:"notLoaded"`
	TakenOver int              `json:"takenOver"` // a newer generation of the agent has a copy of it, which is not judged
	Damage    string           `json:"damage"`    // what is damaged in the file of the store as a whole; "" for nothing
	Worst     []SummarySession `json:"worst"`     // broken sessions, the newest first, at most 20
	Time      time.Time        `json:"time"`
}

// A SummarySession is a broken session of a [Summary].
type SummarySession struct {
	ID        string `json:"session"`
	Title     string `json:"title"`
	Directory string `json:"directory"`
	Updated   int64  `json:"updated"` // milliseconds since 1970
}

const worstKept = 20

// Add counts a scanned session. One without an id stands for records without a session, and is not counted as a
// session.
func (s *Summary) Add(f *Finding) {
	if f.Session.ID != "" {
		s.Sessions++
	}
	if f.Busy {
		s.Busy++
	}
	if f.Err != nil {
		s.Failed++
	}
	switch f.Shown() {
	case repair.Archived:
		s.Archived++
	case repair.Hidden:
		s.Hidden++
	case repair.NoFolder:
		s.NoFolder++
	case repair.NotLoaded:
		s.NotLoaded++
	case repair.TakenOver:
		s.TakenOver++
	case repair.Listed:
	}
	switch f.Severity() {
	case repair.Broken:
		s.Broken++
		if f.Err == nil && !f.Fixable() {
			s.NoFix++
		}
		if len(s.Worst) < worstKept {
			h := f.Session
			s.Worst = append(s.Worst, SummarySession{h.ID, h.Title, h.Directory, max(h.Updated, h.Created)})
		}
	case repair.Latent:
		s.Latent++
	case repair.Lost:
		s.Lost++
	case repair.Note:
	}
}

// Healthy returns the number of judged sessions with no findings other than notes.
func (s *Summary) Healthy() int {
	return max(0, s.Sessions-s.Broken-s.Latent-s.Lost-s.TakenOver)
}

// Plus returns the sum of the summaries of two stores, with the older time.
func (s Summary) Plus(o Summary) Summary {
	s.Sessions += o.Sessions
	s.Broken += o.Broken
	s.Latent += o.Latent
	s.Lost += o.Lost
	s.Busy += o.Busy
	s.Failed += o.Failed
	s.NoFix += o.NoFix
	s.Archived += o.Archived
	s.Hidden += o.Hidden
	s.NoFolder += o.NoFolder
	s.NotLoaded += o.NotLoaded
	s.TakenOver += o.TakenOver
	s.Damage = cmp.Or(s.Damage, o.Damage)
	s.Worst = slices.Concat(s.Worst, o.Worst)
	slices.SortStableFunc(s.Worst, func(a, b SummarySession) int { return cmp.Compare(b.Updated, a.Updated) })
	s.Worst = s.Worst[:min(len(s.Worst), worstKept)]
	if o.Time.Before(s.Time) {
		s.Time = o.Time
	}
	return s
}
