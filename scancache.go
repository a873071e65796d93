package mend

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"mend/agent"
	"mend/internal/userdir"
	"mend/scancache"
	"mend/session"
)

// A Summary is what a scan of a whole store found.
type Summary = scancache.Summary

// LastScan returns the summary of the last [Client.ScanAll] of this store; nil if there is none,
// or if mend has changed the store since.
func (c *Client) LastScan() *Summary { return c.cache().Summary() }

// lookAt is the size in bytes of the largest file that [Client.Look] checks as a whole.
const lookAt = 100 << 20

// Look is [Client.ScanAll] with its summary alone, as far as it gets within a limited time, which
// is enough where little has changed since the last scan. The summary is nil if that was not
// enough. The error is that of listing the sessions.
func (c *Client) Look(ctx context.Context, most time.Duration) (*Summary, error) {
	limited, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	cached := c.Cached()
	heads, err := cached.Sessions(limited)
	var s Summary
	if err == nil {
		most := int64(lookAt)
		if cached.lists.Damage() != "" {
			most = 0
		}
		_ = cached.CheckFile(limited, most) // the damage is noted
		for f := range cached.ScanAll(limited, heads) {
			s.Add(f.Session, f.Severity(), f.Fixable(), f.Busy, f.Err)
		}
	}
	if limited.Err() != nil {
		return nil, ctx.Err()
	}
	s.Time, s.Damage = c.opt.Now(), cached.lists.Damage()
	return &s, err
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
	return c.cache().NewScan(scanStore{c.store}, c.opt.Version+" "+build(), c.clock)
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
	settings := fmt.Sprintf("agent %s, thinking %s", c.AgentVersion(), thinking)
	if c.opt.Provider != "" {
		settings += ", provider " + c.opt.Provider
	}
	if c.opt.AllSettings {
		settings += ", all settings"
	}
	return settings + ", " + c.store.Settings()
}

// A scanStore is a store as a scan sees it.
type scanStore struct{ agent.Store }

// List returns the sessions, the newest first.
func (s scanStore) List(ctx context.Context) ([]session.Head, error) {
	heads, err := s.Store.List(ctx)
	slices.SortStableFunc(heads, func(a, b session.Head) int { return cmp.Compare(b.Updated, a.Updated) })
	return heads, err
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
