package claude

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"unicode/utf16"

	"mend/agent"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/jsonedit"
	"mend/internal/safedir"
)

// longestFolder is the greatest length of a folder name below projects that Claude Code does not cut.
const longestFolder = 200

// folderOf returns the name of the folder below projects for a working directory. Like Claude Code, it maps each
// UTF-16 unit to a character, and cuts a long name and adds a hash.
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

// Move implements [agent.Store]. Like Claude Code when a session gets another folder, it moves the transcript and the
// session's files beside it to that folder's project, and appends a line with the new folder.
func (s *store) Move(ctx context.Context, all []agent.Relocation, each func(change.Plan) error) error {
	noted := map[string]bool{}
	return agent.PlanMoves(ctx, all, each, func(r agent.Relocation) ([]change.Op, error) {
		_, _, isAgent := subagent(r.Head.ID)
		if isAgent || r.Head.Directory == r.To && r.Head.Project == folderOf(r.To) {
			return nil, nil
		}
		if !noted[r.Head.Directory] {
			noted[r.Head.Directory] = true
			s.noteMemory(r.Head.Directory)
		}
		return s.relocate(ctx, r)
	})
}

func (s *store) relocate(ctx context.Context, r agent.Relocation) ([]change.Op, error) {
	e, err := s.Load(r.Head.Ref)
	if err != nil {
		return nil, err
	}
	from, to := r.Head.Ref, r.Head.Ref
	to.Project = folderOf(r.To)
	mode := e.Mode.Perm()
	pre, post := &change.Image{Data: e.Data, Mode: mode}, &change.Image{Data: relocateTranscript(e.Data, r), Mode: mode}
	if to == from { // both folders have the same project
		return []change.Op{{Ref: from, Pre: pre, Post: post}}, nil
	}
	switch existing, err := s.Read(ctx, []change.Ref{to}); {
	case err != nil:
		return nil, err
	case existing[0] != nil:
		return nil, fail.New(fail.Refused, "move away one of the two", "%s has a session with the same id already",
			filepath.Join(s.ID().Root, projects, folderOf(r.To)))
	}
	files, err := s.moveFolder(from.Project, to.Project, r.Head.ID)
	ops := append([]change.Op{{Ref: to, Post: post}, {Ref: from, Pre: pre}}, files...)
	change.Sort(ops)
	return ops, err
}

// relocateTranscript returns a transcript with a last line that has the session's new folder.
func relocateTranscript(data []byte, r agent.Relocation) []byte {
	post := slices.Clip(bytes.Clone(data))
	if len(post) > 0 && post[len(post)-1] != '\n' {
		post = append(post, '\n')
	}
	return append(post, fmt.Sprintf(`{"type":"relocated","sessionId":%s,"relocatedCwd":%s}`+"\n",
		jsonedit.Quote(r.Head.ID), jsonedit.Quote(r.To))...)
}

// moveFolder returns the ops that move a folder beside the transcripts of a project, with all its content, to another
// project. A folder with the name of a session has files that belong to its transcript.
func (s *store) moveFolder(project, to, name string) (ops []change.Op, err error) {
	d, _, err := s.OpenFolder(change.Ref{Kind: change.KindSession, Project: project, Session: name})
	if err != nil {
		return nil, err
	}
	defer d.Close()
	move := func(ref change.Ref, i *change.Image) {
		after := ref
		after.Project = to
		ops = append(ops, change.Op{Ref: after, Post: i}, change.Op{Ref: ref, Pre: i})
	}
	err = walk(d, name, "", min(s.Most, change.MaxText), func(at string, e safedir.Entry, err error) (bool, error) {
		ref := change.Ref{Kind: change.KindFile, Project: project, Session: name, Part: at}
		switch why := e.ReplaceProblem(); {
		case err != nil:
			return false, err
		case at == "" && !e.IsDir() && e.Mode&fs.ModeSymlink == 0:
			return false, nil
		case ref.Validate() != nil:
			return false, ref.Validate()
		case e.IsDir():
			ref.Kind, ref.Part = change.KindFolder, path.Join(name, at)
			move(ref, &change.Image{Mode: fs.ModeDir | e.Mode.Perm()})
		case why != "":
			return false, fmt.Errorf("%s: %s", path.Join(name, at), why)
		default:
			move(ref, &change.Image{Data: e.Data, Mode: e.Mode.Perm()})
		}
		return true, nil
	})
	return ops, err
}

// walk visits an entry of a folder and then, if that is a folder itself, the entries in it, in the order of their
// names. at is the path of the entry that visit gets. visit gets the content of files up to most bytes, and the reason
// why an entry cannot be read. It reports whether to enter a folder.
func walk(d *safedir.Dir, name, at string, most int64, visit func(at string, e safedir.Entry,
	err error) (enter bool, _ error),
) error {
	e, err := d.Read(name, most)
	enter, err := visit(at, e, err)
	if err != nil || !enter || !e.IsDir() {
		return err
	}
	var names []string
	sub, err := d.Sub(name)
	if err == nil {
		defer sub.Close()
		names, err = sub.Names()
	}
	if err != nil {
		_, err = visit(at, e, err)
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		if err := walk(sub, name, path.Join(at, name), most, visit); err != nil {
			return err
		}
	}
	return nil
}

// noteMemory notes that Claude Code's memory of a folder, beside the transcripts, is not moved.
func (s *store) noteMemory(folder string) {
	memory := path.Join(projects, folderOf(folder), "memory")
	if _, err := os.Stat(filepath.Join(s.ID().Root, filepath.FromSlash(memory))); err == nil {
		s.Note("%s stays: mend moves sessions, but not Claude Code's memory of a folder", memory)
	}
}
