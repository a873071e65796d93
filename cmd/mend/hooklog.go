package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/process"

	"mend/internal/live"
	"mend/internal/ownfile"
)

// The messages of hook.log that status reads.
const (
	logServing   = "serving"  // of a hook, when it starts
	logWatching  = "watching" // of a watch, when it starts
	logEnded     = "ended"
	logLeftAlone = "left alone"             // also with a colon and the reason, or before a request
	logFailed    = "recovering the session" // with the error
	logRepaired  = "repaired"               // also with more
)

var logRead = []string{logServing, logWatching, logEnded, live.LogUnchecked, live.LogNewer, logLeftAlone, logFailed, logRepaired}

// logField matches a field of a line of hook.log.
var logField = regexp.MustCompile(`(\w+)=("(?:[^"\\]|\\.)*"|\S*)`)

// readHookLog returns the fields of each line of the logs in the journal's folder; none of a
// log that cannot be read.
func readHookLog(dir string) []map[string]string {
	var text []byte
	for _, name := range []string{"hook.log.1", "hook.log"} {
		if f, err := ownfile.OpenPlain(filepath.Join(dir, name)); err == nil {
			if log, err := ownfile.ReadAtMost(f, 4*maxHookLog); err == nil {
				text = append(text, log...)
			}
			f.Close()
		}
	}
	var all []map[string]string
	for line := range strings.Lines(string(text)) {
		if !slices.ContainsFunc(logRead, func(text string) bool { return strings.Contains(line, text) }) {
			continue
		}
		fields := map[string]string{}
		for _, m := range logField.FindAllStringSubmatch(line, -1) {
			value := m[2]
			if unquoted, err := strconv.Unquote(value); err == nil {
				value = unquoted
			}
			fields[m[1]] = value
		}
		all = append(all, fields)
	}
	return all
}

// running returns how many processes that logged start, and run that verb, are running.
func running(entries []map[string]string, start, verb string) int {
	started := map[string]bool{}
	for _, e := range entries {
		switch e["msg"] {
		case start:
			started[e["pid"]] = true
		case logEnded:
			delete(started, e["pid"])
		}
	}
	n := 0
	for text := range started {
		if pid, err := strconv.ParseInt(text, 10, 32); err == nil && runsVerb(int32(pid), verb) {
			n++
		}
	}
	return n
}

// runsVerb reports whether a process is mend with that verb. A process that was killed has not
// logged its end, and its number may be that of another process now.
func runsVerb(pid int32, verb string) bool {
	p, err := process.NewProcess(pid)
	if err != nil {
		return false
	}
	args, err := p.CmdlineSlice()
	return err == nil && len(args) > 1 && slices.Contains(args[1:], verb)
}

// liveVersion returns the version of the agent that the newest hook serves, if mend was not verified
// with it; else "". If why is not "", nothing is repaired before a request because of it.
func liveVersion(entries []map[string]string) (version, why string) {
	for _, e := range entries {
		switch e["msg"] {
		case logServing:
			version, why = "", ""
		case live.LogNewer:
			version, why = e["version"], ""
		case live.LogUnchecked:
			version, why = e["version"], "mend was not verified with version "+e["version"]
			if e["why"] != "" {
				why += ": " + e["why"]
			}
		}
	}
	return version, why
}

// A givenUpJSON is an error that no repair answered, or a broken session that was not repaired
// before a request.
type givenUpJSON struct {
	Time    string `json:"time"`
	Session string `json:"session"`
	Why     string `json:"why"`
}

// maxGivenUp is how many of them status shows.
const maxGivenUp = 3

// givenUp returns the newest errors that no repair answered, and the newest broken sessions that
// were not repaired before a request, the newest first, each session once. Sessions that were
// repaired later are not among them.
func givenUp(entries []map[string]string) []givenUpJSON {
	all := []givenUpJSON{}
	seen := map[string]bool{}
	for i := len(entries) - 1; i >= 0 && len(all) < maxGivenUp; i-- {
		e := entries[i]
		why := e["why"]
		switch {
		case strings.HasPrefix(e["msg"], logRepaired):
			seen[e["session"]] = true
			continue
		case e["msg"] == logFailed:
			why = e["error"]
		case !strings.HasPrefix(e["msg"], logLeftAlone):
			continue
		case why == "":
			why = strings.TrimPrefix(e["msg"], logLeftAlone+": ")
		}
		if session := e["session"]; session != "" && !seen[session] {
			seen[session] = true
			all = append(all, givenUpJSON{e["time"], session, why})
		}
	}
	return all
}
