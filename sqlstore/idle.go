package sqlstore

import "time"

// idleTime is how long a quiet connection is kept for the next reader. To open
// one costs a millisecond, and a few more where there is a -wal to go through, as
// there is beside most databases.
const idleTime = 500 * time.Millisecond

// An idleConn is a quiet connection that nobody uses. It holds no lock; it sees
// the files as they were in that shape, and is good for as long as they are.
type idleConn struct {
	*conn
	files fileState
}

// putIdle keeps a quiet connection for a while.
func (s *Store) putIdle(c *conn, files fileState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, idleConn{c, files})
	if s.idleEnd == nil {
		s.idleEnd = time.AfterFunc(idleTime, s.dropIdle)
	} else {
		s.idleEnd.Reset(idleTime)
	}
}

// takeIdle is a connection that saw the files in that shape, nil if there is
// none.
func (s *Store) takeIdle(files fileState) *conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.idle) > 0 {
		last := s.idle[len(s.idle)-1]
		s.idle = s.idle[:len(s.idle)-1]
		if last.files == files {
			return last.conn
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
