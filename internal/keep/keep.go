package keep

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
	bolt "go.etcd.io/bbolt"

	"mend/change"
	"mend/internal/fail"
	"mend/internal/ownfile"
)

const (
	fileName = "keep.db"
	lockName = "keep.lock"
)

// Options say how to open the copies. The zero Options open them for writing.
type Options struct {
	ReadOnly bool
	Timeout  time.Duration    // how long to wait for another process; 0: 2 s
	Now      func() time.Time // nil: time.Now
}

var (
	// ErrDamaged says that the file is not what mend wrote.
	ErrDamaged error = fail.New(fail.Unusable, "", "the kept copies are damaged")
	// ErrLocked says that another process held the file for the whole timeout.
	ErrLocked error = fail.New(fail.Refused, "another mend is running; try again when it is done", "the kept copies are locked by another process")
)

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// A Keep is the open file with the copies. Its methods are for one goroutine.
type Keep struct {
	opts Options
	lock *ownfile.Lock
	db   *bolt.DB // nil: there are no copies
	enc  *zstd.Encoder
	dec  *zstd.Decoder
}

var (
	bucketBlobs    = []byte("blobs")
	bucketStates   = []byte("states")
	bucketSessions = []byte("sessions")
)

// Open opens the copies in the folder of the journal. For writing it creates the file if there is none, for
// this user alone. For reading it creates nothing; without a file there are no copies.
func Open(dir string, o Options) (*Keep, error) {
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	k := &Keep{opts: o}
	if err := k.open(dir); err != nil {
		_ = k.Close()
		return nil, fmt.Errorf("opening %s: %w", filepath.Join(dir, fileName), err)
	}
	return k, nil
}

func (k *Keep) open(dir string) (err error) {
	k.enc, err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	if k.dec, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(4<<20)); err != nil {
		return err
	}
	path, flags := filepath.Join(dir, fileName), os.O_RDWR|os.O_CREATE
	if k.opts.ReadOnly {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		err, flags = ownfile.CheckDir(dir), os.O_RDONLY
	} else {
		err = ownfile.MakeDir(dir)
	}
	if err != nil {
		return err
	}
	k.lock, err = ownfile.Acquire(filepath.Join(dir, lockName), flags, k.opts.ReadOnly, k.opts.Timeout)
	if errors.Is(err, ownfile.ErrLocked) {
		return ErrLocked
	}
	if err != nil {
		return err
	}
	k.db, err = bolt.Open(path, 0o600, &bolt.Options{
		ReadOnly: k.opts.ReadOnly, Timeout: k.opts.Timeout, FreelistType: bolt.FreelistMapType,
		OpenFile: func(name string, flag int, _ os.FileMode) (*os.File, error) { return ownfile.Open(name, flag) },
	})
	if err != nil || k.opts.ReadOnly {
		return err
	}
	return k.db.Update(func(tx *bolt.Tx) error {
		for _, name := range [][]byte{bucketBlobs, bucketStates, bucketSessions} {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Close closes the file and releases its lock.
func (k *Keep) Close() error {
	var errs []error
	if k.db != nil {
		errs = append(errs, k.db.Close())
	}
	if k.lock != nil {
		errs = append(errs, k.lock.Close())
	}
	k.db, k.lock = nil, nil
	return errors.Join(errs...)
}

// Saved is what became of a Save.
type Saved struct {
	State State // with its ID: the new one, or the latest one if nothing has changed since
	New   bool  // the state is a new one
	Bytes int64 // about how much larger the file became
}

// maxDepth is more levels than the tree of any session has.
const maxDepth = 8

// Save stores a state of a session, of which the caller sets what Save does not, with these records. If
// the latest state of the session has the same records, that one stays the latest, with the stamp of s.
func (k *Keep) Save(ctx context.Context, s State, records iter.Seq[*change.Record]) (Saved, error) {
	saved, err := k.save(ctx, s, records)
	if err != nil {
		return Saved{}, fmt.Errorf("keeping session %s: %w", s.Session, err)
	}
	return saved, nil
}

func (k *Keep) save(ctx context.Context, s State, records iter.Seq[*change.Record]) (saved Saved, err error) {
	if s.Time.IsZero() {
		s.Time = k.opts.Now()
	}
	s.Records, s.Size = 0, 0
	err = k.db.Update(func(tx *bolt.Tx) error {
		blobs := tx.Bucket(bucketBlobs)
		put := func(data []byte) (hash, error) {
			h := hash(sha256.Sum256(data))
			if blobs.Get(h[:]) != nil {
				return h, nil
			}
			packed := k.enc.EncodeAll(data, nil)
			saved.Bytes += int64(len(packed))
			return h, blobs.Put(h[:], packed)
		}
		var list []hash
		c := cutter{emit: func(chunk []byte) error {
			h, err := put(chunk)
			list = append(list, h)
			return errors.Join(err, ctx.Err())
		}}
		for r := range records {
			image := change.ImageOf(r)
			s.Records, s.Size = s.Records+1, s.Size+int64(len(image.Data))
			if err := c.add(r.Ref, image.Mode, image.Data); err != nil {
				return err
			}
		}
		if err := c.flush(); err != nil {
			return err
		}
		for s.depth = 0; len(list) > 1; s.depth++ {
			if list, err = nodes(list, put); err != nil {
				return err
			}
		}
		if len(list) == 0 {
			return errors.New("it has no records")
		}
		s.root = list[0]
		states := tx.Bucket(bucketStates)
		last, found, err := latest(tx, &s)
		if err != nil {
			return err
		}
		if found && last.root == s.root && last.depth == s.depth {
			saved.State = last
			if last.Stamp == s.Stamp {
				return nil
			}
			saved.State.Stamp = s.Stamp
			return states.Put(u64(last.seq), encodeState(&saved.State))
		}
		if found {
			s.Lost = s.lost(&last)
		}
		key, _ := states.Cursor().Last()
		s.seq = 1
		if len(key) == 8 {
			s.seq = binary.BigEndian.Uint64(key) + 1
		}
		s.ID = idOf(s.seq)
		saved.State, saved.New = s, true
		return errors.Join(states.Put(u64(s.seq), encodeState(&s)), tx.Bucket(bucketSessions).Put(append(sessionKey(s.Session), u64(^s.seq)...), []byte{1}))
	})
	return saved, err
}

func u64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

func sessionKey(id string) []byte {
	sum := sha256.Sum256([]byte(id))
	return sum[:16:16]
}

// eachOf calls yield for the states of sessions with that id, newest first, until it returns false.
func eachOf(tx *bolt.Tx, session string, yield func(State) bool) error {
	prefix := sessionKey(session)
	c := tx.Bucket(bucketSessions).Cursor()
	for key, _ := c.Seek(prefix); bytes.HasPrefix(key, prefix) && len(key) == len(prefix)+8; key, _ = c.Next() {
		seq := ^binary.BigEndian.Uint64(key[len(prefix):])
		s, err := decodeState(seq, tx.Bucket(bucketStates).Get(u64(seq)))
		if err != nil {
			return err
		}
		if s.Session == session && !yield(s) {
			return nil
		}
	}
	return nil
}

// latest returns the latest state of the session of s.
func latest(tx *bolt.Tx, s *State) (last State, found bool, err error) {
	err = eachOf(tx, s.Session, func(t State) bool {
		if found = t.Store.Same(s.Store) && t.Ref == s.Ref; found {
			last = t
		}
		return !found
	})
	return last, found, err
}

// A Query selects states. Its zero value selects all.
type Query struct {
	Agent   string          // of the agent with that name
	Store   *change.StoreID // of this store
	Session string          // of sessions with exactly that id
}

func (q *Query) selects(s *State) bool {
	return (q.Agent == "" || q.Agent == s.Agent) && (q.Store == nil || q.Store.Same(s.Store)) && (q.Session == "" || q.Session == s.Session)
}

// States lists states, newest first.
func (k *Keep) States(q Query) (all []State, err error) {
	if k.db == nil {
		return nil, nil
	}
	err = k.db.View(func(tx *bolt.Tx) error {
		add := func(s State) bool {
			if q.selects(&s) {
				all = append(all, s)
			}
			return true
		}
		if q.Session != "" {
			return eachOf(tx, q.Session, add)
		}
		err := tx.Bucket(bucketStates).ForEach(func(key, v []byte) error {
			if len(key) != 8 {
				return damaged("states has a key %x", key)
			}
			s, err := decodeState(binary.BigEndian.Uint64(key), v)
			if err == nil {
				add(s)
			}
			return err
		})
		slices.Reverse(all)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing the kept states: %w", err)
	}
	return all, nil
}

// Load returns the records of a state, each as the op that would create it, in the order in which they were
// saved.
func (k *Keep) Load(ctx context.Context, s State) (ops []change.Op, err error) {
	var j joiner
	err = k.db.View(func(tx *bolt.Tx) error {
		return k.walk(ctx, tx.Bucket(bucketBlobs), s.root, s.depth, j.add)
	})
	if err == nil {
		ops, err = j.end()
	}
	if err != nil {
		return nil, fmt.Errorf("reading state %s of session %s: %w", s.ID, s.Session, err)
	}
	return ops, nil
}

func (k *Keep) walk(ctx context.Context, blobs *bolt.Bucket, h hash, depth int, chunk func([]byte) error) error {
	data, err := k.dec.DecodeAll(blobs.Get(h[:]), nil)
	if err != nil || sha256.Sum256(data) != h {
		return errors.Join(damaged("blob %x: %v", h, err), ctx.Err())
	}
	if depth == 0 {
		return errors.Join(chunk(data), ctx.Err())
	}
	list, err := splitNode(data)
	if err != nil {
		return err
	}
	for _, h := range list {
		if err := k.walk(ctx, blobs, h, depth-1, chunk); err != nil {
			return err
		}
	}
	return nil
}
