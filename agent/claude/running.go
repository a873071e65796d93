package claude

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mend/agent/claude/transcript"
	"mend/session"
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

// An unregisteredProcess is a process that runs and does not say which session it uses, as all
// before 2.1.
type unregisteredProcess struct {
	pid     int
	folder  string // of its sessions, below projects
	started time.Time
	args    []string
	open    []string // paths of files
}

// A snapshot has the processes of Claude Code that use a store at one moment.
type snapshot struct {
	at           time.Time
	registered   []registeredProcess
	unregistered []unregisteredProcess
	listed       bool // the system lists processes, with the files that they use
}

// A snapshotCache keeps a snapshot, so that a scan does not list the processes for each session.
type snapshotCache struct {
	mu   sync.Mutex
	last snapshot
}

// freshFor is how long a scan uses a snapshot. Before a change a new one is made.
const freshFor = time.Second

// processes returns a snapshot that is not older than maxAge.
func (s *store) processes(maxAge time.Duration) snapshot {
	s.snapshots.mu.Lock()
	defer s.snapshots.mu.Unlock()
	if age := time.Since(s.snapshots.last.at); age > maxAge || age < 0 || s.snapshots.last.at.IsZero() {
		n := snapshot{at: time.Now(), registered: slices.DeleteFunc(s.readRegistered(), func(p registeredProcess) bool { return !p.lives() })}
		known := map[int]bool{}
		for _, p := range n.registered {
			known[p.PID] = true
		}
		for _, pid := range s.except {
			known[pid] = true
		}
		n.registered = slices.DeleteFunc(n.registered, func(p registeredProcess) bool { return slices.Contains(s.except, p.PID) })
		n.unregistered, n.listed = s.listUnregistered(known)
		s.snapshots.last = n
	}
	return s.snapshots.last
}

// whyBusy returns which process uses a session, "" if there is none.
func (s *store) whyBusy(head session.Head, maxAge time.Duration) string {
	if owner, _, ok := subagent(head.ID); ok && owner != "" {
		head.ID, head.Ref.Session = owner, owner
	}
	now := s.processes(maxAge)
	for _, p := range now.registered {
		if p.SessionID == head.ID {
			return fmt.Sprintf("Claude Code runs in it as process %d; end it, or use --force and then type /resume %s there", p.PID, head.ID)
		}
	}
	for _, p := range now.unregistered {
		if s.uses(p, head) {
			return fmt.Sprintf("Claude Code runs in its directory as process %d, and uses it or may do so; end that, or use --force and then resume %s there", p.pid, head.ID)
		}
	}
	if version := head.Version; !now.listed && version != "" && !transcript.Registers(version) {
		if at := s.lastWrite(head); time.Since(at) < quiet && time.Until(at) < quiet {
			return fmt.Sprintf("it was written in the last minute, and Claude Code %s does not say whether it still runs; end it and wait until %s, or use --force", version, at.Add(quiet).Format(time.TimeOnly))
		}
	}
	return ""
}

// quiet is how long a transcript is not written if no older version of the program is working
// in it. It counts where the system does not list processes.
const quiet = time.Minute

// settled is how long an older process takes at most to show which session it uses. Until then
// it can be any of its directory: the process has taken its arguments off its command line.
const settled = 15 * time.Second

// uses reports whether an older process shows signs of using a session: it has just started,
// it has the transcript open, or since it started the transcript was written, or one of the
// files that older versions have for each session.
func (s *store) uses(p unregisteredProcess, head session.Head) bool {
	file := head.ID + suffix
	for _, open := range p.open {
		if path.Base(open) == file && projectID(path.Base(path.Dir(open))) == head.Project {
			return true
		}
	}
	if !sameFolder(p.folder, head.Project) {
		return false
	}
	return time.Since(p.started) < settled || slices.Contains(p.args, head.ID) || !s.lastWrite(head).Before(p.started)
}

// sameFolder reports whether a project is that of a folder, which is cut if it is long.
func sameFolder(folder, project string) bool {
	if len(folder) <= longestFolder {
		return projectID(folder) == project
	}
	return strings.HasPrefix(project, projectID(folder)[:100])
}

// longestFolder is the length of the longest folder of projects that the program does not cut.
const longestFolder = 200

// lastWrite returns when a process wrote last to a session's transcript, or to a file that 1.0
// and 2.0 have beside it for each session that they load; the zero time if there is none.
func (s *store) lastWrite(head session.Head) (last time.Time) {
	if e, err := s.stat(head); err == nil && e.Exists {
		last = time.Unix(0, e.Mtime)
	}
	root, err := s.lines.OpenRoot()
	if err != nil {
		return last
	}
	defer root.Close()
	for _, f := range []struct{ dir, name string }{{"debug", head.ID + ".txt"}, {"todos", head.ID + "-agent-" + head.ID + ".json"}} {
		d, err := root.Sub(f.dir)
		if err != nil {
			continue
		}
		if e, err := d.Stat(f.name); err == nil && e.Exists && time.Unix(0, e.Mtime).After(last) {
			last = time.Unix(0, e.Mtime)
		}
		d.Close()
	}
	return last
}

// largestProcessFile is the size in bytes of the largest file in [sessionsDir] that is read.
const largestProcessFile = 1 << 20

// readRegistered reads the files in [sessionsDir], also of processes that have ended. It leaves out files
// that cannot be read.
func (s *store) readRegistered() (all []registeredProcess) {
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
