package sqlstore

import (
	"slices"
	"time"
)

// idleTime is how long an unlocked reader is kept for the next use. Opening one takes a millisecond,
// and a few more with a -wal, which most databases have.
const idleTime = 500 * time.Millisecond

// An idleConn is an unlocked reader that is not in use. It holds no lock. It sees the files in the
// given state, and can be used until they change.
type idleConn struct {
	*Conn
	files fileState
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

// takeIdle returns a connection that sees the files in the given state, or nil.
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

func (s *Store) dropIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.idle {
		c.closeReader()
	}
	s.idle = nil
}
