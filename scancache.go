package mend

import (
	"fmt"
	"os"

	"mend/internal/userdir"
	"mend/scancache"
)

// A Summary is what a scan of a whole store found.
type Summary = scancache.Summary

// LastScan returns the summary of the last [Client.ScanAll] of this store, and whether
// there is one.
func (c *Client) LastScan() (s Summary, ok bool) {
	if last := c.cache().Summary(); last != nil {
		return *last, true
	}
	return Summary{}, false
}

// Cached returns a copy of the client that is for scans alone: as long as the store has
// not changed since an earlier scan, it lists sessions and orphans from the cache.
// Sessions that are to be changed must be listed by the client itself.
func (c *Client) Cached() *Client {
	copied := *c
	copied.lists = c.newScan()
	return &copied
}

func (c *Client) newScan() *scancache.Scan {
	return c.cache().NewScan(c.store, c.opt.Version+" "+build(), c.clock)
}

// cache returns the cache of the store.
func (c *Client) cache() *scancache.Cache {
	dir := c.opt.Cache
	if dir == "" {
		dir, _ = userdir.Cache() // "" on an error: no cache
	}
	id := c.store.ID()
	return scancache.New(dir, id.Kind, id.Root, c.opt.Note)
}

// scanSettings identifies what a finding depends on besides the records and the build.
func (c *Client) scanSettings() string {
	thinking := "as shown"
	if c.opt.Thinking != nil {
		thinking = fmt.Sprint(*c.opt.Thinking)
	}
	return fmt.Sprintf("agent %s, thinking %s, models %s", c.opt.AgentVersion, thinking, c.models.state())
}

// build identifies the build of the program by the size and the time of its file, ""
// if they are not known.
func build() string {
	program, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(program)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%d %d", info.Size(), info.ModTime().UnixNano())
}
