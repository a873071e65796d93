package claude

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"mend/change"
	"mend/internal/jsonedit"
)

// A layout maps sessions to the paths of their transcripts. The project of a ref is the folder below projects, and the
// message is the uuid of a record.
type layout struct{}

// Path implements [linestore.Layout] and [fsstore.Layout]. A file is named by its path below its session's folder,
// which is beside the transcript. A folder is named by its path below the project's folder.
func (l *layout) Path(ref change.Ref) (string, change.Ref, error) {
	if err := ref.Validate(); err != nil {
		return "", ref, err
	}
	rest := ref.Part
	switch ref.Kind {
	case change.KindSession, change.KindMessage:
		rest = ref.Session + suffix
		if owner, agent, ok := subagent(ref.Session); ok && owner != "" {
			rest = owner + "/" + subagents + "/" + agentPrefix + agent + suffix
		}
	case change.KindFile:
		rest = ref.Session + "/" + ref.Part // without a Part this is not a valid path
	case change.KindFolder:
	default:
		ref.Project = ""
	}
	if ref.Project == "" || rest != "" && !fs.ValidPath(rest) {
		return "", ref, fmt.Errorf("%v %s: not a record of a transcript, nor a file of a session", ref.Kind, ref)
	}
	return strings.TrimSuffix(projects+"/"+ref.Project+"/"+rest, "/"), ref, nil
}

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
	part := strings.Join(names[2:n], "/")
	return change.Ref{Kind: change.KindFolder, Project: ref.Project, Session: session, Part: part}, true
}

const (
	suffix      = ".jsonl"
	subagents   = "subagents" // the folder of subagents' transcripts, in a folder of the session
	agentPrefix = "agent-"
)

// subagentID returns the id under which a subagent's transcript is listed. Version 2.0 of Claude Code stores it beside
// the transcripts of the sessions; then its id is the name of its file.
func subagentID(owner, agent string) string { return owner + "." + agentPrefix + agent }

// subagent reverses subagentID. The owner of a transcript of version 2.0 is unknown.
func subagent(id string) (owner, agent string, ok bool) {
	if agent, ok = strings.CutPrefix(id, agentPrefix); ok {
		return "", agent, true
	}
	owner, agent, ok = strings.Cut(id, "."+agentPrefix)
	return owner, agent, ok && isSessionID(owner)
}

// locate returns the id of the transcript at a path below the root.
func locate(p string) string {
	dir, name := path.Dir(p), strings.TrimSuffix(path.Base(p), suffix)
	if path.Base(dir) != subagents {
		return name
	}
	return subagentID(path.Base(path.Dir(dir)), strings.TrimPrefix(name, agentPrefix))
}

func (*layout) Key(line []byte) string {
	if !bytes.Contains(line, []byte(`"uuid"`)) {
		return ""
	}
	return jsonedit.Parse(bytes.TrimSpace(line)).TextAt("uuid")
}
