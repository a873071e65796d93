package codex

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/mod/semver"

	"mend/agent"
	"mend/agent/codex/rollout"
	"mend/agent/sessionfile"
	"mend/change"
	"mend/internal/provider/openai"
	"mend/internal/request"
	"mend/internal/safedir"
	"mend/repair"
)

// A store is Codex's folder with its rollouts.
type store struct {
	agent.Base
	*sessionfile.Store

	step func(call string) error // that of [sessionfile.Options]

	mu    sync.Mutex
	index map[string]change.Record // rows of the index, by session; nil until they are read
	why   error                    // that they could not be
	seen  string                   // the state of the index then
}

var _ agent.Store = (*store)(nil)

// Refresh implements [agent.Store].
func (s *store) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index, s.why = nil, nil
}

// A file is a rollout that was found.
type file struct {
	path  string // below the root
	entry safedir.Entry
	why   string // why there is no entry; "" if there is one
}

// deepest is how many folders below the root hold rollouts.
const deepest = 8

// eachFile calls yield for each rollout, with its folder open.
func (s *store) eachFile(ctx context.Context, yield func(d *safedir.Dir, f file) error) error {
	root, err := s.OpenRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range []string{sessions, archived} {
		if err := s.walk(ctx, root, name, name, yield); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) walk(ctx context.Context, in *safedir.Dir, name, below string, yield func(d *safedir.Dir, f file) error) error {
	d, names, err := s.OpenNames(in, name)
	if _, unreadable := safedir.ReadFailure(err); d == nil {
		if unreadable {
			return nil // it is noted
		}
		return err
	}
	defer d.Close()
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		f := file{path: below + "/" + name}
		f.entry, err = d.Stat(name)
		if why, ok := safedir.ReadFailure(err); ok {
			f.why = why
		} else if err != nil {
			return err
		}
		switch {
		case f.entry.IsDir() && strings.Count(f.path, "/") < deepest:
			err = s.walk(ctx, d, name, f.path, yield)
		case !f.entry.IsDir() && (strings.HasSuffix(name, suffix) || isAlone(name, names)) && change.ValidateProject(projectOf(f.path)) == nil:
			err = yield(d, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isAlone reports whether a file is a compressed rollout. The program does not read it where the same one is there and not compressed.
func isAlone(name string, names []string) bool {
	plain, ok := strings.CutSuffix(name, rollout.Compressed)
	return ok && strings.HasSuffix(plain, suffix) && !slices.Contains(names, plain)
}

// unpack returns the content of a compressed rollout, and whether it is torn: then it is what is before that.
func (s *store) unpack(ref change.Ref, packed []byte) (data []byte, torn bool, err error) {
	r, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	most := min(s.Most, change.MaxText)
	data, err = io.ReadAll(io.LimitReader(r, most+1))
	torn = err != nil
	if int64(len(data)) > most {
		return nil, torn, fmt.Errorf("reading session %s: %w", ref.Session, &change.SizeError{Most: s.Most})
	}
	return data, torn, sessionfile.CheckLines(ref, data)
}

// headSize is the size in bytes of the beginning of a rollout that a list reads.
const headSize = 96 << 10

// List implements [agent.Store].
func (s *store) List(ctx context.Context) (heads []change.Head, err error) {
	var b safedir.Buffer
	err = s.eachFile(ctx, func(d *safedir.Dir, f file) error {
		h, ok := s.readHead(d, &b, f)
		if ok {
			heads = append(heads, h)
		}
		return nil
	})
	return heads, err
}

// readHead reads what a list shows of a session. It reports false for a file that is none of a session.
func (s *store) readHead(d *safedir.Dir, b *safedir.Buffer, f file) (h change.Head, ok bool) {
	var head []byte
	if f.why == "" && f.entry.IsFile() {
		head, _, _ = d.ReadEnds(b, path.Base(f.path), headSize, 0)
		if strings.HasSuffix(f.path, rollout.Compressed) {
			head, _, _ = s.unpack(change.Ref{}, head)
			head = head[:min(len(head), headSize)]
		}
	}
	id := rollout.NameID(f.path)
	if id == "" {
		id = rollout.IDOf(head)
	}
	if change.ValidateSessionID(id) != nil {
		return h, false
	}
	h = change.Head{ID: id, Ref: refOf(f.path, id), Project: projectOf(f.path), Updated: time.Unix(0, f.entry.Mtime).UnixMilli()}
	about := rollout.AboutOf(head)
	h.Title, h.Directory, h.Version, h.Created = about.Title, about.Directory, about.Version, about.Created
	if row, ok := s.row(id); ok {
		h.Title = cmp.Or(row.Text("name"), h.Title, row.Text("title"))
		h.Directory = cmp.Or(h.Directory, row.Text("cwd"))
		h.Version = cmp.Or(h.Version, row.Text("cli_version"))
	}
	if f.why != "" {
		h.Stray = append(h.Stray, change.Stray{Path: f.path, Why: f.why, Kind: change.StrayHidden})
	}
	return h, true
}

// located looks for the rollout that the row of a session names: whether it is there, also compressed, and whether it is the
// session's own. A folder above may have been replaced with a link since.
func (s *store) located(row change.Record, head change.Head) (there, same bool) {
	at := row.Text("rollout_path")
	p, _ := pathOf(head.Ref.Project)
	own, err := os.Lstat(filepath.Join(s.ID().Root, filepath.FromSlash(p)))
	for _, p := range []string{at, at + rollout.Compressed} {
		if info, lerr := os.Lstat(p); lerr == nil && info.Mode().IsRegular() {
			there, same = true, same || err == nil && os.SameFile(info, own)
		}
	}
	return there, same
}

// SessionAt implements [agent.Store].
func (s *store) SessionAt(_ context.Context, at string) (change.Head, error) {
	d, below, e, err := s.OpenAt(at)
	if err != nil {
		return change.Head{}, err
	}
	defer d.Close()
	h, ok := s.readHead(d, nil, file{path: below, entry: e})
	if _, in := pathOf(h.Project); !in || !ok {
		return h, fmt.Errorf("no session of this store: %s: %w", at, fs.ErrNotExist)
	}
	return h, nil
}

func (s *store) newCase(head change.Head, r repair.Request) (*rollout.Case, safedir.Entry, error) {
	src, e, err := s.read(head)
	if err != nil {
		return nil, e, err
	}
	src.Texts, src.Restore, src.Busy = repair.TextsOf(r), r.Restore, s.whyBusy(head.ID)
	if row, ok := s.row(head.ID); ok {
		src.Row = &row
		src.Located, src.Linked = s.located(row, head)
	}
	return rollout.New(src), e, nil
}

// read reads the rollout of a session, and unpacks a compressed one.
func (s *store) read(head change.Head) (src rollout.Source, e safedir.Entry, err error) {
	p, _ := pathOf(head.Ref.Project)
	if e, err = s.Load(head.Ref, nil); err != nil {
		return src, e, err
	}
	src = rollout.Source{
		Ref: head.Ref, ID: head.ID, Root: s.ID().Root, Path: p, Data: e.Data, Mode: e.Mode.Perm(),
		RefOf: func(p string) change.Ref { return refOf(p, head.ID) },
	}
	if strings.HasSuffix(p, rollout.Compressed) {
		src.Packed = e.Data
		src.Data, src.Torn, err = s.unpack(head.Ref, e.Data)
	}
	return src, e, err
}

// Case implements [agent.Store].
func (s *store) Case(_ context.Context, head change.Head, r repair.Request) (repair.Case, error) {
	c, _, err := s.newCase(head, r)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Records implements [agent.Store].
func (s *store) Records(_ context.Context, head change.Head) (all []change.Record, err error) {
	c, _, err := s.newCase(head, repair.Request{})
	if err != nil {
		return nil, err
	}
	for r := range c.Records {
		all = append(all, *r)
	}
	return all, nil
}

// Examine implements [agent.Store].
func (s *store) Examine(_ context.Context, head change.Head, _ repair.Options) (agent.Examination, error) {
	c, e, err := s.newCase(head, repair.Request{})
	if err != nil {
		return agent.Examination{}, err
	}
	return agent.Examination{Busy: c.Busy() != "", Provider: openai.Provider{}.Name(), Thinking: true, Stamp: s.stamp(head, e), Diagnoses: repair.Diagnose(c)}, nil
}

// Busy implements [agent.Store].
func (s *store) Busy(_ context.Context, head change.Head, _ bool) bool {
	return s.whyBusy(head.ID) != ""
}

// Stamp implements [agent.Store].
func (s *store) Stamp(_ context.Context, head change.Head) (change.Stamp, error) {
	e, err := s.Stat(head.Ref)
	return s.stamp(head, e), err
}

// stamp returns the stamp of a rollout and its row.
func (s *store) stamp(head change.Head, e safedir.Entry) change.Stamp {
	b := []byte(head.ID)
	if row, ok := s.row(head.ID); ok {
		b = append(b, change.ImageOf(&row).Data...)
		there, same := s.located(row, head)
		b = fmt.Append(b, there, same)
	}
	return sessionfile.StampOf(b, e)
}

// Folders implements [agent.Store].
func (s *store) Folders(heads []change.Head) []string {
	all := []string{s.ID().Root, filepath.Join(s.ID().Root, sessions)}
	for _, h := range heads {
		if p, ok := pathOf(h.Project); ok {
			all = append(all, filepath.Join(s.ID().Root, path.Dir(p)))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Profile implements [agent.Store].
func (s *store) Profile(string) string { return rollout.Version }

// Verified implements [agent.Store]. A rollout whose first line is lost has no version, and is judged by its records alone.
func (s *store) Verified(version string) bool {
	return version == "" || slices.Contains(rollout.Verified, version)
}

// Newer implements [agent.Store].
func (s *store) Newer(version string) bool {
	return semver.Compare("v"+version, "v"+rollout.Version) > 0
}

// Forecast implements [agent.Store].
func (s *store) Forecast(_ context.Context, head change.Head, _ repair.Options) (agent.Forecast, error) {
	c, _, err := s.newCase(head, repair.Request{})
	if err != nil {
		return agent.Forecast{}, err
	}
	f := agent.Forecast{Version: rollout.Version, Thinking: true, Provider: openai.Provider{}.Name(), Place: agent.Place{Turn: "input[%d]", Block: "content[%d]"}}
	f.Request, f.Violations = c.Next()
	f.JSON = openai.Provider{}.JSON(f.Request)
	for _, v := range c.Findings().All() {
		if v.Severity == repair.Broken && v.Ref.Kind == change.KindSession {
			f.Violations = slices.Insert(f.Violations, 0, request.Violation{Rule: v.Code, Message: v.Text, Refs: []change.Ref{v.Ref}, N: -1, M: -1})
		}
	}
	return f, nil
}
