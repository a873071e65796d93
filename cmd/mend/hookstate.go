package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"mend/internal/atomicfile"
	"mend/internal/live"
	"mend/internal/ownfile"
	"mend/internal/processes"
	"mend/internal/term"
	"mend/repair"
)

// A hookState is what a process of live repair says of itself, in a file of its own in the folder
// "hooks" beside the journal. "mend status" reads these files; the log is for people. What the files
// of processes that have ended say is added up in one file, [endedFile], by the next one that starts.
type hookState struct {
	Format    int            `json:"format"` // 1
	Verb      string         `json:"verb"`   // hook or watch
	PID       int            `json:"pid"`
	Identity  string         `json:"identity"` // see [processes.Process.Identity]
	Version   string         `json:"version"`  // of mend
	Agent     string         `json:"agent,omitempty"`
	Directory string         `json:"directory,omitempty"` // that the agent works in
	Since     time.Time      `json:"since"`
	Ended     bool           `json:"ended,omitempty"`
	Settings  []string       `json:"settings"` // those that are not the default
	Counts    recoveryCounts `json:"counts"`
	Sessions  []hookOutcome  `json:"sessions"` // what became of the newest ones, oldest first, each once

	Unverified string `json:"unverified,omitempty"`   // the version of the agent, if mend was not verified with it
	WhyNot     string `json:"uncheckedWhy,omitempty"` // nothing is repaired before a request because of that version

	Added []string `json:"added,omitempty"` // in [endedFile]: the processes that were added last, whose files may still be there
}

// A hookOutcome is what became of a session: it was repaired, or left alone.
type hookOutcome struct {
	Time    time.Time `json:"time"`
	Session string    `json:"session"`
	Repair  string    `json:"repair,omitempty"`
	Why     string    `json:"why,omitempty"` // it was left alone
}

const (
	hookFormat   = 1
	endedFile    = "ended.json"
	maxOutcomes  = 64
	maxHookFiles = 1024 // that are read
	maxWhy       = 1000 // bytes

	hooksLockTimeout = 2 * time.Second // to wait for another process that updates a file
)

// recoveryCounts holds the number of errors by outcome and class.
type recoveryCounts map[live.Outcome]map[repair.Class]int

func (rc recoveryCounts) add(o live.Outcome, c repair.Class, n int) {
	if rc[o] == nil {
		rc[o] = map[repair.Class]int{}
	}
	rc[o][c] += n
}

func (rc recoveryCounts) addAll(other recoveryCounts) {
	for o, classes := range other {
		for c, n := range classes {
			rc.add(o, c, n)
		}
	}
}

// MarshalJSON includes every outcome.
func (rc recoveryCounts) MarshalJSON() ([]byte, error) {
	all := map[live.Outcome]map[repair.Class]int{}
	for _, o := range []live.Outcome{live.Detected, live.Repaired, live.Refused, live.Failed} {
		all[o] = rc[o]
		if all[o] == nil {
			all[o] = map[repair.Class]int{}
		}
	}
	return json.Marshal(all)
}

func (rc recoveryCounts) total(o live.Outcome) int {
	n := 0
	for _, c := range rc[o] {
		n += c
	}
	return n
}

// String returns a summary, or "" if nothing was counted.
func (rc recoveryCounts) String() string {
	if rc.total(live.Detected) == 0 {
		return ""
	}
	return fmt.Sprintf("%s in running agents: %d repaired, %d given up, %d failed.", term.Count(rc.total(live.Detected), "error"), rc.total(live.Repaired), rc.total(live.Refused), rc.total(live.Failed))
}

// givenUp returns the classes of the errors that no repair answered, with their numbers; ""
// for none.
func (rc recoveryCounts) givenUp() string {
	var parts []string
	for _, o := range []live.Outcome{live.Refused, live.Failed} {
		for _, class := range slices.Sorted(maps.Keys(rc[o])) {
			parts = append(parts, fmt.Sprintf("%d × %s", rc[o][class], class))
		}
	}
	return strings.Join(parts, ", ")
}

// process identifies the process of the state among all that there were.
func (s *hookState) process() string {
	return fmt.Sprint(s.PID, " ", s.Identity, " ", s.Since.UnixNano())
}

// running reports whether the process of the state is running.
func (s *hookState) running() bool {
	now, err := processes.Process(s.PID).Identity()
	return !s.Ended && err == nil && now == s.Identity
}

// outcome records what became of a session.
func (s *hookState) outcome(o hookOutcome) {
	s.Sessions = slices.DeleteFunc(s.Sessions, func(old hookOutcome) bool { return old.Session == o.Session })
	s.Sessions = append(s.Sessions, o)
	slices.SortStableFunc(s.Sessions, func(a, b hookOutcome) int { return a.Time.Compare(b.Time) })
	s.Sessions = s.Sessions[max(0, len(s.Sessions)-maxOutcomes):]
}

// add adds what another process counted and recorded.
func (s *hookState) add(other hookState) {
	s.Counts.addAll(other.Counts)
	for _, o := range other.Sessions {
		newer := func(old hookOutcome) bool { return old.Session == o.Session && old.Time.After(o.Time) }
		if !slices.ContainsFunc(s.Sessions, newer) {
			s.outcome(o)
		}
	}
}

// A hookReporter keeps the state of this process, and writes it whenever it changes.
type hookReporter struct {
	dir string // of the journal
	log *slog.Logger

	mu    sync.Mutex
	state hookState
}

func hooksDir(journal string) string { return filepath.Join(journal, "hooks") }

// newHookReporter returns the reporter of this process, and adds up what processes that have ended
// left. Errors are only logged: live repair works without the state.
func newHookReporter(journal string, s hookState, log *slog.Logger) *hookReporter {
	s.Format, s.PID, s.Since, s.Counts = hookFormat, os.Getpid(), time.Now(), recoveryCounts{}
	var err error
	if s.Identity, err = processes.Process(s.PID).Identity(); err != nil {
		log.Warn("finding out when this process was started", "error", err)
	}
	if err := sumEnded(journal); err != nil {
		log.Warn("adding up what earlier hooks counted", "error", err)
	}
	r := &hookReporter{dir: journal, log: log, state: s}
	r.update(func(*hookState) {})
	return r
}

// update changes the state, and writes it.
func (r *hookReporter) update(change func(*hookState)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.state)
	if err := writeHookState(filepath.Join(hooksDir(r.dir), fmt.Sprintf("%d.json", r.state.PID)), r.state); err != nil {
		r.log.Warn("writing the state of this hook", "error", err)
	}
}

// report implements [live.Options.Report].
func (r *hookReporter) report(a live.Report) {
	r.update(func(s *hookState) {
		if a.Outcome != live.LeftAlone {
			s.Counts.add(live.Detected, a.Class, 1)
			s.Counts.add(a.Outcome, a.Class, 1)
		}
		s.outcome(hookOutcome{time.Now(), a.Session, a.Entry, a.Why[:min(len(a.Why), maxWhy)]})
	})
}

// version implements [live.Options.Version].
func (r *hookReporter) version(version, why string) {
	r.update(func(s *hookState) { s.Unverified, s.WhyNot = version, why })
}

// counts returns what was counted since the start.
func (r *hookReporter) counts() recoveryCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Counts
}

// end records that the process ends.
func (r *hookReporter) end() { r.update(func(s *hookState) { s.Ended = true }) }

func writeHookState(path string, s hookState) error {
	if err := ownfile.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, data, 0o600)
}

// readHookState reads one file.
func readHookState(path string) (s hookState, err error) {
	data, err := ownfile.ReadFile(path)
	if err != nil {
		return s, err
	}
	err = json.Unmarshal(data, &s)
	switch {
	case err == nil && s.Format != hookFormat:
		err = errHookFormat
	case err == nil && len(s.Sessions) > maxOutcomes:
		err = fmt.Errorf("it has %d sessions", len(s.Sessions))
	}
	if err != nil {
		return hookState{}, fmt.Errorf("reading %s: %w", path, err)
	}
	if s.Counts == nil {
		s.Counts = recoveryCounts{}
	}
	return s, nil
}

var errHookFormat = fmt.Errorf("it has another format than %d", hookFormat)

// A hookFile is the file of a process. err says why it cannot be read.
type hookFile struct {
	path  string
	pid   int
	state hookState
	added bool // it is in the sum already: whoever added it was killed before it removed the file
	err   error
}

// ended reports whether the process has ended. A file that cannot be read may be that of a newer mend.
func (f hookFile) ended() bool {
	if f.err == nil {
		return !f.state.running()
	}
	_, err := processes.Process(f.pid).Identity()
	return err != nil
}

// readHookFiles reads the files of all processes, and what was added up of those that have no file
// any more.
func readHookFiles(journal string) (all []hookFile, sum hookState, err error) {
	sum, err = readEnded(journal)
	entries, lerr := os.ReadDir(hooksDir(journal))
	if lerr != nil && !errors.Is(lerr, fs.ErrNotExist) {
		err = cmp.Or(err, lerr)
	}
	for _, e := range entries[:min(len(entries), maxHookFiles)] {
		name, ok := strings.CutSuffix(e.Name(), ".json")
		if pid, perr := strconv.Atoi(name); ok && perr == nil && pid > 0 {
			f := hookFile{path: filepath.Join(hooksDir(journal), e.Name()), pid: pid}
			if f.state, f.err = readHookState(f.path); f.err == nil && f.state.PID != pid {
				f.err = fmt.Errorf("reading %s: it is of process %d", f.path, f.state.PID)
			}
			f.added = f.err == nil && slices.Contains(sum.Added, f.state.process())
			all = append(all, f)
		}
	}
	return all, sum, err
}

// readEnded returns what was added up, with the counts of a mend that had one file of them.
func readEnded(journal string) (sum hookState, err error) {
	sum, err = readHookState(filepath.Join(hooksDir(journal), endedFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
		data, _ := ownfile.ReadFile(filepath.Join(journal, "recoveries.json"))
		_ = json.Unmarshal(data, &sum.Counts) // an invalid file has no counts
	}
	if sum.Format = hookFormat; sum.Counts == nil {
		sum.Counts = recoveryCounts{}
	}
	return sum, err
}

// sumEnded adds up what the files of processes that have ended say, and removes them.
func sumEnded(journal string) (err error) {
	dir := hooksDir(journal)
	if err := ownfile.MakeDir(dir); err != nil {
		return err
	}
	lock, err := ownfile.Acquire(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, false, hooksLockTimeout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	all, sum, err := readHookFiles(journal) // a damaged sum begins again
	ended := slices.DeleteFunc(all, func(f hookFile) bool { return !f.ended() })
	if len(ended) == 0 || errors.Is(err, errHookFormat) {
		return err
	}
	sum.Added = nil
	for _, f := range ended {
		if err = errors.Join(err, f.err); f.err != nil {
			continue
		}
		if sum.Added = append(sum.Added, f.state.process()); !f.added {
			sum.add(f.state)
		}
	}
	if werr := writeHookState(filepath.Join(dir, endedFile), sum); werr != nil {
		return errors.Join(err, werr)
	}
	for _, f := range ended {
		err = errors.Join(err, os.Remove(f.path))
	}
	return err
}

// A givenUpJSON is an error that no repair answered, or a broken session that was not repaired
// before a request.
type givenUpJSON struct {
	Time    string `json:"time"`
	Session string `json:"session"`
	Why     string `json:"why"`
}

// A runningJSON is a process of live repair that is running.
type runningJSON struct {
	Verb      string   `json:"verb"` // hook or watch
	PID       int      `json:"pid"`
	Version   string   `json:"version"` // of mend
	Agent     string   `json:"agent"`
	Directory string   `json:"directory"` // that the agent works in
	Since     string   `json:"since"`
	Settings  []string `json:"settings"` // those that are not the default
}

// maxGivenUp is how many sessions that were given up status shows.
const maxGivenUp = 3

// addLive adds what the processes of live repair say of themselves. A file that cannot be read is
// noted and left out.
func addLive(t *term.Terminal, s *statusJSON, journal string) {
	all, sum, err := readHookFiles(journal)
	if err != nil {
		t.Note(err.Error())
	}
	var newest hookState // of a hook
	s.Running = []runningJSON{}
	for _, f := range all {
		if f.err != nil {
			t.Note(f.err.Error())
			continue
		}
		if f.added {
			continue
		}
		st := f.state
		sum.add(st)
		if st.Verb == "hook" && st.Since.After(newest.Since) {
			newest = st
		}
		if !st.running() {
			continue
		}
		if st.Verb == "hook" {
			s.Hooks++
		} else {
			s.Watches++
		}
		s.Running = append(s.Running, runningJSON{st.Verb, st.PID, st.Version, st.Agent, st.Directory, st.Since.Format(time.RFC3339), nonNil(st.Settings)})
	}
	s.Live, s.Unverified, s.WhyNot = sum.Counts, newest.Unverified, newest.WhyNot
	if s.WhyNot != "" {
		s.Unchecked = s.Unverified
	}
	s.GivenUp = []givenUpJSON{}
	for _, o := range slices.Backward(sum.Sessions) {
		if o.Why != "" && len(s.GivenUp) < maxGivenUp {
			s.GivenUp = append(s.GivenUp, givenUpJSON{o.Time.Format(time.RFC3339), o.Session, o.Why})
		}
	}
}
