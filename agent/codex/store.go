package codex

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/mod/semver"

	"mend/agent"
	"mend/agent/codex/rollout"
	"mend/change"
	"mend/fsstore"
	"mend/internal/provider/openai"
	"mend/internal/request"
	"mend/internal/safedir"
	"mend/linestore"
	"mend/repair"
	"mend/sqlstore"
	"mend/txn"
)

// A store is Codex's folder with its rollouts.
type store struct {
	agent.Base

	lines *linestore.Store
	warn  func(string)
	step  func(call string) error
	most  int64 // the size in bytes of the largest rollout that is loaded

	mu    sync.Mutex
	index map[string]change.Record // rows of the index, by session; nil until they are read
	why   error                    // that they could not be
	seen  string                   // the state of the index then
}

var _ agent.Store = (*store)(nil)

// ID implements [agent.Store].
func (s *store) ID() change.StoreID { return s.lines.ID() }

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
	root, err := s.lines.OpenRoot()
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
	d, err := in.Sub(name)
	var names []string
	if err == nil {
		defer d.Close()
		names, err = d.Names()
	}
	var strange *safedir.NotFolderError
	why, unreadable := safedir.ReadFailure(err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.As(err, &strange):
		s.note("%s is no folder, or a symbolic link; its sessions are not examined", below)
		return nil
	case unreadable:
		s.note("%s cannot be read: "+why+"; its sessions are not examined", below)
		return nil
	case err != nil:
		return err
	}
	for _, name := range slices.Sorted(slices.Values(names)) {
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
		case !f.entry.IsDir() && (strings.HasSuffix(name, suffix) || strings.HasSuffix(name, compressed)) && change.ValidateProject(projectOf(f.path)) == nil:
			err = yield(d, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *store) note(format, below string) {
	if s.warn != nil {
		s.warn(fmt.Sprintf(format, filepath.Join(s.ID().Root, below)))
	}
}

// The sizes in bytes of what a list reads of a rollout.
const (
	headSize = 96 << 10
)

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
	if f.why == "" && f.entry.IsFile() && strings.HasSuffix(f.path, suffix) {
		head, _, _ = d.ReadEnds(b, path.Base(f.path), headSize, 0)
	}
	id := rollout.NameID(strings.TrimSuffix(f.path, ".zst"))
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
		h.Title = cmp.Or(textIn(row, "name"), h.Title, textIn(row, "title"))
		h.Directory = cmp.Or(h.Directory, textIn(row, "cwd"))
	}
	if f.why != "" {
		h.Stray = append(h.Stray, change.Stray{Path: f.path, Why: f.why, Kind: change.StrayHidden})
	}
	return h, true
}

func textIn(r change.Record, name string) string {
	if col, ok := r.Col(name); ok && col.Class == change.ClassText {
		return string(col.Bytes)
	}
	return ""
}

// SessionAt implements [agent.Store].
func (s *store) SessionAt(ctx context.Context, at string) (change.Head, error) {
	none := fmt.Errorf("no session of this store: %s: %w", at, fs.ErrNotExist)
	at, err := filepath.EvalSymlinks(at)
	if err != nil {
		return change.Head{}, none
	}
	rel, err := filepath.Rel(s.ID().Root, at)
	if err != nil || !filepath.IsLocal(rel) {
		return change.Head{}, none
	}
	heads, err := s.List(ctx)
	for _, h := range heads {
		if h.Project == projectOf(filepath.ToSlash(rel)) {
			return h, nil
		}
	}
	return change.Head{}, cmp.Or(err, none)
}

// load reads a rollout.
func (s *store) load(head change.Head) (safedir.Entry, string, error) {
	p, _, err := layout{}.Locate(head.Ref)
	if err != nil {
		return safedir.Entry{}, p, err
	}
	if strings.HasSuffix(p, compressed) {
		return safedir.Entry{}, p, errCompressed
	}
	root, err := s.lines.OpenRoot()
	if err != nil {
		return safedir.Entry{}, p, err
	}
	defer root.Close()
	d, err := root.Sub(path.Dir(p))
	if err != nil {
		return safedir.Entry{}, p, err
	}
	defer d.Close()
	e, err := d.Read(nil, path.Base(p), min(s.most, change.MaxText))
	switch why := e.ReadProblem(); {
	case err != nil:
	case e.TooLarge && e.Size <= change.MaxText:
		err = fmt.Errorf("reading rollout %s: %w", head.ID, &change.SizeError{Most: s.most})
	case !e.Exists:
		err = fmt.Errorf("reading rollout %s: it is gone", head.ID)
	case why != "":
		err = fmt.Errorf("reading rollout %s: %s", head.ID, why)
	case bytes.Count(e.Data, []byte("\n")) > freeLines+len(e.Data)/minLine:
		err = fmt.Errorf("reading rollout %s: nearly all of its lines are empty or torn", head.ID)
	}
	return e, p, err
}

// errCompressed says that a rollout is one that Codex has compressed.
var errCompressed = errors.New("Codex has compressed the rollout, and mend reads none that is") //nolint:staticcheck // Codex is a name

// A rollout may have freeLines lines, and more where they have minLine bytes on average.
const (
	freeLines = 1 << 18
	minLine   = 64
)

func (s *store) newCase(head change.Head, texts repair.Texts) (*rollout.Case, safedir.Entry, error) {
	e, p, err := s.load(head)
	if err != nil {
		return nil, e, err
	}
	src := rollout.Source{
		Ref: head.Ref, ID: head.ID, Root: s.ID().Root, Path: p, Data: e.Data, Mode: e.Mode.Perm(), Texts: texts,
		RefOf: func(p string) change.Ref { return refOf(p, head.ID) },
		Busy:  s.whyBusy(head.ID),
	}
	if row, ok := s.row(head.ID); ok {
		src.Row = &row
		info, err := os.Lstat(textIn(row, "rollout_path"))
		src.Located = err == nil && info.Mode().IsRegular()
	}
	return rollout.New(src), e, nil
}

// Case implements [agent.Store].
func (s *store) Case(_ context.Context, head change.Head, r repair.Request) (repair.Case, error) {
	c, _, err := s.newCase(head, repair.TextsOf(r))
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Records implements [agent.Store].
func (s *store) Records(_ context.Context, head change.Head) (all []change.Record, err error) {
	c, _, err := s.newCase(head, repair.Texts{})
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
	c, e, err := s.newCase(head, repair.Texts{})
	if errors.Is(err, errCompressed) {
		return agent.Examination{Diagnoses: []repair.Diagnosis{{
			Rule: "compressed", Class: repair.UnreadableRecord, Severity: repair.Latent, Ref: head.Ref,
			Why: "Codex has compressed the rollout. mend reads no compressed one, so its content is unknown.", WhyNot: "Open the session once in Codex, which writes it again, then scan again.",
		}}}, nil
	}
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
	p, _, err := layout{}.Locate(head.Ref)
	if err != nil {
		return change.Stamp{}, err
	}
	root, err := s.lines.OpenRoot()
	if err != nil {
		return change.Stamp{}, err
	}
	defer root.Close()
	d, err := root.Sub(path.Dir(p))
	if err != nil {
		return change.Stamp{}, err
	}
	defer d.Close()
	e, err := d.Stat(path.Base(p))
	return s.stamp(head, e), err
}

// stamp returns the stamp of a rollout and its row.
func (s *store) stamp(head change.Head, e safedir.Entry) change.Stamp {
	b := appendEntry([]byte(head.ID), e)
	if row, ok := s.row(head.ID); ok {
		b = append(b, change.ImageOf(&row).Data...)
		info, err := os.Lstat(textIn(row, "rollout_path"))
		b = fmt.Append(b, err == nil && info.Mode().IsRegular())
	}
	return change.Stamp{Sum: sha256.Sum256(b), Newest: time.Unix(0, max(e.Mtime, e.Ctime))}
}

func appendEntry(b []byte, e safedir.Entry) []byte {
	for _, n := range []uint64{e.Dev, e.Ino, uint64(e.Size), uint64(e.Mtime), uint64(e.Ctime), uint64(e.Mode)} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	return b
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

// Verified implements [agent.Store].
func (s *store) Verified(version string) bool { return version == rollout.Version }

// Newer implements [agent.Store].
func (s *store) Newer(version string) bool {
	return semver.Compare("v"+version, "v"+rollout.Version) > 0
}

// Forecast implements [agent.Store].
func (s *store) Forecast(_ context.Context, head change.Head, _ repair.Options) (agent.Forecast, error) {
	c, _, err := s.newCase(head, repair.Texts{})
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

// Read implements [agent.Store].
func (s *store) Read(ctx context.Context, refs []change.Ref) ([]*change.Image, error) {
	images := make([]*change.Image, len(refs))
	for i, ref := range refs {
		var one []*change.Image
		var err error
		switch ref.Kind {
		case change.KindIndex:
			var db *sqlstore.Store
			if db, err = s.openIndex(); err == nil && db != nil {
				one, err = db.Read(ctx, []change.Ref{ref})
			}
		default:
			var files *fsstore.Store
			if files, err = fsstore.New(s.ID().Root, layout{}, fsstore.Options{}); err == nil {
				one, err = files.Read(ctx, []change.Ref{ref})
			}
		}
		if err != nil {
			return nil, err
		}
		if len(one) > 0 {
			images[i] = one[0]
		}
	}
	return images, nil
}

// CheckLinks implements [agent.Store].
func (s *store) CheckLinks(ctx context.Context, refs []change.Ref) error {
	return s.lines.CheckLinks(ctx, slices.DeleteFunc(slices.Clone(refs), func(r change.Ref) bool { return r.Kind != change.KindSession }))
}

// Writer implements [agent.Store].
func (s *store) Writer(journal string) (txn.Store, error) {
	busy := func(p string) string { return s.whyBusy(cmp.Or(rollout.NameID(p))) }
	lines, err := linestore.New(s.ID().Root, layout{}, linestore.Options{Owner: journal, Note: s.warn, InUse: busy, Step: s.step})
	if err != nil {
		return nil, err
	}
	files, err := fsstore.New(s.ID().Root, layout{}, fsstore.Options{Owner: journal, Note: s.warn, Step: s.step})
	return &writer{store: s, lines: lines, files: files}, err
}
