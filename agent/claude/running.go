package claude

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"mend/session"
)

// sessionsDir is the folder with a file for each running process.
const sessionsDir = "sessions"

// A runningProcess is a process of Claude Code that has a session in its memory.
type runningProcess struct {
	PID       int
	ProcStart string
	SessionID string
	Status    string
	PidDomain string
	UpdatedAt int64
}

func (p *runningProcess) String() string {
	return fmt.Sprintf("Claude Code runs in it as process %d; end it, or use --force and then type /resume %s there", p.PID, p.SessionID)
}

// largestNote is the size in bytes of the largest file of a process that is read.
const largestNote = 1 << 20

// running returns the process that uses a session, nil if there is none. A file that a process
// left behind when it was killed does not count.
func (s *store) running(head session.Head) *runningProcess {
	for _, p := range s.processes() {
		if p.SessionID == head.ID && p.lives() {
			return &p
		}
	}
	return nil
}

// processes reads the files of processes. A file that cannot be read is of none.
func (s *store) processes() (all []runningProcess) {
	root, err := s.lines.OpenRoot()
	if err != nil {
		return nil
	}
	defer root.Close()
	d, err := root.Sub(sessionsDir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, err := d.Names(nil)
	if err != nil {
		return nil
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		pid, err := strconv.Atoi(strings.TrimSuffix(name, ".json"))
		if err != nil || !strings.HasSuffix(name, ".json") {
			continue
		}
		e, err := d.Read(nil, name, largestNote)
		var p runningProcess
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

func (p *runningProcess) wroteRecently() bool {
	age := time.Since(time.UnixMilli(p.UpdatedAt))
	return age < recent && age > -recent
}
