package claude

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"mend/agent"
	"mend/agent/claude/transcript"
	"mend/change"
	"mend/internal/jsonedit"
	"mend/internal/safedir"
)

// Copy implements [agent.Store]: the transcript as one record with the ref of the session, and all regular
// files in the folder of the session beside it: each transcript of a subagent as that of a session, others,
// such as results of tools, as [change.KindFile] with their path below that folder. Not copied are what is
// elsewhere in Claude Code's folder (copies of edited files for rewind, todos, history of prompts, state of shells), links,
// and hidden files. A subagent that belongs to a session is copied with it alone.
func (s *store) Copy(ctx context.Context, head change.Head, _ []change.Mark) (c agent.Copy, err error) {
	if s.CopiedWith(head) != "" {
		return c, errors.ErrUnsupported
	}
	e, err := s.Load(head.Ref, nil)
	if err != nil {
		return c, err
	}
	c.Records = append(c.Records, change.Record{Ref: head.Ref, Data: e.Data, Mode: e.Mode.Perm()})
	c.Messages, c.First = countMessages(e.Data)
	d, _, err := s.OpenFolder(head.Ref)
	if err != nil {
		return c, err
	}
	defer d.Close()
	b := beside{ctx: ctx, head: head, copy: &c}
	b.add(d, head.ID, "")
	if b.err != nil {
		return c, fmt.Errorf("reading what is beside transcript %s: %w", head.ID, b.err)
	}
	if now, err := s.Stat(head.Ref); err == nil && stampOf(now) == stampOf(e) {
		c.Stamp = stampOf(e)
	}
	return c, nil
}

// CopiedWith implements [agent.Store].
func (*store) CopiedWith(head change.Head) string {
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
		switch kind, _ := v.Get("type").Text(); kind {
		case transcript.User, transcript.Assistant:
			if n++; n == 1 {
				first, _ = v.Get("uuid").Text()
			}
		}
	}
	return n, first
}

// A beside collects the files in the folder of a session.
type beside struct {
	ctx  context.Context
	head change.Head
	copy *agent.Copy
	err  error
}

// maxBeside is the number of folders in one another that are read there.
const maxBeside = 8

// add adds the files in a folder; below is its path below that of the session, with a slash at its end.
func (b *beside) add(at *safedir.Dir, name, below string) {
	if b.err != nil || strings.Count(below, "/") > maxBeside {
		return
	}
	d, err := at.Sub(name)
	var strange *safedir.NotFolderError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &strange) {
		return
	}
	var names []string
	if err == nil {
		defer d.Close()
		names, err = d.Names()
	}
	if why, ok := safedir.ReadFailure(err); ok {
		b.copy.Unread = "folder " + b.head.ID + "/" + below + ": " + why
		return
	}
	if err != nil {
		b.err = err
		return
	}
	slices.Sort(names)
	for _, name := range names {
		if b.err == nil {
			b.err = b.ctx.Err()
		}
		b.addEntry(d, name, below)
	}
}

func (b *beside) addEntry(d *safedir.Dir, name, below string) {
	ref := b.ref(below + name)
	if b.err != nil || ref.Validate() != nil {
		return
	}
	e, err := d.Read(nil, name, change.MaxText)
	if why, ok := safedir.ReadFailure(err); ok {
		b.copy.Unread = ref.String() + ": " + why
		return
	}
	switch {
	case err != nil:
		b.err = err
	case e.IsDir():
		b.add(d, name, below+name+"/")
	case e.IsFile() && e.TooLarge:
		b.copy.Unread = ref.String() + ": " + e.ReadProblem()
	case e.IsFile():
		b.copy.Records = append(b.copy.Records, change.Record{Ref: ref, Data: e.Data, Mode: e.Mode.Perm()})
	}
}

// ref returns the ref of a file at a path below the folder of the session.
func (b *beside) ref(p string) change.Ref {
	ref := change.Ref{Kind: change.KindFile, Project: b.head.Ref.Project, Session: b.head.ID, Part: p}
	if name, ok := strings.CutPrefix(p, subagents+"/"+agentPrefix); ok && strings.HasSuffix(name, suffix) && !strings.Contains(name, "/") {
		of := change.Ref{Kind: change.KindSession, Project: ref.Project, Session: subagentID(b.head.ID, strings.TrimSuffix(name, suffix))}
		if of.Validate() == nil {
			return of
		}
	}
	return ref
}
