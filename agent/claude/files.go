package claude

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"mend/change"
	"mend/fsstore"
	"mend/linestore"
	"mend/txn"
)

// A writer changes lines of a transcript, or whole files: transcripts that are made or removed, and
// what is in the folder of a session. Which of the two a change is, its ops say.
type writer struct {
	lines  *linestore.Store
	files  *fsstore.Store
	layout *layout
	inUse  func(path string) string
}

var _ txn.Store = writer{}

// isWhole reports whether ops are on whole files. A single transcript that gets other bytes is
// replaced as lines are: so what is appended meanwhile is carried over.
func isWhole(ops []change.Op) bool {
	return slices.ContainsFunc(ops, func(o change.Op) bool {
		switch o.Ref.Kind {
		case change.KindFile, change.KindFolder:
			return true
		case change.KindSession:
			return o.Pre == nil || o.Post == nil || len(ops) > 1
		default:
			return false
		}
	})
}

// store returns the store that makes the change, and the change as one of that store.
func (w writer) store(st change.Staged) (txn.Store, change.Staged) {
	if !isWhole(st.Ops) {
		return w.lines, st
	}
	if st.Store.Same(w.lines.ID()) {
		st.Store = w.files.ID()
	}
	return w.files, st
}

// Prepare implements [txn.Store].
func (w writer) Prepare(ctx context.Context, p change.Plan) (change.Staged, error) {
	if !isWhole(p.Ops) {
		return w.lines.Prepare(ctx, p)
	}
	p.Ops = slices.Clone(p.Ops)
	for i, o := range p.Ops {
		if o.Ref.Kind != change.KindSession {
			continue
		}
		at, _, err := w.layout.Path(o.Ref)
		if err != nil {
			return change.Staged{}, fmt.Errorf("preparing the change: %w: %w", change.ErrInvalid, err)
		}
		if use := w.inUse(at); use != "" && !p.Force {
			return change.Staged{}, fmt.Errorf("preparing the change: %w: %s", change.ErrInUse, use)
		}
		if now, err := w.files.Read(ctx, []change.Ref{o.Ref}); err == nil && now[0] != nil && o.Pre != nil && bytes.Equal(now[0].Data, o.Pre.Data) {
			p.Ops[i].Pre = now[0] // with its mode, which is none of a transcript's lines
		}
	}
	st, err := w.files.Prepare(ctx, p)
	st.Store = w.lines.ID()
	return st, err
}

// Commit implements [txn.Store].
func (w writer) Commit(ctx context.Context, st change.Staged) (change.Outcome, error) {
	s, st := w.store(st)
	return s.Commit(ctx, st)
}

// Settle implements [txn.Store].
func (w writer) Settle(ctx context.Context, st change.Staged) (change.Outcome, error) {
	s, st := w.store(st)
	return s.Settle(ctx, st)
}

// Discard implements [txn.Store].
func (w writer) Discard(ctx context.Context, st change.Staged) error {
	if st.Dir == "" {
		if err := w.files.Discard(ctx, st); err != nil {
			return err
		}
	}
	s, st := w.store(st)
	return s.Discard(ctx, st)
}

// Path implements [fsstore.Layout]. A file is named by its path below the folder of its session, which
// is beside the transcript; a folder by its path below that of the project.
func (l *layout) Path(ref change.Ref) (string, change.Ref, error) {
	if ref.Kind == change.KindSession {
		at, _, err := l.Locate(ref)
		return at, ref, err
	}
	if ref.Project == "" || ref.Kind != change.KindFile && ref.Kind != change.KindFolder {
		return "", ref, fmt.Errorf("%v %s: no file of a session", ref.Kind, ref)
	}
	if err := ref.Validate(); err != nil {
		return "", ref, err
	}
	folder, err := l.folder(ref.Project)
	if err != nil {
		return "", ref, err
	}
	below := ref.Part
	if ref.Kind == change.KindFile {
		below = ref.Session + "/" + ref.Part
	}
	if below != "" && !fs.ValidPath(below) || ref.Kind == change.KindFile && ref.Part == "" {
		return "", ref, fmt.Errorf("%v %s: no path below a session", ref.Kind, ref)
	}
	return strings.TrimSuffix(projects+"/"+folder+"/"+below, "/"), ref, nil
}

// Folder implements [fsstore.Layout].
func (l *layout) Folder(ref change.Ref, n int) (change.Ref, bool) {
	at, _, err := l.Path(ref)
	names := strings.Split(at, "/")
	if err != nil || n < 2 || n >= len(names) {
		return change.Ref{}, false
	}
	session := ref.Session
	if owner, _, ok := subagent(session); ok && owner != "" {
		session = owner
	}
	return change.Ref{Kind: change.KindFolder, Project: ref.Project, Session: session, Part: strings.Join(names[2:n], "/")}, true
}
