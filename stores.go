package mend

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"time"

	"mend/change"
	"mend/fsstore"
	"mend/internal/userdir"
	"mend/session"
	"mend/sqlstore"
	"mend/txn"
)

// A Store is where an agent keeps its sessions: what a transaction needs, and
// the reading side.
type Store interface {
	txn.Store
	// ID says which store it is.
	ID() change.StoreID
	// List returns the sessions without their messages.
	List(ctx context.Context) ([]session.Session, error)
	// Load returns a session of List with its messages and parts.
	Load(ctx context.Context, head session.Session) (*session.Session, error)
	// LoadStamped is Load, with the stamp that the records had when they were read.
	LoadStamped(ctx context.Context, head session.Session) (*session.Session, session.Stamp, error)
	// ScanRecords reads a session of List as Load does, without building it: it passes
	// each message with its parts to visit, which must not keep them. It returns the
	// session without its messages, and the stamp. It returns nil if visit returned
	// false, or if something may be wrong with a record.
	ScanRecords(ctx context.Context, head session.Session, visit func(m *session.Record, parts iter.Seq[*session.Record]) bool) (*session.Session, session.Stamp)
	// Stamp is the stamp that the records of a session of List have now. It reads
	// none of them.
	Stamp(ctx context.Context, head session.Session) (session.Stamp, error)
	// State is the stamp of the whole store, if that can be told at once; else it is
	// the zero one.
	State(ctx context.Context) (session.Stamp, error)
	// Read returns what the records hold now, nil for one that does not exist.
	Read(ctx context.Context, refs []session.Ref) ([]*change.Image, error)
	// Orphans lists the records that no session leads to, and their folders.
	Orphans(ctx context.Context) ([]session.Ref, error)
	// Held returns since when another process has been working with the store: the
	// start of the oldest one, the zero time if there is none.
	Held(ctx context.Context) (time.Time, error)
}

// A Located is a store that was found by looking.
type Located struct {
	Path   string
	Layout string // Database, or the layout of a JSON tree
}

// Database is what stands for a layout where the store is a database.
const Database = "sqlite"

// ErrNoStore says that no store was found.
var ErrNoStore = errors.New("no session store found")

// ErrLayout says that no layout has the name of [Options.Layout].
var ErrLayout = fsstore.ErrLayout

// ErrLocked says that another program holds the lock of a database for too long.
var ErrLocked = sqlstore.ErrBusy

// Stores lists the stores that this user has, the one in use first: OpenCode
// reads its database where it has one, also if the JSON tree that it was made
// from is still there.
func Stores() []Located {
	home, _ := userdir.Home("XDG_DATA_HOME") // without one only what variables name is looked for
	var found []Located
	for _, path := range sqlstore.Find(os.Getenv, home) {
		found = append(found, Located{path, Database})
	}
	for _, l := range fsstore.Find(os.Getenv, home) {
		found = append(found, Located{l.Path, l.Layout})
	}
	return found
}

// open opens the store of the options; owner names the journal that changes
// belong to. A path may lead to a database or to a folder: with no layout given,
// one that holds a database is meant as that.
func (o *Options) open(owner string) (Store, error) {
	if o.Layout == Database || o.Layout == "" && hasDatabase(o.Store) {
		return opened(sqlstore.Open(o.Store, sqlstore.Options{Unattached: o.unattached}))
	}
	return opened(fsstore.Open(o.Store, o.Layout, fsstore.Options{Owner: owner, Note: o.Note}))
}

// opened keeps a nil store of some type from becoming a Store that is not nil.
func opened[S Store](st S, err error) (Store, error) {
	if err != nil {
		return nil, err
	}
	return st, nil
}

func hasDatabase(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if !info.IsDir() {
		return true
	}
	for _, name := range []string{"opencode.db", "opencode.db-wal"} {
		if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
			return true
		}
	}
	return false
}

// find fills in the store in use where none is named. The error wraps
// [ErrNoStore] if there is none.
func (o *Options) find() error {
	if o.Store != "" {
		return nil
	}
	if o.Layout != "" && o.Layout != Database {
		if err := fsstore.CheckLayout(o.Layout); err != nil {
			return err
		}
	}
	for _, l := range Stores() {
		if o.Layout == "" || o.Layout == l.Layout {
			o.Store, o.Layout = l.Path, l.Layout
			return nil
		}
	}
	if _, err := userdir.Home("XDG_DATA_HOME"); err != nil && os.Getenv("XDG_DATA_HOME") == "" {
		return fmt.Errorf("%w: where OpenCode keeps its data is not known: %w", ErrNoStore, err)
	}
	return fmt.Errorf("%w: looked in the data folder of OpenCode and in this folder", ErrNoStore)
}

// LegacyTree returns the path of the JSON tree from which OpenCode made its database,
// "" if there is none. It may still be on the disk, but the agent no longer reads
// it. If the client's store is such a tree, LegacyTree returns that.
func (c *Client) LegacyTree() string {
	root := c.store.ID().Root
	tree := filepath.Join(filepath.Dir(root), "storage")
	if root != tree && c.store.ID().Kind != "sqlite" || !hasDatabase(filepath.Dir(root)) {
		return ""
	}
	if info, err := os.Stat(filepath.Join(tree, "message")); err != nil || !info.IsDir() {
		return ""
	}
	return tree
}
