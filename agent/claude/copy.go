package claude

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"mend/agent"
	"mend/agent/claude/transcript"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/safedir"
)

// Copy implements [agent.Store]. It copies the transcript as one record with the ref of the session, and all regular
// files in the session's folder beside it. The transcript of each subagent is copied in the same way as the session's;
// other files, such as results of tools, become [change.KindFile] with their path below that folder. It does not copy
// hidden files, links, or files elsewhere in Claude Code's folder (copies of edited files for rewind,
// todos, prompt history, state of shells). A subagent that belongs to a session is copied only together with it.
func (s *store) Copy(ctx context.Context, head change.Head) (c agent.Copy, err error) {
	if s.CopyOwner(head) != "" {
		return c, errors.ErrUnsupported
	}
	e, err := s.Load(head.Ref)
	if err != nil {
		return c, err
	}
	c.Records = append(c.Records, change.Record{Ref: head.Ref, Data: e.Data, Mode: e.Mode.Perm()})
	c.Messages, c.First = countMessages(e.Data)
	if c.Messages == 0 && jsonedit.IsForeign(e.Data) {
		c.Unread = append(c.Unread, "the transcript: "+jsonedit.Foreign)
	}
	d, _, err := s.OpenFolder(head.Ref)
	if err != nil {
		return c, err
	}
	defer d.Close()
	err = walk(d, head.ID, "", change.MaxText, func(at string, e safedir.Entry, err error) (bool, error) {
		ref := fileRef(head, at)
		why, unreadable := safedir.ReadFailure(err)
		switch {
		case e.IsFile() && e.TooLarge, e.Exists && e.Mode&fs.ModeSymlink != 0:
			why, unreadable = e.ReadProblem(), true
		case e.IsDir() && strings.Count(at, "/") >= maxBeside:
			why, unreadable = fmt.Sprintf("it is more than %d folders deep", maxBeside), true
		}
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case at != "" && ref.Validate() != nil:
			return false, nil
		case unreadable:
			c.Unread = append(c.Unread, path.Join(head.ID, at)+": "+why)
			return false, nil
		case at == "" && err == nil && !e.IsDir():
			return false, nil
		case err == nil && e.IsFile():
			c.Records = append(c.Records, change.Record{Ref: ref, Data: e.Data, Mode: e.Mode.Perm()})
		}
		return true, err
	})
	if err != nil {
		return c, fmt.Errorf("reading the files beside transcript %s: %w", head.ID, err)
	}
	if now, err := s.Stat(head.Ref); err == nil && stampOf(now) == stampOf(e) {
		c.Stamp = stampOf(e)
	}
	return c, nil
}

func (*store) CopyOwner(head change.Head) string {
	owner, _, ok := subagent(head.ID)
	if !ok {
		return ""
	}
	return owner
}

// countMessages counts the prompts and answers of a transcript, and returns the id of the first.
func countMessages(data []byte) (n int, first string) {
	for line := range bytes.Lines(data) {
		v := jsonedit.Parse(bytes.TrimSpace(line))
		switch v.TextAt("type") {
		case transcript.User, transcript.Assistant:
			if n++; n == 1 {
				first = v.TextAt("uuid")
			}
		}
	}
	return n, first
}

// maxBeside is the greatest depth of folders that are read in a session's folder.
const maxBeside = 8

// fileRef returns the ref of a file at a path below the folder of the session.
func fileRef(head change.Head, p string) change.Ref {
	ref := change.Ref{Kind: change.KindFile, Project: head.Ref.Project, Session: head.ID, Part: p}
	if name, ok := strings.CutPrefix(p, subagents+"/"+agentPrefix); ok && strings.HasSuffix(name, suffix) &&
		!strings.Contains(name, "/") {
		subagentRef := change.Ref{
			Kind: change.KindSession, Project: ref.Project, Session: subagentID(head.ID, strings.TrimSuffix(name, suffix)),
		}
		if subagentRef.Validate() == nil {
			return subagentRef
		}
	}
	return ref
}
