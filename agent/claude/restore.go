package claude

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"

	"mend/agent"
	"mend/agent/claude/transcript"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/jsonedit"
	"mend/linestore"
)

// Restore implements [agent.Store]. If the file was deleted while the program ran, and the program has started a new
// transcript, the new one is appended to the kept one. A transcript that continued differently is replaced only with
// Force. Records of another session, for example because a file was copied over the transcript, do not count.
func (s *store) Restore(ctx context.Context, head change.Head, kept []change.Op,
	r agent.RestoreRequest,
) (agent.Restoration, error) {
	result := agent.Restoration{}
	kept = slices.Clone(kept)
	at := slices.IndexFunc(kept, func(o change.Op) bool {
		return (o.Ref.Kind == change.KindSession || o.Ref.Kind == change.KindTranscript) && o.Ref.Session == head.ID
	})
	if at < 0 {
		return result, fmt.Errorf("restoring session %s: the copy has no transcript", head.ID)
	}
	for i := range kept { // the session may have been moved since
		kept[i].Ref.Project = head.Ref.Project
	}
	refs := make([]change.Ref, len(kept))
	for i, o := range kept {
		refs[i] = o.Ref
	}
	now, err := s.Read(ctx, refs)
	if err != nil {
		return result, err
	}
	if kept[at].Ref.Kind == change.KindTranscript { // the file does not exist, see [agent.Store]
		result.Ops = kept[at : at+1 : at+1]
		result.Ops = append(result.Ops, fileOps(kept, now, at, r.Exact)...)
		return result, nil
	}
	post, present := kept[at].Post.Data, []byte(nil)
	mode := fs.FileMode(linestore.Mode) // mode of a new file
	if now[at] != nil {
		present, mode = now[at].Data, now[at].Mode
	}
	then, current := chainOf(post, head.ID), chainOf(present, head.ID)
	gone, _ := then.countLost(current, r.Edited)
	lost, gained := gone > 0, current.hasExtra(then)
	switch {
	case lost && !r.Exact && current.isContinuationOf(then):
		post, result.Joined = then.join(post, present, gained, r.Edited), gained
	case lost && gained && !r.Force:
		return result, fail.New(fail.Refused, "--force replaces the session with the kept copy; mend undo brings "+
			"back the present one",
			"restoring session %s: another conversation has begun under its id since then", head.ID)
	case !r.Exact && now[at] != nil && !lost:
		post = nil
	}
	result.Messages, _ = countMessages(present)
	if post != nil {
		result.Messages, _ = countMessages(post)
	}
	if post != nil && (now[at] == nil || !bytes.Equal(post, present)) {
		result.Ops = append(result.Ops, change.Op{Ref: refs[at], Post: &change.Image{Data: post, Mode: mode}})
	}
	result.Ops = append(result.Ops, fileOps(kept, now, at, r.Exact)...)
	return result, nil
}

// fileOps returns the ops for the files beside the transcript kept[at].
func fileOps(kept []change.Op, now []*change.Image, at int, exact bool) (ops []change.Op) {
	for i, o := range kept {
		if i == at {
			continue
		}
		if now[i] == nil || exact && !bytes.Equal(now[i].Data, o.Post.Data) || len(now[i].Data) < len(o.Post.Data) &&
			bytes.HasPrefix(o.Post.Data, now[i].Data) {
			post := *o.Post
			if now[i] != nil {
				post.Mode = now[i].Mode
			}
			ops = append(ops, change.Op{Ref: o.Ref, Post: &post})
		}
	}
	return ops
}

// A chain has the records of a session, linked by their parents.
type chain struct {
	parents map[string]string // by id
	lines   map[string][]byte // the last line of each record
	session string            // session id of the transcript; a subagent's records name its owner
}

func chainOf(data []byte, session string) chain {
	c := chain{map[string]string{}, map[string][]byte{}, session}
	owner, _, ok := subagent(session)
	if !ok {
		owner = session
	}
	for line := range bytes.Lines(data) {
		line = bytes.TrimRight(line, "\r\n")
		r := transcript.NewLine(line).Record
		if r == nil || !r.InChain() || r.UUID == "" {
			continue
		}
		if id := r.Text("sessionId"); id == "" || id == owner {
			c.parents[r.UUID], c.lines[r.UUID] = r.Parent, line
		}
	}
	return c
}

// hasExtra reports whether the chain has a record that the other chain lacks.
func (c chain) hasExtra(other chain) bool {
	for id := range c.parents {
		if _, ok := other.parents[id]; !ok {
			return true
		}
	}
	return false
}

// countLost counts the records of the chain that the other chain lacks or has without their content, and the messages
// among these records.
func (c chain) countLost(other chain, edited map[change.Ref]bool) (records, messages int) {
	for id, line := range c.lines {
		if edited[c.ref(id)] || other.lines[id] != nil && !hasLostContent(other.lines[id], line) {
			continue
		}
		records++
		if transcript.NewLine(line).Record.IsMessage() {
			messages++
		}
	}
	return records, messages
}

// ref returns the ref of a record, without a project.
func (c chain) ref(id string) change.Ref {
	return change.Ref{Kind: change.KindMessage, Session: c.session, Message: id}
}

// hasLostContent reports whether a record has lost content.
func hasLostContent(now, then []byte) bool {
	if bytes.Equal(now, then) {
		return false
	}
	old, current := jsonedit.Parse(then), jsonedit.Parse(now)
	return jsonedit.HasLostText(current.Get("type"), old.Get("type")) ||
		jsonedit.HasLostText(current.Get("content"), old.Get("content")) ||
		jsonedit.HasLostText(current.Get("attachment"), old.Get("attachment")) ||
		jsonedit.HasLostText(current.Get("message").Get("role"), old.Get("message").Get("role")) ||
		jsonedit.HasLostText(current.Get("message").Get("content"), old.Get("message").Get("content"))
}

func (*store) CountMissing(now, then []change.Record, edited map[change.Ref]bool) (lack agent.Lack) {
	byRef := make(map[change.Ref][]byte, len(now))
	for _, r := range now {
		r.Ref.Project = ""
		byRef[r.Ref] = r.Data
	}
	for _, r := range then {
		r.Ref.Project = ""
		switch data, there := byRef[r.Ref]; {
		case r.Ref.Kind != change.KindSession && (!there || len(data) < len(r.Data) && bytes.HasPrefix(r.Data, data)):
			lack.Records++
		case r.Ref.Kind == change.KindSession && !bytes.HasPrefix(data, r.Data): // otherwise the transcript only continued
			records, messages := chainOf(r.Data, r.Ref.Session).countLost(chainOf(data, r.Ref.Session), edited)
			lack.Records, lack.Messages = lack.Records+records, lack.Messages+messages
		}
	}
	return lack
}

// isContinuationOf reports whether all of the chain descends from records of the other chain.
func (c chain) isContinuationOf(other chain) bool {
	for id, up := range c.parents {
		_, own := c.parents[up]
		_, before := other.parents[up]
		if _, both := other.parents[id]; !own && !before && !both {
			return false
		}
	}
	return true
}

// join returns then, the chain's transcript, followed by the lines of now, a later transcript, that it lacks. If now
// continued the chain (gained), join adds all these lines, otherwise only lines with the session's id. It leaves out
// lines that are not records or that have lost their content.
func (c chain) join(then, now []byte, gained bool, edited map[change.Ref]bool) (all []byte) {
	written := map[string]bool{}
	add := func(line []byte) {
		if len(all) > 0 && all[len(all)-1] != '\n' {
			all = append(all, '\n')
		}
		all = append(all, line...)
	}
	for line := range bytes.Lines(then) {
		text := bytes.TrimRight(line, "\r\n")
		if id := jsonedit.Parse(text).TextAt("uuid"); id == "" || !edited[c.ref(id)] {
			add(line)
			written[string(text)] = true
		}
	}
	for line := range bytes.Lines(now) {
		text := bytes.TrimRight(line, "\r\n")
		v := jsonedit.Parse(text)
		id, session := v.TextAt("uuid"), v.TextAt("sessionId")
		before := c.lines[id]
		if written[string(text)] || v.Kind() != '{' || len(v.Raw()) <= len("{}") || !gained && session != c.session ||
			before != nil && !edited[c.ref(id)] && hasLostContent(text, before) {
			continue
		}
		add(append(text[:len(text):len(text)], '\n'))
	}
	return all
}
