package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"mend/internal/ownfile"
)

// Options say how to open a journal. The zero Options open it for writing.
type Options struct {
	ReadOnly bool
	Version  string           // of mend: it is written into entries
	Timeout  time.Duration    // how long to wait for another process; 0: 2 s
	Now      func() time.Time // nil: time.Now

	// Step is called before each change of a file, with what comes next. Tests
	// cut or fail the journal there.
	Step func(what string) error
	// compactAbove is how many free bytes GC leaves in the file; 0: 64 MiB.
	compactAbove int64
	// batchSize bounds a transaction of blobs; 0: 16 MiB.
	batchSize int
}

func (o Options) withDefaults() Options {
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Step == nil {
		o.Step = func(string) error { return nil }
	}
	if o.compactAbove == 0 {
		o.compactAbove = 64 << 20
	}
	if o.batchSize == 0 {
		o.batchSize = 16 << 20
	}
	return o
}

// A Journal is an open journal. Its methods may be called from several
// goroutines; they take turns.
type Journal struct {
	mu    sync.Mutex
	dir   string
	opts  Options
	lock  *ownfile.Lock
	codec *codec

	db       *bolt.DB  // for writing; nil if read only
	boltFile *os.File  // what db has open
	file     *os.File  // for reading; nil if there is no journal
	snap     *snapshot // of the newest transaction; nil if there is no journal
	head     head
	id       string
	dead     error // why the journal cannot be used any more

	stamp     string // of the file when it was opened; "" if it was verified then
	stampedAt uint64 // the transaction that it had
}

// A head is the newest event.
type head struct {
	seq            uint64 // 0: there is none
	hash           hash
	begun, pending uint64
}

// Open opens the journal in the folder dir. For writing, it makes folder and
// journal where they are missing, for this user alone, and keeps every other
// process out until Close; it verifies a journal that is not as mend left it, and
// ends what a crash cut short. For reading, it changes nothing, shares the journal with other readers, and takes a missing
// journal for an empty one.
//
// The error is a [*LockedError] where another process held the journal for the
// whole timeout, and wraps [ErrDamaged] or [ErrFormat] where the file cannot be
// used; then it is left as it is. It is an [*ownfile.UnsafeError] where the folder
// or a file is not as mend keeps it, such as one that others can write to.
func Open(dir string, o Options) (*Journal, error) {
	j := &Journal{dir: dir, opts: o.withDefaults(), codec: newCodec()}
	open := j.openWriter
	if o.ReadOnly {
		open = j.openReader
	}
	err := open()
	if err == nil {
		return j, nil
	}
	_ = j.Close()
	if errors.Is(err, ErrDamaged) {
		path := j.path(fileName)
		return nil, fmt.Errorf("opening journal %s: %w; to start a new journal, move the file away: mv -n %s %s; what it holds cannot be undone then",
			path, err, quote(path), quote(path+".damaged"))
	}
	return nil, fmt.Errorf("opening journal %s: %w", j.path(fileName), err)
}

// quote is a name as a shell takes it.
func quote(name string) string {
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// ID is the journal's own id, made at its creation: letters and digits, for
// names of folders. It is empty for a journal that does not exist.
func (j *Journal) ID() string { return j.id }

func (j *Journal) path(name string) string { return filepath.Join(j.dir, name) }

func (j *Journal) step(what string) error { return j.opts.Step(what) }
