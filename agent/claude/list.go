package claude

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"mend/agent/claude/transcript"
	"mend/agent/sessionfile"
	"mend/change"
	"mend/internal/request"
	"mend/internal/safedir"
)

// sessionID matches a UUID, like the name of a session's transcript without its suffix.
var sessionID = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
})

func isSessionID(name string) bool { return sessionID().MatchString(name) }

type file struct {
	sessionfile.Entry
	id     string // id of the session or the subagent
	folder string // below projects
}

// eachFile calls yield for each transcript of a session, with its folder open.
func (s *store) eachFile(ctx context.Context, yield func(f file) error) error {
	s.Begin()
	root, err := s.OpenRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	all, err := root.Sub(projects)
	if err != nil {
		return err
	}
	defer all.Close()
	folders, err := all.Names()
	if err != nil {
		return err
	}
	for _, folder := range slices.Sorted(slices.Values(folders)) {
		if change.ValidateProject(folder) != nil { // Claude Code neither creates nor lists such a folder
			if e, err := all.Stat(folder); err == nil && e.IsDir() && folder[0] != '.' {
				s.Note("%s has a name that Claude Code does not give to folders; its sessions are not examined",
					projects+"/"+folder)
			}
			continue
		}
		err := s.Each(ctx, all, folder, isTranscript, func(e sessionfile.Entry) error {
			id := strings.TrimSuffix(e.Name, suffix)
			err := yield(file{e, id, folder})
			if _, ok := slices.BinarySearch(e.Names, id); err == nil && ok {
				err = s.eachSubagent(ctx, e.Dir, folder, id, yield)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// isTranscript reports whether a file in a project's folder is the transcript of a session, or of a subagent of version
// 2.0.
func isTranscript(name string) bool {
	id, ok := strings.CutSuffix(name, suffix)
	_, _, agent := subagent(id)
	return ok && (isSessionID(id) || agent && change.ValidateID(id) == nil)
}

func (s *store) CheckAccess(bool) error { return s.Unread() }

// eachSubagent calls yield for the transcripts of a session's subagents.
func (s *store) eachSubagent(ctx context.Context, all *safedir.Dir, folder, owner string,
	yield func(f file) error,
) error {
	idOf := func(name string) string {
		return subagentID(owner, strings.TrimPrefix(strings.TrimSuffix(name, suffix), agentPrefix))
	}
	isOne := func(name string) bool {
		return strings.HasPrefix(name, agentPrefix) && strings.HasSuffix(name, suffix) && change.ValidateID(idOf(name)) == nil
	}
	return s.Each(ctx, all, owner+"/"+subagents, isOne, func(e sessionfile.Entry) error {
		return yield(file{e, idOf(e.Name), folder})
	})
}

func (s *store) List(ctx context.Context) (heads []change.Head, err error) {
	err = s.eachFile(ctx, func(f file) error {
		h, err := readHead(f)
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed since the folder was listed
		}
		if err == nil {
			heads = append(heads, h)
		}
		return err
	})
	return heads, err
}

// headAt implements [sessionfile.Options].Head for sessions. It does not accept subagents.
func headAt(e sessionfile.Entry) (change.Head, error) {
	id, ok := strings.CutSuffix(e.Name, suffix)
	if !ok || !isSessionID(id) || path.Dir(path.Dir(e.Path())) != projects {
		return change.Head{}, fs.ErrNotExist
	}
	return readHead(file{e, id, path.Base(e.Dir.Path)})
}

// The sizes in bytes of the parts of a transcript that a list reads.
const (
	headSize = 16 << 10
	tailSize = 64 << 10
)

// readHead reads the list entry of a session from the beginning and the end of its transcript.
func readHead(f file) (change.Head, error) {
	project := f.folder
	h := change.Head{
		ID: f.id, Project: project, Ref: change.Ref{Kind: change.KindSession, Project: project, Session: f.id},
		Updated: time.Unix(0, f.Mtime).UnixMilli(),
	}
	if owner, _, ok := subagent(f.id); ok {
		h.Parent = owner
	}
	stray := func(why string) (change.Head, error) {
		h.Stray = append(h.Stray, change.Stray{Path: f.Path(), Why: why, Kind: change.StrayHidden})
		return h, nil
	}
	if f.Why != "" {
		return stray(f.Why)
	}
	if !f.IsFile() {
		return stray(f.ReadProblem())
	}
	head, tail, err := f.Dir.ReadEnds(f.Name, headSize, tailSize)
	if why, ok := safedir.ReadFailure(err); ok {
		return stray(why)
	}
	if err != nil {
		if now, serr := f.Dir.Stat(f.Name); serr == nil && now.Exists && !now.IsFile() {
			return stray(now.ReadProblem()) // replaced since
		}
		return h, err
	}
	var t titles
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		t.read(line)
	}
	first := t.time
	for line := range bytes.SplitSeq(tail, []byte("\n")) {
		t.read(line)
	}
	h.Title, h.Directory, h.Version, h.Created = t.title(), cmp.Or(t.relocated, t.cwd), lastVersion(tail), first
	if h.Version == "" {
		h.Version = lastVersion(head)
	}
	if _, _, ok := subagent(f.id); ok {
		h.Title, h.Directory = "subagent: "+h.Title, "" // "." names a session by its folder, never a subagent
	}
	return h, nil
}

// titles are the fields of a list entry in the lines of a transcript.
type titles struct {
	custom, ai, prompt, summary string
	cwd, relocated              string // where the session was begun, and the folder that it was moved to
	time                        int64
}

// typesOfTitles are the types of records that replace an earlier record of the same type.
var typesOfTitles = [][]byte{[]byte(`"custom-title"`), []byte(`"ai-title"`), []byte(`"summary"`), []byte(`"relocated"`)}

// isNeeded reports whether a line may have a field that is still missing, or a newer title. A record of the chain
// begins with its parent and has no title.
func (t *titles) isNeeded(line []byte) bool {
	return t.prompt == "" || t.cwd == "" || t.time == 0 ||
		!bytes.HasPrefix(line, []byte(`{"parentUuid":`)) && slices.ContainsFunc(typesOfTitles,
			func(name []byte) bool { return bytes.Contains(line, name) })
}

// lastVersion returns the version in the last record that has one, "" for none.
func lastVersion(lines []byte) string {
	for len(lines) > 0 {
		start := bytes.LastIndexByte(lines, '\n') + 1
		if r := transcript.NewLine(lines[start:]).Record; r != nil && r.Version != "" {
			return r.Version
		}
		lines = lines[:max(start-1, 0)]
	}
	return ""
}

func (t *titles) read(line []byte) {
	if len(line) == 0 || line[0] != '{' || !t.isNeeded(line) {
		return
	}
	r := transcript.NewLine(line).Record
	if r == nil {
		return
	}
	switch r.Type {
	case "custom-title":
		t.custom = r.Text("customTitle")
	case "ai-title":
		t.ai = r.Text("aiTitle")
	case "relocated":
		t.relocated = r.Text("relocatedCwd")
	case "summary":
		t.summary = r.Text("summary")
	case transcript.User:
		if t.prompt == "" && r.IsPrompt() && !strings.HasPrefix(r.Title(), "<") {
			t.prompt = r.Title()
		}
	}
	t.cwd = cmp.Or(t.cwd, r.CWD)
	if t.time == 0 && r.Timed {
		t.time = r.Time
	}
}

func (t *titles) title() string {
	return request.Short(cmp.Or(t.custom, t.ai, t.summary, t.prompt), 80)
}

func stampOf(e safedir.Entry) change.Stamp { return sessionfile.StampOf(nil, e) }

func (s *store) State(ctx context.Context) (change.Stamp, error) {
	sum, newest := sha256.New(), int64(0)
	var line []byte
	err := s.eachFile(ctx, func(f file) error {
		line = append(append(append(append(line[:0], f.folder...), '/'), f.id...), 0)
		line = sessionfile.AppendEntry(line, f.Entry.Entry)
		sum.Write(line)
		newest = max(newest, f.Mtime, f.Ctime)
		return nil
	})
	st := change.Stamp{Newest: time.Unix(0, newest)}
	sum.Sum(st.Sum[:0])
	return st, err
}
