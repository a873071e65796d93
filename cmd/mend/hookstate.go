package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
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
// "hooks" beside the journal. "mend" reads these files; the log is for people. The files of the
// newest processes stay, see [maxHookFiles].
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
	maxOutcomes  = 64
	maxHookFiles = 256  // that are kept
	maxWhy       = 1000 // bytes
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

// newHookReporter returns the reporter of this process, and removes the oldest files. Errors are only
// logged: live repair works without the state.
func newHookReporter(journal string, s hookState, log *slog.Logger) *hookReporter {
	s.Format, s.PID, s.Since, s.Counts = hookFormat, os.Getpid(), time.Now(), recoveryCounts{}
	var err error
	if s.Identity, err = processes.Process(s.PID).Identity(); err != nil {
		log.Warn("finding out when this process was started", "error", err)
	}
	if old := hookFiles(journal); len(old) >= maxHookFiles {
		for _, path := range old[maxHookFiles-1:] {
			_ = os.Remove(path) // another process may have done it
		}
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
	if err := writeHookState(r.dir, r.state); err != nil {
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

// counts returns what was counted since the start.
func (r *hookReporter) counts() recoveryCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.state.Counts
}

// end records that the process ends.
func (r *hookReporter) end() { r.update(func(s *hookState) { s.Ended = true }) }

func writeHookState(journal string, s hookState) error {
	path := filepath.Join(hooksDir(journal), fmt.Sprintf("%d-%d.json", s.Since.UnixMilli(), s.PID))
	if err := ownfile.MakeDir(filepath.Dir(path)); err != nil {
		return err
	}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(path, data, 0o600)
}

// hookFiles returns the paths of the files of all processes, the newest first. Their names begin with the time.
func hookFiles(journal string) (paths []string) {
	entries, _ := os.ReadDir(hooksDir(journal)) // without the folder there are none
	for _, e := range slices.Backward(entries) {
		if filepath.Ext(e.Name()) == ".json" {
			paths = append(paths, filepath.Join(hooksDir(journal), e.Name()))
		}
	}
	return paths
}

// readHookState reads one file.
func readHookState(path string) (s hookState, err error) {
	data, err := ownfile.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	switch {
	case err == nil && s.Format != hookFormat:
		err = fmt.Errorf("it has another format than %d", hookFormat)
	case err == nil && len(s.Sessions) > maxOutcomes:
		err = fmt.Errorf("it has %d sessions", len(s.Sessions))
	}
	if err != nil {
		return hookState{}, fmt.Errorf("reading %s: %w", path, err)
	}
	return s, nil
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
	sum := hookState{Counts: recoveryCounts{}}
	s.Running = []runningJSON{}
	for _, path := range hookFiles(journal) {
		st, err := readHookState(path)
		if err != nil {
			t.Note(err.Error())
			continue
		}
		sum.add(st)
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
	s.Live = sum.Counts
	s.GivenUp = []givenUpJSON{}
	for _, o := range slices.Backward(sum.Sessions) {
		if o.Why != "" && len(s.GivenUp) < maxGivenUp {
			s.GivenUp = append(s.GivenUp, givenUpJSON{o.Time.Format(time.RFC3339), o.Session, o.Why})
		}
	}
}
