package mend

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/adrg/xdg"

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
	name, now := c.cacheFile("scan"), c.opt.Now()
	data := seal(summaryHead, pack(s.fields))
	if old, err := os.ReadFile(name); err != nil || !bytes.Equal(old, data) {
		keep(name, data)
	}
	_ = os.Chtimes(name, now, now)
}

// keep replaces a file of the cache, which others may be reading. It does not wait
// for the disk, and a failure is not reported: what is lost or cut short is found
// out and made anew.
func keep(path string, data []byte) {
	dir, staged := filepath.Dir(path), "."+filepath.Base(path)+"-"
	if os.MkdirAll(dir, 0o700) != nil {
		return
	}
	clearStale(dir, staged)
	f, err := os.CreateTemp(dir, staged+"*") // 0600
	if err != nil {
		return
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}

// clearStale removes what scans that were killed had staged in the folder: nobody
// stages for a minute.
func clearStale(dir, prefix string) {
	entries, _ := os.ReadDir(dir) // what cannot be listed is left
	for _, e := range entries {
		if info, err := e.Info(); strings.HasPrefix(e.Name(), prefix) && err == nil && time.Since(info.ModTime()) > time.Minute {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}

// forgetScan drops what is known of the store and of the session: they are about
// to be written to.
func (c *Client) forgetScan(session string) {
	_ = os.Remove(c.cacheFile("scan"))
	_ = os.Remove(c.cacheFile("inventory"))
	c.dropVerdict(session)
}

// LastScan is the summary of the last whole scan of this store, and whether there
// is one.
func (c *Client) LastScan() (s Summary, ok bool) {
	name := c.cacheFile("scan")
	data, err := os.ReadFile(name)
	if err != nil {
		return s, false
	}
	info, err := os.Stat(name)
	body, rest, ok := unseal(summaryHead, data)
	if err != nil || !ok || len(rest) > 0 || !unpack(body, s.fields) {
		return Summary{}, false
	}
	s.Time = info.ModTime()
	return s, true
}

// cacheFile is the file of what is remembered of this store, by what it is.
func (c *Client) cacheFile(what string) string {
	id := c.store.ID()
	sum := sha256.Sum256([]byte(id.Kind + "\x00" + id.Root))
	dir := c.opt.Cache
	if dir == "" {
		dir = filepath.Join(xdg.CacheHome, "mend")
	}
	return filepath.Join(dir, fmt.Sprintf("%s-%x", what, sum[:8]))
}
