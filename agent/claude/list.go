package claude

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"

	"mend/agent/claude/transcript"
	"mend/internal/safedir"
	"mend/jsonedit"
	"mend/session"
)

// sessionName is the name of a session's transcript without its suffix.
var sessionName = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// A file is a transcript that was found.
type file struct {
	folder string // below projects
	name   string // with its suffix
	entry  safedir.Entry
}

// eachFile calls yield for each transcript of a session, with its folder open.
func (s *store) eachFile(ctx context.Context, yield func(d *safedir.Dir, f file) error) error {
	root, err := s.lines.OpenRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	all, err := root.Sub(projects)
	if err != nil {
		return err
	}
	defer all.Close()
	folders, err := all.Names(nil)
	if err != nil {
		return err
	}
	folders = slices.Sorted(slices.Values(folders))
	for _, folder := range folders {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := eachIn(all, folder, yield); err != nil {
			return err
		}
	}
	return nil
}

func eachIn(all *safedir.Dir, folder string, yield func(d *safedir.Dir, f file) error) error {
	d, err := all.Sub(folder)
	var strange *safedir.NotFolderError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &strange) || errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	names, err := d.Names(nil)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !sessionName.MatchString(strings.TrimSuffix(name, suffix)) || !strings.HasSuffix(name, suffix) {
			continue
		}
		e, err := d.Stat(name)
		if err != nil {
			return err
		}
		if e.Exists {
			if err := yield(d, file{folder, name, e}); err != nil {
				return err
			}
		}
	}
	return nil
}

// List implements [agent.Store].
func (s *store) List(ctx context.Context) (heads []session.Head, err error) {
	err = s.eachFile(ctx, func(d *safedir.Dir, f file) error {
		h, err := readHead(d, f)
		if err == nil {
			heads = append(heads, h)
		}
		return err
	})
	return heads, err
}

// The sizes in bytes of what a list reads of a transcript.
const (
	headSize = 16 << 10
	tailSize = 64 << 10
)

// readHead reads what a list shows of a session: from the beginning and the end of its
// transcript.
func readHead(d *safedir.Dir, f file) (session.Head, error) {
	id, project := strings.TrimSuffix(f.name, suffix), projectID(f.folder)
	h := session.Head{
		ID: id, Project: project, Ref: session.Ref{Kind: session.KindSession, Project: project, Session: id},
		Updated: time.Unix(0, f.entry.Mtime).UnixMilli(),
	}
	if !f.entry.IsFile() {
		h.Stray = append(h.Stray, session.Stray{Path: projects + "/" + f.folder + "/" + f.name, Why: f.entry.ReadProblem(), Hidden: true})
		return h, nil
	}
	head, tail, err := d.ReadEnds(f.name, headSize, tailSize)
	if why, ok := safedir.ReadFailure(err); ok {
		h.Stray = append(h.Stray, session.Stray{Path: projects + "/" + f.folder + "/" + f.name, Why: why, Hidden: true})
		return h, nil
	}
	if err != nil {
		return h, err
	}
	var t titles
	for line := range bytes.SplitSeq(head, []byte("\n")) {
		t.read(line)
	}
	first := t.time
	for line := range bytes.SplitSeq(tail, []byte("\n")) {
		t.read(line)
	}
	h.Title, h.Directory, h.Version, h.Created = t.title(), t.cwd, t.version, first
	return h, nil
}

// titles are what the lines of a transcript say about the session.
type titles struct {
	custom, ai, prompt, summary string
	cwd, version                string
	time                        int64
}

func (t *titles) read(line []byte) {
	if len(line) == 0 || line[0] != '{' {
		return
	}
	l := transcript.NewLine(line)
	r := l.Record
	if r == nil {
		return
	}
	text := func(name string) string {
		v, _ := jsonedit.Parse(r.Raw).Get(name).Text()
		return v
	}
	switch r.Type {
	case "custom-title":
		t.custom = text("customTitle")
	case "ai-title":
		t.ai = text("aiTitle")
	case "summary":
		t.summary = text("summary")
	case transcript.User:
		if t.prompt == "" && r.IsPrompt() && !strings.HasPrefix(r.Title(), "<") {
			t.prompt = r.Title()
		}
	}
	t.cwd, t.version = cmp.Or(t.cwd, r.CWD), cmp.Or(r.Version, t.version)
	if t.time == 0 && r.Timed {
		t.time = r.Time
	}
}

func (t *titles) title() string {
	title := cmp.Or(t.custom, t.ai, t.summary, t.prompt)
	if r := []rune(title); len(r) > 80 {
		title = string(r[:79]) + "…"
	}
	return title
}

// Stamp implements [agent.Scanner].
func (s *store) Stamp(_ context.Context, head session.Head) (session.Stamp, error) {
	_, e, err := s.stat(head)
	return stampOf(e), err
}

// stampOf returns the stamp of a transcript. A repair restores the time of the last change of
// the content, so the stamp has that of the inode too.
func stampOf(e safedir.Entry) session.Stamp {
	b := appendEntry(nil, e)
	return session.Stamp{Sum: sha256.Sum256(b), Newest: time.Unix(0, max(e.Mtime, e.Ctime))}
}

func appendEntry(b []byte, e safedir.Entry) []byte {
	for _, n := range []uint64{e.Dev, e.Ino, uint64(e.Size), uint64(e.Mtime), uint64(e.Ctime), uint64(e.Mode)} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
}

// State implements [agent.Scanner].
func (s *store) State(ctx context.Context) (session.Stamp, error) {
	sum, newest := sha256.New(), time.Time{}
	err := s.eachFile(ctx, func(_ *safedir.Dir, f file) error {
		sum.Write([]byte(f.folder + "/" + f.name + "\x00"))
		sum.Write(appendEntry(nil, f.entry))
		if at := time.Unix(0, max(f.entry.Mtime, f.entry.Ctime)); at.After(newest) {
			newest = at
		}
		return nil
	})
	st := session.Stamp{Newest: newest}
	sum.Sum(st.Sum[:0])
	return st, err
}
