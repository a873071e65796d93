package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v4/process"

	"mend/internal/ownfile"
)

// The messages of hook.log that status reads.
const (
	logServing   = "serving"
	logEnded     = "ended"
	logLeftAlone = "left alone"             // also with a colon and the reason
	logFailed    = "recovering the session" // with the error
)

// logField matches a field of a line of hook.log.
var logField = regexp.MustCompile(`(\w+)=("(?:[^"\\]|\\.)*"|\S*)`)

// readHookLog returns the fields of each line of hook.log in the journal's folder; none if it
// cannot be read.
func readHookLog(dir string) []map[string]string {
	f, err := ownfile.OpenPlain(filepath.Join(dir, "hook.log"))
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := ownfile.ReadAtMost(f, 4*maxHookLog)
	if err != nil {
		return nil
	}
	var all []map[string]string
	for line := range strings.Lines(string(text)) {
		if !strings.Contains(line, logServing) && !strings.Contains(line, logEnded) && !strings.Contains(line, logLeftAlone) && !strings.Contains(line, logFailed) {
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

// runningHooks returns how many hooks of this journal are running.
func runningHooks(entries []map[string]string) int {
	serving := map[string]bool{}
	for _, e := range entries {
		switch e["msg"] {
		case logServing:
			serving[e["pid"]] = true
		case logEnded:
			delete(serving, e["pid"])
		}
	}
	n := 0
	for text := range serving {
		if pid, err := strconv.ParseInt(text, 10, 32); err == nil && isHook(int32(pid)) {
			n++
		}
	}
	return n
}

// isHook reports whether a process is "mend hook". A hook that was killed has not logged its
// end, and its number may be that of another process now.
func isHook(pid int32) bool {
	p, err := process.NewProcess(pid)
	if err != nil {
		return false
	}
	args, err := p.CmdlineSlice()
	return err == nil && len(args) > 1 && args[1] == "hook"
}

// A givenUpJSON is an error that no repair answered.
type givenUpJSON struct {
	Time    string `json:"time"`
	Session string `json:"session"`
	Why     string `json:"why"`
}

// maxGivenUp is how many of them status shows.
const maxGivenUp = 3

// givenUp returns the newest errors that no repair answered, the newest first, each session
// once.
func givenUp(entries []map[string]string) []givenUpJSON {
	all := []givenUpJSON{}
	seen := map[string]bool{}
	for i := len(entries) - 1; i >= 0 && len(all) < maxGivenUp; i-- {
		e := entries[i]
		why := e["why"]
		switch {
		case e["msg"] == logFailed:
			why = e["error"]
		case e["msg"] != logLeftAlone && !strings.HasPrefix(e["msg"], logLeftAlone+":"):
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
