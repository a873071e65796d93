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

	"mend/agent"
	"mend/agent/codex/rollout"
	"mend/agent/sessionfile"
	"mend/change"
	"mend/internal/safedir"
	"mend/repair"
)

// A store is Codex's folder with its rollouts.
type store struct {
	agent.Base
	agent.Cases
	repair.Versions
	*sessionfile.Store

	step func(call string) error // that of [sessionfile.Options]

	mu    sync.Mutex
	index map[string]*change.Record // rows of the index, by session; nil until they are read
	why   error                     // that they could not be
	seen  string                    // the state of the index then
}

var _ agent.Store = (*store)(nil)

// deepest is how many folders below the root hold rollouts.
const deepest = 8

// List implements [agent.Store].
func (s *store) List(ctx context.Context) (heads []change.Head, err error) {
	root, err := s.OpenRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, name := range []string{sessions, archived} {
		if err := s.list(ctx, root, name, &heads); err != nil {
			return nil, err
		}
	}
	return heads, nil
}

// list appends the sessions in the folder at a path, whose last name in has.
func (s *store) list(ctx context.Context, in *safedir.Dir, at string, heads *[]change.Head) error {
	_, err := s.Each(ctx, in, path.Base(at), func(string) bool { return true }, func(e sessionfile.Entry) error {
		at := at + "/" + e.Name
		switch isDir := e.IsDir(); {
		case isDir && strings.Count(at, "/") < deepest:
			return s.list(ctx, e.In, at, heads)
		case !isDir && (strings.HasSuffix(e.Name, suffix) || isAlone(e.Name, e.Names)) && change.ValidateProject(projectOf(at)) == nil:
			if h, ok := s.readHead(at, e); ok {
				*heads = append(*heads, h)
			}
		}
		return nil
	})
	return err
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

// readHead reads what a list shows of the session in a file, if it can be read. It reports false for one of no session.
func (s *store) readHead(at string, e sessionfile.Entry) (h change.Head, ok bool) {
	var head []byte
	if e.Why == "" && e.IsFile() {
		head, _, _ = e.In.ReadEnds(nil, e.Name, headSize, 0)
		if strings.HasSuffix(at, rollout.Compressed) {
			head, _, _ = s.unpack(change.Ref{}, head)
			head = head[:min(len(head), headSize)]
		}
	}
	about := rollout.AboutOf(head)
	id := cmp.Or(rollout.NameID(at), about.ID)
	if change.ValidateSessionID(id) != nil {
		return h, false
	}
	row := s.row(id)
	h = change.Head{
		ID: id, Ref: refOf(at, id), Project: projectOf(at), Updated: time.Unix(0, e.Mtime).UnixMilli(), Created: about.Created,
		Title:     cmp.Or(row.Text("name"), about.Title, row.Text("title")),
		Directory: cmp.Or(about.Directory, row.Text("cwd")),
		Version:   cmp.Or(about.Version, row.Text("cli_version")),
	}
	if e.Why != "" {
		h.Stray = append(h.Stray, change.Stray{Path: at, Why: e.Why, Kind: change.StrayHidden})
	}
	return h, true
}

// located looks for the rollout that the row of a session names: whether it is there, also compressed, and whether it is the
// session's own. A folder above may have been replaced with a link since.
func (s *store) located(row *change.Record, head change.Head) (there, same bool) {
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
	h, ok := s.readHead(below, sessionfile.Entry{Entry: e, In: d, Name: path.Base(below)})
	if _, in := pathOf(h.Project); !in || !ok {
		return h, fmt.Errorf("no session of this store: %s: %w", at, fs.ErrNotExist)
	}
	return h, nil
}

func (s *store) newCase(head change.Head, r repair.Request) (*rollout.Case, change.Stamp, error) {
	src, e, err := s.read(head)
	if err != nil {
		return nil, change.Stamp{}, err
	}
	src.Texts, src.Restore, src.Busy = repair.TextsOf(r), r.Restore, s.whyBusy(head.ID)
	if src.Row = s.row(head.ID); src.Row != nil {
		src.Located, src.Linked = s.located(src.Row, head)
	}
	return rollout.New(src), s.stamp(head, e), nil
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
	if row := s.row(head.ID); row != nil {
		b = append(b, change.ImageOf(row).Data...)
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

// Verified implements [agent.Store]. A rollout whose first line is lost has no version, and is judged by its records alone.
func (s *store) Verified(version string) bool { return version == "" || s.Versions.Verified(version) }
