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

	step func(call string) error // as in [sessionfile.Options]

	mu    sync.Mutex
	index map[string]*change.Record // rows of the index, by session; nil before they are read
	seen  string                    // the state of the index when its rows were read

	named map[string][]string // see namedAfter; nil before it is needed

	known      rollout.Providers
	configured string // the state of the settings when they were read
}

var _ agent.Store = (*store)(nil)

// deepest is the greatest depth of folders with rollouts below the root.
const deepest = 8

func (s *store) List(ctx context.Context) (heads []change.Head, err error) {
	root, err := s.OpenRoot()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	s.Begin()
	s.mu.Lock()
	s.named = nil
	s.mu.Unlock()
	for _, name := range home.Sessions {
		if err := s.list(ctx, root, name, &heads); err != nil {
			return nil, err
		}
	}
	rows := s.rows()
	isCurrent := func(id, p string) bool { // whether the session's row names the rollout at a path below the root
		return p != "" && path.Base(rows[id].Text("rollout_path")) == path.Base(strings.TrimSuffix(p, rollout.Compressed))
	}
	newest := map[string]string{} // by session, the path of the rollout that Codex continues
	for i := range heads {
		h := &heads[i]
		if h.Base != "" {
			if all := s.namedAfter(h.Base); len(all) > 0 {
				h.Base = rollout.NameID(all[0])
			}
		}
		p, _ := rollout.PathOf(h.Ref)
		later := !isCurrent(h.ID, newest[h.ID]) && path.Base(p) > path.Base(newest[h.ID])
		if rollout.NameID(p) == h.ID && (later || isCurrent(h.ID, p)) {
			newest[h.ID] = p
		}
	}
	// The others are earlier rollouts of the session, or copies by a sync tool with names that Codex ignores.
	return slices.DeleteFunc(heads, func(h change.Head) bool {
		p, _ := rollout.PathOf(h.Ref)
		return newest[h.ID] != "" && newest[h.ID] != p
	}), nil
}

func (s *store) list(ctx context.Context, parent *safedir.Dir, folder string, heads *[]change.Head) error {
	return s.Each(ctx, parent, folder, func(string) bool { return true }, func(e sessionfile.Entry) error {
		switch isDir := e.IsDir(); {
		case isDir && strings.Count(e.Path(), "/") < deepest:
			return s.list(ctx, e.Dir, e.Name, heads)
		case !isDir && isRollout(e):
			if h, err := s.readHead(e); err == nil {
				*heads = append(*heads, h)
			}
		}
		return nil
	})
}

// isRollout reports whether an entry has the name of a rollout that Codex reads. Codex ignores a compressed rollout if
// the uncompressed one exists.
func isRollout(e sessionfile.Entry) bool {
	plain, packed := strings.CutSuffix(e.Name, rollout.Compressed)
	return strings.HasSuffix(plain, rollout.Suffix) && (!packed || !slices.Contains(e.Names, plain))
}

// unpack returns the content of a compressed rollout. partial means that it is damaged; data then ends before the damage.
func (s *store) unpack(ref change.Ref, packed []byte) (data []byte, partial bool, err error) {
	r, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
	if err != nil {
		return nil, false, err
	}
	defer r.Close()
	most := min(s.Most, change.MaxText)
	data, err = io.ReadAll(io.LimitReader(r, most+1))
	partial = err != nil
	if int64(len(data)) > most {
		return nil, partial, fmt.Errorf("reading session %s: %w", ref.Session, &change.SizeError{Most: s.Most})
	}
	return data, partial, sessionfile.CheckLines(ref, data)
}

// headSize is the size in bytes of the beginning of a rollout that a list reads.
const headSize = 96 << 10

// readHead implements [sessionfile.Options].Head. If the rollout cannot be read, the head has only what the name of
// the file and the row contain.
func (s *store) readHead(e sessionfile.Entry) (h change.Head, err error) {
	at := e.Path()
	var head []byte
	if e.Why == "" && e.IsFile() {
		head, _, _ = e.Dir.ReadEnds(e.Name, headSize, 0)
		if strings.HasSuffix(at, rollout.Compressed) {
			head, _, _ = s.unpack(change.Ref{}, head)
			head = head[:min(len(head), headSize)]
		}
	}
	summary := rollout.ReadSummary(head)
	id := cmp.Or(rollout.NameID(at), summary.ID)
	ref := rollout.RefOf(at, id)
	if _, _, err := (rollout.Layout{}).Path(ref); err != nil || change.ValidateSessionID(id) != nil {
		return h, fs.ErrNotExist
	}
	row := s.rows()[id]
	h = change.Head{
		ID: id, Ref: ref, Project: ref.Project, Updated: time.Unix(0, e.Mtime).UnixMilli(), Created: summary.Created,
		Title:     cmp.Or(row.Text("name"), summary.Title, row.Text("title")),
		Directory: cmp.Or(summary.Directory, row.Text("cwd")),
		Version:   cmp.Or(summary.Version, row.Text("cli_version")),
		Base:      summary.Base,
	}
	if e.Why != "" {
		h.Stray = append(h.Stray, change.Stray{Path: at, Why: e.Why, Kind: change.StrayHidden})
	}
	return h, nil
}

// row returns the row of a session in the index, nil for none. located reports whether the rollout that the row names
// exists, possibly compressed; linked reports whether it is the session's own file, even under another path: a link may
// have replaced a parent folder.
func (s *store) row(head change.Head) (row *change.Record, located, linked bool) {
	if row = s.rows()[head.ID]; row == nil {
		return nil, false, false
	}
	at := row.Text("rollout_path")
	p, _ := rollout.PathOf(head.Ref)
	own, err := os.Lstat(filepath.Join(s.ID().Root, filepath.FromSlash(p)))
	for _, p := range []string{at, at + rollout.Compressed} {
		if info, lerr := os.Lstat(p); lerr == nil && info.Mode().IsRegular() {
			located, linked = true, linked || err == nil && os.SameFile(info, own)
		}
	}
	return row, located, linked
}

func (s *store) newCase(head change.Head, r repair.Request) (*repair.Case, change.Stamp, error) {
	var src rollout.Source
	var stamp change.Stamp
	var err error
	if r.Gone {
		src, err = s.source(head, safedir.Entry{Data: sessionfile.Apply(nil, r.Changes)})
	} else {
		src, stamp, err = s.read(head)
	}
	if err != nil {
		return nil, stamp, err
	}
	src.Unreadable = r.Error != nil && r.Error.Class == repair.EncryptedReasoning
	src.Texts, src.Restore, src.Busy = repair.TextsOf(r), r.Restore, s.whyBusy(head.ID)
	return rollout.New(src), stamp, nil
}

// read reads the rollout of a session, and decompresses it if needed.
func (s *store) read(head change.Head) (src rollout.Source, st change.Stamp, err error) {
	e, err := s.Load(head.Ref)
	if err != nil {
		return src, st, err
	}
	src, err = s.source(head, e)
	return src, sessionfile.StampOf(s.readStamped(head), e), err
}

// source returns the input of a case: the rollout of a file's entry, with its row, the settings and the sessions that
// it was forked from.
func (s *store) source(head change.Head, e safedir.Entry) (src rollout.Source, err error) {
	src, err = s.decode(head.Ref, e)
	src.Row, src.Located, src.Linked = s.row(head)
	src.Providers = s.providers()
	lineage := s.lineage(head)
	for i := len(lineage) - 1; i >= 0; i-- {
		one, _ := s.readOne(lineage[i].Ref)
		one.Base = src.Base
		src.Base = &one
	}
	return src, err
}

// readOne reads one rollout, without its row and its beginning.
func (s *store) readOne(ref change.Ref) (rollout.Source, error) {
	e, err := s.Load(ref)
	if err != nil {
		return rollout.Source{Record: change.Record{Ref: ref}, Root: s.ID().Root}, err
	}
	return s.decode(ref, e)
}

// decode returns the rollout in a file's entry, decompressed if needed.
func (s *store) decode(ref change.Ref, e safedir.Entry) (src rollout.Source, err error) {
	src = rollout.Source{
		Record: change.Record{Ref: ref, Data: e.Data, Mode: e.Mode.Perm()}, Plain: e.Data, Root: s.ID().Root,
	}
	if ref != rollout.PlainRef(ref) {
		src.Plain, src.Partial, err = s.unpack(ref, e.Data)
	}
	return src, err
}

// rollouts returns the rollouts of a session that Codex reads. The one of head is the last.
func (s *store) rollouts(ctx context.Context, head change.Head) (all []change.Ref) {
	seen := map[string]bool{ownID(head.Ref): true}
	for _, ref := range s.otherRollouts(ctx, head) {
		if own := ownID(ref); !seen[own] { // the uncompressed one comes first, and counts
			seen[own] = true
			all = append(all, ref)
		}
	}
	return append(all, head.Ref)
}

// otherRollouts returns the rollouts of a session except the rollout of head. See [rollout.NameIDs].
func (s *store) otherRollouts(ctx context.Context, head change.Head) (all []change.Ref) {
	for _, p := range s.namedAfter(ofSession + head.ID) {
		if one, err := s.SessionAt(ctx, p); err == nil && one.Ref != head.Ref {
			all = append(all, one.Ref)
		}
	}
	return all
}

// lineage returns the rollout that a fork begins with, the rollout that this one begins with, and so on, up to one that
// does not exist. Codex finds them by the ids in the names of their files.
func (s *store) lineage(fork change.Head) (all []change.Head) {
	p, _ := rollout.PathOf(fork.Ref)
	next, seen := []string{filepath.Join(s.ID().Root, p)}, map[string]bool{}
	for ; fork.Base != "" && len(next) > 0 && !seen[next[0]]; next = s.namedAfter(fork.Base) {
		one, err := s.SessionAt(context.Background(), next[0])
		if err != nil {
			break
		}
		if fork = one; len(seen) > 0 {
			all = append(all, fork)
		}
		seen[next[0]] = true
	}
	return all
}

// namedAfter returns the paths of the rollouts with an own id, which is in the names of their files. For ofSession and
// the id of a session it returns the paths of all rollouts of that session. It walks the folders once after each List,
// not for each fork.
func (s *store) namedAfter(id string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.named == nil {
		s.named = map[string][]string{}
		for _, folder := range home.Sessions {
			_ = filepath.WalkDir(filepath.Join(s.ID().Root, folder), func(p string, e fs.DirEntry, err error) error {
				if err != nil {
					return nil
				}
				if session, own := rollout.NameIDs(e.Name()); own != "" {
					s.named[own] = append(s.named[own], p)
					s.named[ofSession+session] = append(s.named[ofSession+session], p)
				}
				return nil
			})
		}
	}
	return s.named[id]
}

const ofSession = "session "

func (s *store) Busy(_ context.Context, head change.Head, _ bool) bool {
	return s.whyBusy(head.ID) != ""
}

// readStamped implements [sessionfile.Options].Stamped.
func (s *store) readStamped(head change.Head) []byte {
	row, located, linked := s.row(head)
	b := fmt.Append([]byte(head.ID), located, linked)
	for _, base := range s.lineage(head) {
		b = fmt.Append(b, base.Ref)
		if e, err := s.Stat(base.Ref); err == nil {
			b = fmt.Append(b, e.Size, e.Mtime)
		}
	}
	if row != nil {
		b = append(b, change.ImageOf(row).Data...)
	}
	return b
}

// Verified implements [agent.Store]. A rollout that lost its first line has no version, and is judged by its records
// alone.
func (s *store) Verified(version string) bool { return version == "" || s.Versions.Verified(version) }
