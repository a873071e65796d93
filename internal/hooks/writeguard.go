package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"

	"mend/change"
	"mend/internal/live"
)

// A fileStamp identifies a state of a regular file. The zero value means that the file does not exist.
type fileStamp struct {
	exists bool
	size   int64
	mtime  int64 // in nanoseconds
}

// stampFile returns the stamp of a file. It follows links, and never opens the file.
func stampFile(path string) fileStamp {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return fileStamp{}
	}
	return fileStamp{true, info.Size(), info.ModTime().UnixNano()}
}

// changeTime returns the time at which the file was changed, in milliseconds.
func (s fileStamp) changeTime() int64 { return s.mtime / 1e6 }

// The tools that read or change one file, with the names that OpenCode gives them.
const (
	toolRead  = "read"
	toolWrite = "write"
	toolEdit  = "edit"
)

// A guardEvent is a call of one of these tools, before or after it runs.
type guardEvent struct {
	call, tool string // call is unique in all sessions
	session    string
	path       string    // the name of the file, without links; "" after the call
	file       fileStamp // its present state
	at         int64     // when the agent reported it, in milliseconds
	ended      bool
	overwrite  bool // the model allows replacing the file unread
	lines      span // the lines that were read
	partly     bool // an offset was given
}

// A span is the range of lines of a file that a read showed.
type span struct {
	first, last int
	end         bool // last is the last line of the file
	unknown     bool // the output has an unknown format; then only whole is set
	whole       bool // the tool did not cut the output
}

// A guardState records which files the sessions know. The keys of files are made of a session and a path.
type guardState struct {
	files   map[string]knownFile
	running map[string]runningCall // by call
}

func newGuardState() guardState {
	return guardState{files: map[string]knownFile{}, running: map[string]runningCall{}}
}

// A knownFile is a session's knowledge of one state of a file.
type knownFile struct {
	file fileStamp
	last int  // it knows the lines from 1 to this one
	all  bool // it knows the whole file
}

// A runningCall is a call that has begun.
type runningCall struct {
	path  string
	at    int64
	known bool // the session knew the file before
	part  bool // an offset was given
}

// fileKey returns the key of a file in [guardState]. A session id has no zero byte.
func fileKey(session, path string) string { return session + "\x00" + path }

// guardWrites is the policy of the write guard. It refuses a write that would replace a file if the session has not
// read the file, has read only a part of it, or has read it before it was changed. A failed call does not change the
// state, because only its beginning is reported.
func guardWrites(s guardState, e guardEvent) (next guardState, refusal string) {
	if e.ended {
		return s.end(e), ""
	}
	known, seen := s.files[fileKey(e.session, e.path)]
	current := seen && known.file == e.file
	s.running[e.call] = runningCall{path: e.path, at: e.at, known: current && known.all, part: e.partly}
	if e.tool != toolWrite || !e.file.exists || e.overwrite || current && known.all {
		return s, ""
	}
	why := "it exists and was not read in this session. Read it first"
	switch {
	case current:
		why = "only a part of it was read in this session. Read it from its beginning to its end first"
	case seen:
		why = "it was changed after it was read in this session. Read it again first"
	}
	delete(s.running, e.call)
	const refused = "%s was not written: %s, or call write with \"overwrite\": true to replace it unread."
	return s, fmt.Sprintf(refused, e.path, why)
}

// end records what a successful call shows about a file.
func (s guardState) end(e guardEvent) guardState {
	began, ok := s.running[e.call]
	delete(s.running, e.call)
	if !ok || !e.file.exists {
		return s
	}
	e.path = began.path
	key := fileKey(e.session, e.path)
	switch e.tool {
	case toolRead:
		if e.file.changeTime() > began.at { // the file may have changed after it was read
			return s
		}
		known, seen := s.files[key]
		if !seen || known.file != e.file {
			known = knownFile{file: e.file}
		}
		known.add(e.lines, began.part)
		s.files[key] = known
	case toolWrite, toolEdit: // an edit makes a file known only if it was known before
		if e.file.changeTime() <= e.at && (e.tool == toolWrite || began.known) {
			s.files[key] = knownFile{file: e.file, all: true}
		}
	}
	return s
}

// add adds lines that were read; those after a gap do not count. If an offset was given, an output of unknown format
// counts as partial.
func (k *knownFile) add(p span, part bool) {
	switch {
	case p.unknown:
		k.all = k.all || p.whole && !part
	case p.first <= k.last+1:
		k.last, k.all = max(k.last, p.last), k.all || p.end
	}
}

// maxLineShown is the number of UTF-16 units of a line that the read tool shows. The tool cuts a longer line and marks
// it.
const maxLineShown = 2000

// parseRead returns which lines of a file the output of the read tool shows. OpenCode 1.1.53
// numbers them as "00001| ", 1.2.27 and 1.18.33 as "1: ".
func parseRead(output string, truncated *bool) span {
	var p span
	cut := false
	for line := range strings.Lines(output) {
		line = strings.TrimPrefix(strings.TrimRight(line, "\n"), "<content>")
		digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
		n, err := strconv.Atoi(line[:digits])
		text, ok := strings.CutPrefix(line[digits:], ": ")
		if !ok {
			text, ok = strings.CutPrefix(line[digits:], "| ")
		}
		switch {
		case err == nil && ok && (p.first == 0 || n == p.last+1):
			if p.first == 0 {
				p.first = n
			}
			p.last = n
			cut = cut || len(text) > maxLineShown && len(utf16.Encode([]rune(text))) > maxLineShown
		case strings.HasPrefix(line, "(End of file"):
			p.end = true
		}
	}
	switch {
	case cut: // the rest of a cut line was never shown
		return span{first: 1}
	case p.first == 0 && p.end: // an empty file
		return span{first: 1, end: true}
	case p.first == 0:
		return span{unknown: true, whole: truncated != nil && !*truncated}
	}
	return p
}

// A writeGuard refuses calls of the write tool that would replace an unknown file, see [guardWrites]. It is safe for
// concurrent use.
type writeGuard struct {
	log *slog.Logger

	mu    sync.Mutex
	state guardState
}

// accept handles the report of a call before or after it runs.
func (g *writeGuard) accept(e live.Event) {
	if e.Type != eventToolBefore && e.Type != eventToolAfter {
		return
	}
	var c live.ToolCall
	if json.Unmarshal(e.Properties, &c) != nil || change.ValidateID(c.Session) != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if event, ok := g.event(c, e.Directory, e.Type == eventToolAfter); ok {
		g.state, _ = guardWrites(g.state, event)
	}
}

// check returns why a call must not run, or "". The agent waits and the call has not begun, so check uses the file as
// it is now.
func (g *writeGuard) check(ctx context.Context, c live.ToolCall, directory string) (refusal string) {
	if change.ValidateID(c.Session) != nil {
		return ""
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	e, ok := g.event(c, directory, false)
	if !ok {
		return ""
	}
	if g.state, refusal = guardWrites(g.state, e); refusal == "" || ctx.Err() != nil { // too late: the agent has continued
		return ""
	}
	g.log.Info("a write was refused", "session", c.Session, "file", e.path, "why", refusal)
	return refusal
}

// event returns the policy's event for a call; ok is false if it is irrelevant.
func (g *writeGuard) event(c live.ToolCall, directory string, ended bool) (e guardEvent, ok bool) {
	e = guardEvent{session: c.Session, call: c.Session + "\x00" + c.ID, tool: strings.ToLower(c.Tool), at: c.Time}
	e.ended = ended
	switch e.tool {
	case toolRead, toolWrite, toolEdit:
	default:
		return e, false
	}
	if ended {
		began, ok := g.state.running[e.call]
		e.file = stampFile(began.path)
		if e.tool == toolRead {
			e.lines = parseRead(c.Output, c.Truncated)
		}
		return e, ok
	}
	args := parseFileArgs(c.Args)
	if args.path == "" {
		return e, false
	}
	e.path = canonicalPath(directory, args.path)
	e.file, e.overwrite, e.partly = stampFile(e.path), args.overwrite, args.partly
	return e, true
}

// fileArgs are the arguments of read, write and edit that matter.
type fileArgs struct {
	path              string
	overwrite, partly bool
}

// parseFileArgs returns the arguments. It accepts any JSON that a model has written.
func parseFileArgs(raw json.RawMessage) (a fileArgs) {
	var args map[string]json.RawMessage
	_ = json.Unmarshal(raw, &args) // other values have no path
	for _, name := range []string{"filePath", "path", "file_path"} {
		if a.path == "" {
			_ = json.Unmarshal(args[name], &a.path)
		}
	}
	a.overwrite = strings.EqualFold(strings.Trim(string(args["overwrite"]), `"`), "true")
	offset := string(args["offset"])
	a.partly = offset != "" && offset != "0" && offset != "1" && offset != "null"
	return a
}

// canonicalPath returns the absolute path of a file without links, as far as it exists.
func canonicalPath(directory, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(directory, path)
	}
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}
