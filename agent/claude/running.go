package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mend/change"
)

// sessionsDir is the folder where each process of 2.1 has a file that names its session.
const sessionsDir = "sessions"

// A registeredProcess is a process that has named its session.
type registeredProcess struct {
	PID       int
	ProcStart string
	SessionID string
	PidDomain string
	UpdatedAt int64
}

// A processCache caches the processes that use a store, so that a scan does not list them for each session.
type processCache struct {
	mu  sync.Mutex
	at  time.Time
	all []registeredProcess
}

// freshFor is how long a scan uses a list of processes.
const freshFor = time.Second

// processes returns the processes that use the store, from a list that is at most maxAge old. A process that has just
// started, or of a version before 2.1, has not recorded its session.
func (s *store) processes(maxAge time.Duration) []registeredProcess {
	c := &s.running
	c.mu.Lock()
	defer c.mu.Unlock()
	if age := time.Since(c.at); age >= maxAge || age < 0 {
		ended := func(p registeredProcess) bool { return slices.Contains(s.except, p.PID) || !p.isRunning() }
		c.at, c.all = time.Now(), slices.DeleteFunc(s.readRegistered(), ended)
	}
	return c.all
}

// whyBusy describes the process that uses a session, or "".
func (s *store) whyBusy(head change.Head, maxAge time.Duration) string {
	if owner, _, ok := subagent(head.ID); ok && owner != "" {
		head.ID = owner
	}
	for _, p := range s.processes(maxAge) {
		if p.SessionID == head.ID {
			return fmt.Sprintf("Claude Code (process %d) has it open", p.PID)
		}
	}
	return ""
}

// largestProcessFile is the greatest size in bytes of a file in [sessionsDir] that is read.
const largestProcessFile = 1 << 20

// readRegistered reads the files in [sessionsDir], including files of ended processes. It skips unreadable files.
func (s *store) readRegistered() (all []registeredProcess) {
	root, err := s.OpenRoot()
	if err != nil {
		return nil
	}
	defer root.Close()
	d, err := root.Sub(sessionsDir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, err := d.Names()
	if err != nil {
		return nil
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		pid, err := strconv.Atoi(strings.TrimSuffix(name, ".json"))
		if err != nil || !strings.HasSuffix(name, ".json") {
			continue
		}
		e, err := d.Read(name, largestProcessFile)
		var p registeredProcess
		if err != nil || !e.IsFile() || json.Unmarshal(e.Data, &p) != nil || p.PID != pid {
			continue
		}
		all = append(all, p)
	}
	return all
}

// recent is how long after its last write a process of another machine or container counts as running: mend cannot
// inspect such a process.
const recent = 10 * time.Minute

func (p *registeredProcess) wroteRecently() bool {
	age := time.Since(time.UnixMilli(p.UpdatedAt))
	return age < recent && age > -recent
}
