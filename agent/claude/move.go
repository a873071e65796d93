package claude

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"mend/agent"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/jsonedit"
	"mend/internal/safedir"
)

// longestFolder is the length of the longest folder of projects that the program does not cut.
const longestFolder = 200

// folderOf returns the name of the folder below projects for the sessions of a working directory: as the
// program makes it, of the units of UTF-16, with a hash if it is cut.
func folderOf(dir string) string {
	units := utf16.Encode([]rune(dir))
	name, hash := make([]byte, len(units)), int32(0)
	for i, u := range units {
		hash = hash*31 + int32(u)
		name[i] = '-'
		if u < 128 && (u >= 'a' && u <= 'z' || u >= 'A' && u <= 'Z' || u >= '0' && u <= '9') {
			name[i] = byte(u)
		}
	}
	if len(name) <= longestFolder {
		return string(name)
	}
	return string(name[:longestFolder]) + "-" + strconv.FormatInt(max(int64(hash), -int64(hash)), 36)
}

// Move implements [agent.Store]. It does what the program itself does when a session gets another folder:
// the transcript and what is beside it for the session go to the folder of projects of that, and a last line
// says where the session is now.
func (s *store) Move(ctx context.Context, all []agent.Relocation) (plans []change.Plan, err error) {
	for _, r := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, _, isAgent := subagent(r.Head.ID); isAgent || r.Head.Directory == r.To && r.Head.Project == projectID(folderOf(r.To)) {
			continue
		}
		p, err := s.moved(ctx, r)
		if err != nil {
			return nil, fmt.Errorf("moving session %s: %w", r.Head.ID, err)
		}
		plans = append(plans, p)
	}
	return plans, nil
}

func (s *store) moved(ctx context.Context, r agent.Relocation) (p change.Plan, err error) {
	p.Session = r.Head.ID
	e, err := s.Load(r.Head.Ref, nil)
	if err != nil {
		return p, err
	}
	from, to := r.Head.Ref, r.Head.Ref
	to.Project = projectID(folderOf(r.To))
	mode := e.Mode.Perm()
	pre, post := &change.Image{Data: e.Data, Mode: mode}, &change.Image{Data: relocated(e.Data, r), Mode: mode}
	if to == from { // both folders have the same name
		p.Ops = []change.Op{{Ref: from, Pre: pre, Post: post}}
		return p, nil
	}
	switch there, err := s.Read(ctx, []change.Ref{to}); {
	case err != nil:
		return p, err
	case there[0] != nil:
		return p, fail.New(fail.Refused, "move away one of the two", "%s has a session with the same id already", filepath.Join(s.ID().Root, projects, folderOf(r.To)))
	}
	p.Ops = []change.Op{{Ref: to, Post: post}, {Ref: from, Pre: pre}}
	beside, err := s.beside(r.Head, to.Project)
	p.Ops = append(p.Ops, beside...)
	change.Sort(p.Ops)
	return p, err
}

// relocated returns a transcript with a last line that says where the session is.
func relocated(data []byte, r agent.Relocation) []byte {
	post := slices.Clip(bytes.Clone(data))
	if len(post) > 0 && post[len(post)-1] != '\n' {
		post = append(post, '\n')
	}
	return append(post, fmt.Sprintf(`{"type":"relocated","sessionId":%s,"relocatedCwd":%s}`+"\n", jsonedit.Quote(r.Head.ID), jsonedit.Quote(r.To))...)
}

// beside returns the ops that move what is beside a transcript for its session: a folder with the name of
// the session.
func (s *store) beside(head change.Head, project string) (ops []change.Op, err error) {
	d, _, err := s.OpenFolder(head.Ref)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	sub, err := d.Sub(head.ID)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer sub.Close()
	return s.besideIn(sub, head, project, "")
}

// besideIn is beside for the folder at a path below that of the session.
func (s *store) besideIn(d *safedir.Dir, head change.Head, project, below string) (ops []change.Op, err error) {
	self, err := d.Stat(".")
	if err != nil {
		return nil, err
	}
	both := func(ref change.Ref, i *change.Image) {
		to := ref
		to.Project = project
		ops = append(ops, change.Op{Ref: to, Post: i}, change.Op{Ref: ref, Pre: i})
	}
	both(change.Ref{Kind: change.KindFolder, Project: head.Project, Session: head.ID, Part: path.Join(head.ID, below)}, &change.Image{Mode: fs.ModeDir | self.Mode.Perm()})
	names, err := d.Names()
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	for _, name := range names {
		at := path.Join(below, name)
		ref := change.Ref{Kind: change.KindFile, Project: head.Project, Session: head.ID, Part: at}
		if err := ref.Validate(); err != nil {
			return nil, err
		}
		e, err := d.Stat(name)
		if err != nil {
			return nil, err
		}
		if e.IsDir() {
			sub, err := d.Sub(name)
			if err != nil {
				return nil, err
			}
			in, err := s.besideIn(sub, head, project, at)
			sub.Close()
			if err != nil {
				return nil, err
			}
			ops = append(ops, in...)
			continue
		}
		if e, err = d.Read(nil, name, min(s.Most, change.MaxText)); err != nil {
			return nil, err
		}
		if why := e.ReplaceProblem(); why != "" {
			return nil, fmt.Errorf("%s: %s", strings.Join([]string{head.ID, at}, "/"), why)
		}
		both(ref, &change.Image{Data: e.Data, Mode: e.Mode.Perm()})
	}
	return ops, nil
}
