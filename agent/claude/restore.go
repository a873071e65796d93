package claude

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"mend/agent"
	"mend/agent/claude/transcript"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/jsonedit"
	"mend/internal/ownfile"
	"mend/linestore"
)

// Restore implements [agent.Store]. A transcript that the program has begun anew, because the file was gone
// while it ran, is put after what was kept. One that went on otherwise stays. Records of another session, such as a
// file that was copied over the transcript, are no content of this one.
func (s *store) Restore(ctx context.Context, head change.Head, kept []change.Op,
	r agent.RestoreRequest,
) (agent.Restoration, error) {
	is := agent.Restoration{}
	kept = slices.Clone(kept)
	at := slices.IndexFunc(kept, func(o change.Op) bool {
		return (o.Ref.Kind == change.KindSession || o.Ref.Kind == change.KindTranscript) && o.Ref.Session == head.ID
	})
	if at < 0 {
		return is, fmt.Errorf("restoring session %s: the copy has no transcript", head.ID)
	}
	for i := range kept { // it may have been moved since
		kept[i].Ref.Project = head.Ref.Project
	}
	if err := s.checkFolder(head); err != nil {
		return is, err
	}
	refs := make([]change.Ref, len(kept))
	for i, o := range kept {
		refs[i] = o.Ref
	}
	now, err := s.Read(ctx, refs)
	if err != nil {
		return is, err
	}
	if kept[at].Ref.Kind == change.KindTranscript { // there is none, see [agent.Store]
		is.Ops = kept[at : at+1 : at+1]
		is.Ops = append(is.Ops, beside(kept, now, at, r.Exact)...)
		return is, nil
	}
	post, has := kept[at].Post.Data, []byte(nil)
	mode := fs.FileMode(linestore.Mode) // of a new file
	if now[at] != nil {
		has, mode = now[at].Data, now[at].Mode
	}
	then, current := chainOf(post, head.ID), chainOf(has, head.ID)
	gone, _ := then.lacking(current, r.Edited)
	lost, gained := gone > 0, current.without(then)
	switch {
	case lost && !r.Exact && current.continues(then):
		post, is.Joined = then.joined(post, has, gained, r.Edited), gained
	case lost && gained && !r.Force:
		return is, fail.New(fail.Refused, "--force puts what was kept in the place of what there is; mend undo brings "+
			"that back",
			"restoring session %s: another conversation has begun under its id since", head.ID)
	case !r.Exact && now[at] != nil && !lost:
		post = nil
	}
	is.Messages, _ = countMessages(has)
	if post != nil {
		is.Messages, _ = countMessages(post)
	}
	if post != nil && (now[at] == nil || !bytes.Equal(post, has)) {
		is.Ops = append(is.Ops, change.Op{Ref: refs[at], Post: &change.Image{Data: post, Mode: mode}})
	}
	is.Ops = append(is.Ops, beside(kept, now, at, r.Exact)...)
	return is, nil
}

// beside returns the ops for the files beside a transcript, which is the one at a place.
func beside(kept []change.Op, now []*change.Image, at int, exact bool) (ops []change.Op) {
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

// checkFolder returns an error if the folder of the project is gone and a ref does not say its name.
func (s *store) checkFolder(head change.Head) error {
	p, _, err := s.layout.Path(head.Ref)
	if err != nil {
		return err
	}
	name := strings.Split(p, "/")[1]
	if i := strings.LastIndexByte(name, '.'); i < 0 || len(name)-i != 1+32 { // no hash, see projectID
		return nil
	}
	return fail.New(fail.Refused, "start Claude Code in "+ownfile.Quote(head.Directory)+" once, which makes that "+
		"folder; then restore again",
		"restoring session %s: its folder in %s is gone, and its name is longer than mend keeps", head.ID,
		filepath.Join(s.ID().Root, projects))
}

// A chain has the records of a transcript that are joined by their parents: those of the session itself.
type chain struct {
	parents map[string]string // by id
	lines   map[string][]byte // the last one of each
	session string            // of the transcript; a subagent's records name its owner
}

// chainOf returns the chain of a transcript.
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
		if of := r.Text("sessionId"); of == "" || of == owner {
			c.parents[r.UUID], c.lines[r.UUID] = r.Parent, line
		}
	}
	return c
}

// without reports whether the chain has a record that the other one lacks.
func (c chain) without(other chain) bool {
	for id := range c.parents {
		if _, ok := other.parents[id]; !ok {
			return true
		}
	}
	return false
}

// lacking counts the records of the chain that the other one has no more, or without their content, and the
// messages of these.
func (c chain) lacking(other chain, edited map[change.Ref]bool) (records, messages int) {
	for id, line := range c.lines {
		if edited[c.ref(id)] || other.lines[id] != nil && !emptied(other.lines[id], line) {
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

// emptied reports whether a record has lost content.
func emptied(now, then []byte) bool {
	if bytes.Equal(now, then) {
		return false
	}
	was, is := jsonedit.Parse(then), jsonedit.Parse(now)
	return jsonedit.Lacks(is.Get("type"), was.Get("type")) || jsonedit.Lacks(is.Get("content"), was.Get("content")) ||
		jsonedit.Lacks(is.Get("attachment"), was.Get("attachment")) ||
		jsonedit.Lacks(is.Get("message").Get("role"), was.Get("message").Get("role")) ||
		jsonedit.Lacks(is.Get("message").Get("content"), was.Get("message").Get("content"))
}

// Lacks implements [agent.Reader].
func (*store) Lacks(now, then []change.Record, edited map[change.Ref]bool) (lack agent.Lack) {
	has := make(map[change.Ref][]byte, len(now))
	for _, r := range now {
		r.Ref.Project = ""
		has[r.Ref] = r.Data
	}
	for _, r := range then {
		r.Ref.Project = ""
		switch data, there := has[r.Ref]; {
		case r.Ref.Kind != change.KindSession && (!there || len(data) < len(r.Data) && bytes.HasPrefix(r.Data, data)):
			lack.Records++
		case r.Ref.Kind == change.KindSession && !bytes.HasPrefix(data, r.Data): // else it went on
			records, messages := chainOf(r.Data, r.Ref.Session).lacking(chainOf(data, r.Ref.Session), edited)
			lack.Records, lack.Messages = lack.Records+records, lack.Messages+messages
		}
	}
	return lack
}

// continues reports whether all of the chain hangs on records of another one.
func (c chain) continues(other chain) bool {
	for id, up := range c.parents {
		_, own := c.parents[up]
		_, before := other.parents[up]
		if _, both := other.parents[id]; !own && !before && !both {
			return false
		}
	}
	return true
}

// joined returns a transcript of the chain with those lines of a later one after it that it lacks: if that went on
// all of them, else those that say that they are of the session. Left out is what is no record, or one that has
// lost its content.
func (c chain) joined(then, now []byte, gained bool, edited map[change.Ref]bool) (all []byte) {
	has := map[string]bool{}
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
			has[string(text)] = true
		}
	}
	for line := range bytes.Lines(now) {
		text := bytes.TrimRight(line, "\r\n")
		v := jsonedit.Parse(text)
		id, of := v.TextAt("uuid"), v.TextAt("sessionId")
		before := c.lines[id]
		if has[string(text)] || v.Kind() != '{' || len(v.Raw()) <= len("{}") || !gained && of != c.session ||
			before != nil && !edited[c.ref(id)] && emptied(text, before) {
			continue
		}
		add(append(text[:len(text):len(text)], '\n'))
	}
	return all
}
