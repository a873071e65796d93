package opencode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"mend/agent"
	"mend/agent/opencode/database"
	"mend/agent/opencode/diagnose"
	"mend/agent/opencode/record"
	"mend/agent/opencode/tree"
	"mend/change"
	"mend/internal/place"
	"mend/repair"
	"mend/txn"
)

// records are the common methods of a tree and a database.
type records interface {
	txn.Store
	ID() change.StoreID
	List(ctx context.Context) ([]change.Head, error)
	// Load returns a session of List, with the stamp of its records when they were read.
	Load(ctx context.Context, head change.Head) (*record.Session, change.Stamp, error)
	// LoadRaw is Load for a copy: it decodes no record.
	LoadRaw(ctx context.Context, head change.Head) (*record.Session, change.Stamp, error)
	Stamp(ctx context.Context, head change.Head) (change.Stamp, error)
	State(ctx context.Context) (change.Stamp, error)
	Read(ctx context.Context, refs []change.Ref) ([]*change.Image, error)
	SessionByID(ctx context.Context, id string) (change.Head, error)
	CheckFile(ctx context.Context, what change.Check) error
	CheckLinks(ctx context.Context, refs []change.Ref) error
	DefaultRow(ctx context.Context, kind change.Kind) (change.Record, error)
	ListAbandoned(journal string) ([]string, error)
	Salvage(ctx context.Context, o agent.SalvageOptions) (agent.Salvaged, error)
	Reclaim(ctx context.Context) (before, after int64, err error)
	CheckFree(ctx context.Context) error
	KeptFiles(journal string) agent.KeptFiles
	Held(ctx context.Context) (time.Time, error)
	// FindsHolders reports whether Held finds every process that uses the store.
	FindsHolders() bool
}

// A store is a JSON tree or a database of OpenCode.
type store struct {
	records
	agent.Base // no session has a file of its own, and OpenCode deletes nothing by itself
	*program
	tree   *tree.Store // nil for a database
	at     agent.Located
	warn   func(string)
	models *models

	isLocal func() bool           // caches isUsedHere
	cache   atomic.Pointer[cache] // replaced by Refresh
}

// A cache has results about the machine since the last Refresh.
type cache struct {
	projects sync.Map // results of projectOf, by folder
	places   sync.Map // results of placesOf, by folder and project
	ids      sync.Map // results of idsOf, by repository
	finder   place.Finder
	isHeld   func() bool // reports whether a process has the store open; true if unknown. It is slow
	takeover func() takeover
}

func (s *store) Refresh() {
	s.models.reset()
	s.cache.Store(&cache{
		isHeld: sync.OnceValue(func() bool {
			started, err := s.Held(context.Background())
			return err != nil || !started.IsZero()
		}),
		takeover: sync.OnceValue(s.findTakeover),
	})
}

// A takeover records whether a newer generation of OpenCode has taken over the database.
type takeover struct {
	imported map[string]bool // from database.Takeover
	err      error
}

// wasNotImported reports whether a session was certainly not imported.
func (t takeover) wasNotImported(id string) bool { return t.imported != nil && !t.imported[id] }

// findTakeover returns whether a newer generation of OpenCode has taken over the database.
func (s *store) findTakeover() (t takeover) {
	if db, ok := s.records.(*database.Store); ok {
		t.imported, t.err = db.Takeover(context.Background())
	}
	return t
}

func (s *store) Changeable(context.Context) error { return s.cache.Load().takeover().err }

var _ agent.Store = (*store)(nil)

func (s *store) Writer(journal string) (txn.Store, error) {
	if db, ok := s.records.(*database.Store); ok {
		_, err := db.Takeover(context.Background())
		return db.WithOwner(journal), err
	}
	return tree.Open(s.at.Path, s.at.Layout != "", tree.Options{Owner: journal, Note: s.warn})
}

func (s *store) Records(ctx context.Context, head change.Head) ([]change.Record, error) {
	loaded, _, err := s.LoadRaw(ctx, head)
	if err != nil {
		return nil, err
	}
	var all []change.Record
	for r := range loaded.Records {
		all = append(all, *r)
	}
	return all, nil
}

func (s *store) CheckFile(ctx context.Context, what change.Check) error {
	if s.tree == nil { // fill the caches now, because Held would wait for the end of the check
		_, _ = s.cache.Load().isHeld(), s.isLocal()
	}
	return s.records.CheckFile(ctx, what)
}

func (s *store) CheckAccess(inUse bool) error {
	db, ok := s.records.(*database.Store)
	if !ok || !inUse {
		return nil
	}
	if err := db.CheckWritable(); err != nil {
		return fmt.Errorf("%s answers no prompt, because it cannot write to its database: %w", s.title, err)
	}
	if err := db.CheckRoom(); err != nil {
		return fmt.Errorf("%s may answer no prompt: %w", s.title, err)
	}
	return nil
}

// load returns a session with its messages, and the stamp of its records. The error comes from the store, or is
// about a record that is nested too deep to be parsed.
func (s *store) load(ctx context.Context, head change.Head) (*record.Session, change.Stamp, error) {
	if head.ID == "" && len(head.Stray) > 0 { // such a head has the strays that belong to no session
		return &record.Session{Head: head}, change.Stamp{}, nil
	}
	loaded, stamp, err := s.Load(ctx, head)
	if err == nil {
		err = loaded.CheckDepth()
	}
	if err != nil {
		return nil, change.Stamp{}, err
	}
	if t := s.cache.Load().takeover(); t.err != nil {
		loaded.TakenOver, loaded.LeftBehind = true, t.wasNotImported(head.ID)
	}
	return loaded, stamp, nil
}

// environment returns the inputs of a diagnosis from the store and the machine. provider is as in [repair.Options].
func (s *store) environment(
	ctx context.Context, loaded *record.Session, provider string,
) (e diagnose.Environment, err error) {
	if err := s.setUsedProject(ctx, loaded); err != nil {
		return e, err
	}
	k := s.models.directoryModels(loaded.Directory)
	e = diagnose.Environment{
		Agent: s.title, Window: k.window, CanRead: k.canRead, Target: k.targetAs(provider),
		Missing: isMissing, Folder: s.folder,
		Places: func() ([]string, bool) { return s.placesOf(ctx, loaded.Head) },
	}
	if unfinished(loaded) { // otherwise the result is not needed, and it takes long
		e.Held, err = s.Held(ctx)
		e.Free = err == nil && e.Held.IsZero() && s.FindsHolders()
	}
	return e, err
}

func (s *store) Case(ctx context.Context, head change.Head, r repair.Request) (*repair.Case, error) {
	if r.Gone {
		return diagnose.New((&record.Session{Head: head}).Apply(r.Changes), r, diagnose.Environment{Agent: s.title}), nil
	}
	s.models.reset() // the settings may have changed since the last call
	loaded, _, err := s.load(ctx, head)
	if err != nil {
		return nil, err
	}
	e, err := s.environment(ctx, loaded, r.Provider)
	if err != nil {
		return nil, err
	}
	if len(r.Changes) > 0 {
		loaded = loaded.Apply(r.Changes)
	}
	return diagnose.New(loaded, r, e), nil
}

// Settings implements [agent.Store]. It identifies the settings of the user and the project, whether the session's
// folder exists, the project of that folder, and whether a newer generation has taken over the database.
func (s *store) Settings(head change.Head) string {
	settings := s.models.directoryModels(head.Directory).state
	if t := s.cache.Load().takeover(); t.err != nil {
		settings += fmt.Sprintf(" taken over, left behind %t", t.wasNotImported(head.ID))
	}
	if fault := s.folder(head.Directory); fault != "" {
		all, certain := s.placesOf(context.Background(), head)
		settings += fmt.Sprint(fault, all, certain)
	}
	project := s.projectOf(head.Directory)
	settings += fmt.Sprintf(" project %q", project)
	if s.tree != nil { // the agent takes over sessions of the project global when it makes a project's record
		settings += fmt.Sprintf(", unused %t", isMissing(filepath.Join(s.ID().Root, "project", project+".json")))
	}
	return settings
}

// unfinished reports whether the agent may be working in the session.
func unfinished(s *record.Session) bool {
	m := s.LatestAssistant()
	return m != nil && !m.IsFinished()
}

// isMissing reports whether the path does not exist; false if that is unknown.
func isMissing(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}

func (s *store) Former() string {
	root := s.ID().Root
	tree := filepath.Join(filepath.Dir(root), "storage")
	if root != tree && s.tree != nil || !hasDatabase(s.program, filepath.Dir(root)) {
		return ""
	}
	if info, err := os.Stat(filepath.Join(tree, "message")); err != nil || !info.IsDir() {
		return ""
	}
	return tree
}
