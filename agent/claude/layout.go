package claude

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"mend/change"
	"mend/internal/jsonedit"
)

// A layout maps sessions to the paths of their transcripts. The project of a ref is the folder below projects,
// the message is the uuid of a record.
type layout struct {
	root string

	mu   sync.Mutex
	long map[string]string // folders whose names are too long for an id, by project
}

// Path implements [linestore.Layout] and [fsstore.Layout]. A file is named by its path below the folder of its
// session, which is beside the transcript; a folder by its path below the project's.
func (l *layout) Path(ref change.Ref) (string, change.Ref, error) {
	if err := ref.Validate(); err != nil {
		return "", ref, err
	}
	folder, err := l.folder(ref.Project)
	if err != nil {
		return "", ref, err
	}
	below := ref.Part
	switch ref.Kind {
	case change.KindSession, change.KindMessage:
		below = ref.Session + suffix
		if owner, agent, ok := subagent(ref.Session); ok && owner != "" {
			below = owner + "/" + subagents + "/" + agentPrefix + agent + suffix
		}
	case change.KindFile:
		below = ref.Session + "/" + ref.Part // without a Part this is not a valid path
	case change.KindFolder:
	default:
		ref.Project = ""
	}
	if ref.Project == "" || below != "" && !fs.ValidPath(below) {
		return "", ref, fmt.Errorf("%v %s: no record of a transcript, and no file of a session", ref.Kind, ref)
	}
	return strings.TrimSuffix(projects+"/"+folder+"/"+below, "/"), ref, nil
}

// Folder implements [fsstore.Layout].
func (l *layout) Folder(ref change.Ref, n int) (change.Ref, bool) {
	at, _, err := l.Path(ref)
	names := strings.Split(at, "/")
	if err != nil || n < 2 || n >= len(names) {
		return change.Ref{}, false
	}
	session := ref.Session
	if owner, _, ok := subagent(session); ok && owner != "" {
		session = owner
	}
	return change.Ref{Kind: change.KindFolder, Project: ref.Project, Session: session, Part: strings.Join(names[2:n],
		"/")}, true
}

const (
	suffix      = ".jsonl"
	subagents   = "subagents" // the folder of subagents' transcripts, in a folder of the session
	agentPrefix = "agent-"
)

// subagentID returns the id under which a subagent's transcript is listed. In 2.0, where it is beside the
// transcripts of the sessions, its id is the name of its file.
func subagentID(owner, agent string) string { return owner + "." + agentPrefix + agent }

// subagent reverses subagentID. The owner of a transcript of 2.0 is unknown.
func subagent(id string) (owner, agent string, ok bool) {
	if agent, ok = strings.CutPrefix(id, agentPrefix); ok {
		return "", agent, true
	}
	owner, agent, ok = strings.Cut(id, "."+agentPrefix)
	return owner, agent, ok && isSessionID(owner)
}

// agentOf returns the id of the subagent that the transcript belongs to, "" for a session's.
func agentOf(head change.Head) string {
	_, agent, _ := subagent(head.ID)
	return agent
}

// locate returns the id of the transcript at a path below the root.
func locate(p string) string {
	dir, name := path.Dir(p), strings.TrimSuffix(path.Base(p), suffix)
	if path.Base(dir) != subagents {
		return name
	}
	return subagentID(path.Base(path.Dir(dir)), strings.TrimPrefix(name, agentPrefix))
}

// Key implements [linestore.Layout].
func (*layout) Key(line []byte) string {
	const name = `"uuid"`
	if !bytes.Contains(line, []byte(name)) {
		return ""
	}
	return jsonedit.Parse(bytes.TrimSpace(line)).TextAt("uuid")
}

// projectID returns the id of a folder of projects: its name, or if that is too long for an id, its beginning
// and a hash.
func projectID(folder string) string {
	if change.ValidateProject(folder) == nil {
		return folder
	}
	return hashedID(folder)
}

// hashedID returns the id of a folder whose name is not a valid id. Older entries of the journal use it for
// folders of more than [change.MaxID] bytes.
func hashedID(folder string) string {
	sum := sha256.Sum256([]byte(folder))
	return strings.ToValidUTF8(notInID.ReplaceAllString(folder[:min(len(folder), 100)], "-"), "") + "." +
		hex.EncodeToString(sum[:16])
}

var notInID = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// folder reverses projectID. It lists the folders only if the project is not known yet, because a scan locates
// each session.
func (l *layout) folder(project string) (string, error) {
	if i := strings.LastIndexByte(project, '.'); i < 0 || len(project)-i != 33 {
		return project, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if folder, ok := l.long[project]; ok {
		return folder, nil
	}
	entries, err := os.ReadDir(filepath.Join(l.root, projects))
	if err != nil {
		return "", err
	}
	l.long = map[string]string{}
	for _, e := range entries {
		if change.ValidateID(e.Name()) != nil {
			l.long[hashedID(e.Name())] = e.Name()
		}
	}
	return cmp.Or(l.long[project], project), nil
}
