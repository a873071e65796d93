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

// Restore implements [agent.Store]. If the file was deleted while Claude Code ran, and Claude Code has started a new
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
	earlier, current := chainOf(post, head.ID), chainOf(present, head.ID)
	records, _ := earlier.countLost(current, r.Edited)
	lost, gained := records > 0, current.hasExtra(earlier)
	switch {
	case lost && !r.Exact && current.isContinuationOf(earlier):
		post, result.Joined = earlier.join(post, present, gained, r.Edited), gained
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

// hasLostContent reports whether the current line of a record lacks content of an earlier one.
func hasLostContent(current, earlier []byte) bool {
	if bytes.Equal(current, earlier) {
		return false
	}
	a, b := jsonedit.Parse(current), jsonedit.Parse(earlier)
	return jsonedit.HasLostText(a.Get("type"), b.Get("type")) ||
		jsonedit.HasLostText(a.Get("content"), b.Get("content")) ||
		jsonedit.HasLostText(a.Get("attachment"), b.Get("attachment")) ||
		jsonedit.HasLostText(a.Get("message").Get("role"), b.Get("message").Get("role")) ||
		jsonedit.HasLostText(a.Get("message").Get("content"), b.Get("message").Get("content"))
}

func (*store) CountMissing(current, earlier []change.Record, edited map[change.Ref]bool) (lack agent.Lack) {
	byRef := make(map[change.Ref][]byte, len(current))
	for _, r := range current {
		r.Ref.Project = ""
		byRef[r.Ref] = r.Data
	}
	for _, r := range earlier {
		r.Ref.Project = ""
		switch data, exists := byRef[r.Ref]; {
		case r.Ref.Kind != change.KindSession && (!exists || len(data) < len(r.Data) && bytes.HasPrefix(r.Data, data)):
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
	for id, parent := range c.parents {
		_, inOwn := c.parents[parent]
		_, inOther := other.parents[parent]
		if _, inBoth := other.parents[id]; !inOwn && !inOther && !inBoth {
			return false
		}
	}
	return true
}

// join returns earlier, the chain's transcript, followed by the lines of current, a later transcript, that it lacks.
// If current continued the chain (gained), join adds all these lines, otherwise only lines with the session's id. It
// leaves out lines that are not records or that have lost their content.
func (c chain) join(earlier, current []byte, gained bool, edited map[change.Ref]bool) (all []byte) {
	written := map[string]bool{}
	add := func(line []byte) {
		if len(all) > 0 && all[len(all)-1] != '\n' {
			all = append(all, '\n')
		}
		all = append(all, line...)
	}
	for line := range bytes.Lines(earlier) {
		text := bytes.TrimRight(line, "\r\n")
		if id := jsonedit.Parse(text).TextAt("uuid"); id == "" || !edited[c.ref(id)] {
			add(line)
			written[string(text)] = true
		}
	}
	for line := range bytes.Lines(current) {
		text := bytes.TrimRight(line, "\r\n")
		v := jsonedit.Parse(text)
		id, session := v.TextAt("uuid"), v.TextAt("sessionId")
		own := c.lines[id]
		if written[string(text)] || v.Kind() != '{' || len(v.Raw()) <= len("{}") || !gained && session != c.session ||
			own != nil && !edited[c.ref(id)] && hasLostContent(text, own) {
			continue
		}
		add(append(text[:len(text):len(text)], '\n'))
	}
	return all
}
