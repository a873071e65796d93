package claude

import (
	"bytes"
	"context"
	"crypto/sha256"
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
// while it ran, is put behind what was kept. One that went on otherwise stays, and what was kept becomes a
// session with an id of its own, as a fork has. Records of another session, such as a file that was copied
// over the transcript, are no content of this one.
func (s *store) Restore(ctx context.Context, head change.Head, kept []change.Op, r agent.RestoreRequest) (agent.Restoration, error) {
	is := agent.Restoration{Session: head.ID}
	kept = slices.Clone(kept)
	at := slices.IndexFunc(kept, func(o change.Op) bool { return o.Ref.Kind == change.KindSession && o.Ref.Session == head.ID })
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
	post, has := kept[at].Post.Data, []byte(nil)
	mode := fs.FileMode(linestore.Mode) // of a new file
	if now[at] != nil {
		has, mode = now[at].Data, now[at].Mode
	}
	then, current := chainOf(post, head.ID), chainOf(has, head.ID)
	lost, gained := then.without(current), current.without(then)
	switch {
	case lost && gained && !r.Exact && current.continues(then):
		post, is.Joined = appendMissing(post, has), true
	case lost && gained && !r.Force:
		return s.restoreBeside(ctx, head, kept)
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
	for i, o := range kept {
		if i == at {
			continue
		}
		if now[i] == nil || r.Exact && !bytes.Equal(now[i].Data, o.Post.Data) || len(now[i].Data) < len(o.Post.Data) && bytes.HasPrefix(o.Post.Data, now[i].Data) {
			post := *o.Post
			if now[i] != nil {
				post.Mode = now[i].Mode
			}
			is.Ops = append(is.Ops, change.Op{Ref: o.Ref, Post: &post})
		}
	}
	return is, nil
}

// checkFolder returns an error if the folder of the project is gone and a ref does not say its name.
func (s *store) checkFolder(head change.Head) error {
	p, _, err := s.layout.Locate(head.Ref)
	if err != nil {
		return err
	}
	name := strings.Split(p, "/")[1]
	if i := strings.LastIndexByte(name, '.'); i < 0 || len(name)-i != 1+32 { // no hash, see projectID
		return nil
	}
	return fail.New(fail.Refused, "start Claude Code in "+ownfile.Quote(head.Directory)+" once, which makes that folder; then restore again",
		"restoring session %s: its folder in %s is gone, and its name is longer than mend keeps", head.ID, filepath.Join(s.ID().Root, projects))
}

// A chain has the records of a transcript that are joined by their parents: those of the session itself.
type chain struct {
	parents map[string]string // by id
	session string
}

// chainOf returns the chain of a transcript.
func chainOf(data []byte, session string) chain {
	c := chain{map[string]string{}, session}
	for line := range bytes.Lines(data) {
		r := transcript.NewLine(bytes.TrimRight(line, "\r\n")).Record
		if r == nil || !r.InChain() || r.UUID == "" {
			continue
		}
		if of := r.Text("sessionId"); of == "" || of == session {
			c.parents[r.UUID] = r.Parent
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

// appendMissing returns a transcript with those lines of another one behind it that it lacks.
func appendMissing(data, from []byte) []byte {
	has := map[string]bool{}
	for line := range bytes.Lines(data) {
		has[string(bytes.TrimRight(line, "\r\n"))] = true
	}
	all := bytes.Clone(data)
	for line := range bytes.Lines(from) {
		line = bytes.TrimRight(line, "\r\n")
		if has[string(line)] {
			continue
		}
		if len(all) > 0 && all[len(all)-1] != '\n' {
			all = append(all, '\n')
		}
		all = append(append(all, line...), '\n')
	}
	return all
}

// restoreBeside plans to write what was kept as a session of its own. Its id follows from the content, so that
// a second restore finds it there.
func (s *store) restoreBeside(ctx context.Context, head change.Head, kept []change.Op) (agent.Restoration, error) {
	sum := sha256.New()
	for _, o := range kept {
		fmt.Fprintf(sum, "%s %d\n", change.Key(o.Ref), len(o.Post.Data))
		sum.Write(o.Post.Data)
	}
	id := sum.Sum(nil)
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	is := agent.Restoration{Session: fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])}
	for _, o := range kept {
		o.Ref.Session = strings.Replace(o.Ref.Session, head.ID, is.Session, 1)
		post := *o.Post
		if o.Ref.Kind == change.KindSession && o.Ref.Session == is.Session {
			is.Messages, _ = countMessages(post.Data)
		}
		if o.Ref.Kind == change.KindSession {
			post.Data, post.Mode = withSessionID(post.Data, is.Session), linestore.Mode
		}
		is.Ops = append(is.Ops, change.Op{Ref: o.Ref, Post: &post})
	}
	refs := make([]change.Ref, len(is.Ops))
	for i, o := range is.Ops {
		refs[i] = o.Ref
	}
	now, err := s.Read(ctx, refs)
	if err != nil {
		return is, err
	}
	there := slices.ContainsFunc(now, func(i *change.Image) bool { return i != nil })
	if there { // it was restored before, and may have gone on since
		is.Ops = nil
	}
	return is, nil
}

// withSessionID returns a transcript whose records say that they are of another session.
func withSessionID(data []byte, id string) []byte {
	var all []byte
	for line := range bytes.Lines(data) {
		text := bytes.TrimRight(line, "\r\n")
		for _, name := range []string{"sessionId", "session_id"} {
			if _, ok := jsonedit.Get(text, name); !ok {
				continue
			}
			if edited, err := jsonedit.Set(text, jsonedit.Quote(id), name); err == nil {
				text = edited
			}
		}
		all = append(append(all, text...), line[len(bytes.TrimRight(line, "\r\n")):]...)
	}
	return all
}
