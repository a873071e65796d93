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

// sessionsDir is the folder in which each process of 2.1 has a file that names its session.
const sessionsDir = "sessions"

// A registeredProcess is a process that says which session it uses.
type registeredProcess struct {
	PID       int
	ProcStart string
	SessionID string
	PidDomain string
	UpdatedAt int64
}

// An unregisteredProcess is a process that runs and does not say which session it uses: one that has
// just started, or one before 2.1.
type unregisteredProcess struct {
	pid    int
	folder string // of its sessions, below projects
	args   []string
}

// A snapshot has the processes of Claude Code that use a store at one moment.
type snapshot struct {
	at           time.Time
	registered   []registeredProcess
	unregistered []unregisteredProcess
}

// A snapshotCache keeps a snapshot, so that a scan does not list the processes for each session.
type snapshotCache struct {
	mu       sync.Mutex
	last     snapshot
	ofChange bool // it was made for a change
}

const (
	freshFor  = time.Second            // how long a scan uses a snapshot
	changeFor = 100 * time.Millisecond // how long changes that follow one another look for new processes once
)

// beforeChange is the age of a snapshot for a change: a new one. To list all processes is slow, so changes that follow one another share
// those that do not say which session they use.
const beforeChange = -1

// processes returns a snapshot that is not older than maxAge.
func (s *store) processes(maxAge time.Duration) snapshot {
	s.snapshots.mu.Lock()
	defer s.snapshots.mu.Unlock()
	last := &s.snapshots.last
	age := time.Since(last.at)
	if age <= maxAge && age >= 0 && !last.at.IsZero() {
		return *last
	}
	registered := slices.DeleteFunc(s.readRegistered(), func(p registeredProcess) bool { return slices.Contains(s.except, p.PID) || !p.lives() })
	if change := maxAge == beforeChange; change && s.snapshots.ofChange && age <= changeFor && age >= 0 {
		last.registered = registered
	} else {
		known := slices.Clone(s.except)
		for _, p := range registered {
			known = append(known, p.PID)
		}
		*last = snapshot{at: time.Now(), registered: registered, unregistered: s.listUnregistered(known)}
		s.snapshots.ofChange = change
	}
	return *last
}

// whyBusy returns which process uses a session, "" if there is none.
func (s *store) whyBusy(head change.Head, maxAge time.Duration) string {
	if owner, _, ok := subagent(head.ID); ok && owner != "" {
		head.ID, head.Ref.Session = owner, owner
	}
	now := s.processes(maxAge)
	for _, p := range now.registered {
		if p.SessionID == head.ID {
			return fmt.Sprintf("Claude Code (process %d) has it open", p.PID)
		}
	}
	for _, p := range now.unregistered {
		if p.mayUse(head) {
			return fmt.Sprintf("Claude Code (process %d) runs in its folder and may have it open", p.pid)
		}
	}
	return ""
}

// mayUse reports whether an unregistered process may use a session: the session is of its directory, or
// the process names it. Any process of 2.1 is so in its first moment.
func (p unregisteredProcess) mayUse(head change.Head) bool {
	return projectID(p.folder) == head.Project || slices.Contains(p.args, head.ID)
}

// largestProcessFile is the size in bytes of the largest file in [sessionsDir] that is read.
const largestProcessFile = 1 << 20

// readRegistered reads the files in [sessionsDir], also of processes that have ended. It leaves out files
// that cannot be read.
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
		e, err := d.Read(nil, name, largestProcessFile)
		var p registeredProcess
		if err != nil || !e.IsFile() || json.Unmarshal(e.Data, &p) != nil || p.PID != pid {
			continue
		}
		all = append(all, p)
	}
	return all
}

// recent is how long a process of another machine or container, which cannot be looked at,
// counts as running after it wrote last.
const recent = 10 * time.Minute

func (p *registeredProcess) wroteRecently() bool {
	age := time.Since(time.UnixMilli(p.UpdatedAt))
	return age < recent && age > -recent
}
