package mend

import (
	"bytes"
	"time"

	"mend/repair"
)

// A Summary is what a scan of a whole store found.
type Summary struct {
	Sessions int              `json:"sessions"`
	Broken   int              `json:"broken"`
	Latent   int              `json:"latent"`
	Busy     int              `json:"busy"`
	Failed   int              `json:"failed"` // could not be examined
	Worst    []SummarySession `json:"worst"`  // broken sessions, the newest first, at most worstKept
	Time     time.Time        `json:"time"`
}

// A SummarySession is a broken session of a [Summary].
type SummarySession struct {
	ID        string `json:"session"`
	Title     string `json:"title"`
	Directory string `json:"directory"`
	Updated   int64  `json:"updated"` // milliseconds since 1970
}

const worstKept = 20

// Add counts a finding.
func (s *Summary) Add(f Finding) {
	if f.Session.ID != "" { // else it stands for what is in the store and belongs to no session
		s.Sessions++
	}
	if f.Busy {
		s.Busy++
	}
	switch severity := f.Severity(); {
	case f.Err != nil:
		s.Failed++
	case severity == repair.Broken:
		s.Broken++
		if len(s.Worst) < worstKept {
			h := f.Session
			s.Worst = append(s.Worst, SummarySession{h.ID, h.Title, h.Directory, max(h.Updated, h.Created)})
		}
	case severity == repair.Latent:
		s.Latent++
	}
}

// Healthy is the number of sessions with nothing but notes.
func (s *Summary) Healthy() int {
	return max(0, s.Sessions-s.Broken-s.Latent-s.Failed)
}

const summaryHead = "mend scan 2 %d %x\n"

// fields is all but the time, which is that of the file.
func (s *Summary) fields(p *packing) {
	for _, n := range [...]*int{&s.Sessions, &s.Broken, &s.Latent, &s.Busy, &s.Failed} {
		number(p, n)
	}
	list(p, &s.Worst, func(p *packing, w *SummarySession) {
		text(p, &w.ID)
		text(p, &w.Title)
		text(p, &w.Directory)
		number(p, &w.Updated)
	})
}

// Remember keeps the summary of a whole scan for [Client.LastScan], in the user's
// cache. It can be lost at any time, so a failure to write it is not reported.
func (c *Client) Remember(s Summary) {
	file := c.cacheFile("scan")
	data := seal(summaryHead, pack(s.fields))
	old, _, err := file.read()
	if err != nil || !bytes.Equal(old, data) {
		err = file.replace(data)
	}
	if err == nil {
		file.touch(c.opt.Now())
	}
}

// forgetScan drops what is known of the store and of the session: they are about
// to be written to.
func (c *Client) forgetScan(session string) {
	c.cacheFile("scan").remove()
	c.cacheFile("inventory").remove()
	c.dropVerdict(session)
}

// LastScan is the summary of the last whole scan of this store, and whether there
// is one.
func (c *Client) LastScan() (s Summary, ok bool) {
	data, at, err := c.cacheFile("scan").read()
	if err != nil {
		return s, false
	}
	body, rest, ok := unseal(summaryHead, data)
	if !ok || len(rest) > 0 || !unpack(body, s.fields) {
		return Summary{}, false
	}
	s.Time = at
	return s, true
}
