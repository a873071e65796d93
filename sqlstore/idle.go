package sqlstore

import (
	"slices"
	"time"
)

// idleTime is how long an unlocked reader is kept for the next use. Opening one takes about two milliseconds, and more
// with a -wal: without this a scan of 1,500 small sessions takes three times as long (2026-12-01).
const idleTime = 500 * time.Millisecond

// An idleConn is an unlocked reader that is not in use. It holds no lock. It can be used until the files change.
type idleConn struct {
	*Conn
	files fileState // when its transaction began
}

// putIdle keeps an unlocked reader for a while.
func (s *Store) putIdle(c *Conn, files fileState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, idleConn{c, files})
	if s.idleEnd == nil {
		s.idleEnd = time.AfterFunc(idleTime, s.dropIdle)
	} else {
		s.idleEnd.Reset(idleTime)
	}
}

// takeIdle returns a connection that sees the files in the given state, nil for none. It closes those that do not.
func (s *Store) takeIdle(files fileState) *Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, last := range slices.Backward(s.idle) {
		s.idle = s.idle[:i]
		if last.files == files {
			return last.Conn
		}
		last.closeReader()
	}
	return nil
}

// dropIdle closes all idle connections.
func (s *Store) dropIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.idle {
		c.closeReader()
	}
	s.idle = nil
}
