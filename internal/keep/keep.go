package keep

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"time"

	"mend/change"
	"mend/internal/boltfile"
	"mend/internal/fail"
	"mend/internal/memory"
)

const (
	fileName = "keep.db"
	lockName = "keep.lock"

	format = 1

	keyFormat  = "format"
	keyNext    = "next"
	keyThinned = "thinned"
	keyErasing = "erasing" // an interrupted forget: the file may still have the bytes

	bucketBlobs    = "blobs"
	bucketStates   = "states"
	bucketSessions = "sessions"
	bucketStores   = "stores" // no longer used, but every file has it
)

var buckets = []string{boltfile.Meta, bucketBlobs, bucketStates, bucketSessions, bucketStores}

// Options configure [Open]. The zero Options open the copies for writing.
type Options struct {
	ReadOnly bool
	Timeout  time.Duration    // how long to wait for another process; 0: 2 s
	Now      func() time.Time // nil: time.Now
	Context  context.Context  // cancels reading; nil: never

	// Notice, if not nil, is called with a sentence for the user when a damaged file was set aside, and with another
	// about the states that were copied from it.
	Notice func(string)
	// Step is as in [boltfile.Options], for tests.
	Step func(what string) error
	// batchSize limits the bytes collected before a write; 0: 2 MiB.
	batchSize int
}

var (
	// ErrDamaged means that the file differs from what mend wrote.
	ErrDamaged error = fail.New(fail.Unusable, `your sessions are not touched. "mend keep" sets the file aside, and begins a new one with what can be read of it`, "the kept copies are damaged")
	// ErrNothing means that a session without earlier copies has no message to keep.
	ErrNothing = errors.New("it has no message")
	// ErrFormat means that a later version of mend wrote the file.
	ErrFormat error = fail.New(fail.Unusable, "use the version of mend that wrote them, or a later one", "the kept copies have another format")
)

func damageError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// A Keep is the open file with the copies. It is not safe for concurrent use.
type Keep struct {
	opts Options
	file *boltfile.File

	next    uint64 // the number of the next state
	values  []boltfile.Value
	size    int             // approximate size of values in the file
	pending map[string]bool // keys of blobs in values, and of sessions that have a state there
}

// Path returns the path of the file in a folder.
func Path(dir string) string { return filepath.Join(dir, fileName) }

// Open opens the copies in the folder of the journal. For writing it creates a missing file, for this user alone, and
// sets a damaged one aside; it also finishes an interrupted Forget. For reading it changes nothing, and a missing file
// counts as empty. The error is a [*boltfile.LockedError] if another process held the file for the whole timeout.
func Open(dir string, o Options) (*Keep, error) {
	o.Timeout, o.batchSize = cmp.Or(o.Timeout, 2*time.Second), cmp.Or(o.batchSize, 2<<20)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Context == nil {
		o.Context = context.Background()
	}
	k, err := open(dir, o)
	if errors.Is(err, ErrDamaged) && !o.ReadOnly {
		if err = k.SetAside(err); err == nil {
			k, err = open(dir, o)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", Path(dir), errors.Join(err, k.Close()))
	}
	return k, nil
}

// open returns the Keep even if there is an error, because its file is still locked.
func open(dir string, o Options) (*Keep, error) {
	k := &Keep{opts: o, pending: map[string]bool{}}
	k.file = boltfile.New(dir, boltfile.Spec{
		Name: fileName, Lock: lockName, Buckets: buckets, Growing: []string{bucketStates}, Damaged: ErrDamaged,
		Fill: k.fill, Attached: k.attach, Committed: func() error { return nil }, Verify: k.verifyStates,
	}, boltfile.Options{ReadOnly: o.ReadOnly, Timeout: o.Timeout, Context: o.Context, Step: o.Step, BatchSize: o.batchSize})
	err := k.file.Open()
	if err == nil && !o.ReadOnly {
		err = k.finishErasing()
	}
	if err == nil && !o.ReadOnly {
		err = k.salvage(dir)
	}
	return k, err
}

// SetAside renames the damaged file, notifies the user and closes k. The file is neither written nor removed.
func (k *Keep) SetAside(damage error) error {
	base := k.file.Path() + damagedInfix + time.Now().UTC().Format(damagedTime)
	name := base
	for n := 2; ; n++ {
		if _, err := os.Lstat(name); err != nil {
			break
		}
		name = fmt.Sprintf("%s.%d", base, n)
	}
	if err := errors.Join(k.file.SetAside(name), k.Close()); err != nil {
		return errors.Join(damage, err)
	}
	if k.opts.Notice != nil {
		k.opts.Notice(fmt.Sprintf("%v. The file is now %s, and a new one begins with what can be read of it. Your sessions are not touched", damage, name))
	}
	return nil
}

func (k *Keep) fill(w *boltfile.Tx) error {
	return errors.Join(
		w.Put(boltfile.Meta, []byte(keyFormat), binary.BigEndian.AppendUint32(nil, format)),
		w.Put(boltfile.Meta, []byte(keyNext), boltfile.U64(1)))
}

// attach checks the format of the file and reads the number of the next state.
func (k *Keep) attach() error {
	v, ok, err := k.file.Snap.Get(boltfile.Meta, []byte(keyFormat))
	switch {
	case err != nil:
		return err
	case !ok || len(v) != 4:
		return damageError("it has no format number")
	case binary.BigEndian.Uint32(v) != format:
		return fmt.Errorf("%w: written by a later mend (format %d), this one knows %d", ErrFormat, binary.BigEndian.Uint32(v), format)
	}
	v, _, err = k.file.Snap.Get(boltfile.Meta, []byte(keyNext))
	n, ok := boltfile.SplitU64(v, 1)
	if err == nil && (!ok || n[0] == 0) {
		err = damageError("it has no number for the next state")
	}
	if err == nil {
		k.next = n[0]
	}
	return err
}

// Close closes the file and releases its lock. It drops states that [Keep.Add] has collected and [Keep.Flush] has not
// written.
func (k *Keep) Close() error {
	if err := k.file.Close(); err != nil {
		return fmt.Errorf("closing the kept copies: %w", err)
	}
	return nil
}

// Saved is the result of a copy.
type Saved struct {
	State State // with its ID: the new state, or the latest one if it has the same records
	New   bool  // the state is new
	Bytes int64 // approximate growth of the file
}

// maxDepth exceeds the depth of any session's tree.
const maxDepth = 8

// Records are the records of a session: each message followed by its parts.
type Records = iter.Seq[*change.Record]

// Add adds a state of a session with the given records. The caller sets the fields of s that Add does not set. If the
// latest state of the session has the same records, that state stays the latest, with the stamp of s. The state is
// durable after the next successful Flush.
func (k *Keep) Add(ctx context.Context, s State, r Records) (Saved, error) {
	saved, err := k.add(ctx, s, r)
	if err != nil {
		return Saved{}, fmt.Errorf("keeping session %s: %w", s.Session, err)
	}
	return saved, nil
}

func (k *Keep) add(ctx context.Context, s State, r Records) (saved Saved, err error) {
	if err := k.file.CheckWritable(); err != nil {
		return saved, err
	}
	session := string(boltfile.SessionKey(s.Session))
	if k.pending[session] {
		if err := k.Flush(); err != nil {
			return saved, err
		}
	}
	if s.Time.IsZero() {
		s.Time = k.opts.Now()
	}
	last, found, err := k.Latest(s.Store, s.Session, s.Ref)
	if err != nil {
		return saved, err
	}
	if !found && s.Messages == 0 {
		return saved, ErrNothing
	}
	var previous []hash
	if found {
		if previous, err = k.leaves(&last); err != nil {
			return saved, err
		}
	}
	put := func(blob []byte) (hash, error) { return k.blob(blob, &saved.Bytes) }
	list, err := k.cut(ctx, &s, previous, r, put)
	if err != nil {
		return saved, err
	}
	for s.depth = 0; len(list) > 1; s.depth++ {
		if list, err = nodes(list, put); err != nil {
			return saved, err
		}
	}
	if len(list) == 0 {
		return saved, errors.New("it has no records")
	}
	s.root = list[0]
	if found && last.root == s.root && last.depth == s.depth {
		saved = Saved{State: last}
		if last.Stamp == s.Stamp {
			return saved, nil
		}
		saved.State.Stamp = s.Stamp
		return saved, k.put(bucketStates, boltfile.U64(last.seq), encodeState(&saved.State))
	}
	if s.Lost = 0; found {
		s.Lost = s.lost(&last)
	}
	s.seq = k.next
	s.ID = idOf(s.seq)
	k.pending[session] = true
	k.next++
	saved.State, saved.New = s, true
	return saved, errors.Join(
		k.put(bucketSessions, boltfile.SessionKey(s.Session, s.seq), nil),
		k.put(bucketStates, boltfile.U64(s.seq), encodeState(&s)))
}

// cut cuts the records of a state into chunks, and returns their hashes. The records before the first message have
// chunks of their own, since they change with each turn.
func (k *Keep) cut(
	ctx context.Context, s *State, previous []hash, all Records, put func([]byte) (hash, error),
) (list []hash, err error) {
	c := cutter{previous: previous, size: k.sizeOf, lines: s.Store.Kind == "lines", emit: func(chunk []byte) (hash, error) {
		h, err := put(chunk)
		list = append(list, h)
		return h, errors.Join(err, ctx.Err())
	}}
	s.Records, s.Size = 0, 0
	var row []byte
	inHead := true
	for r := range all {
		if inHead && r.Ref.Kind == change.KindMessage {
			if inHead, err = false, c.flush(); err != nil {
				return nil, err
			}
		}
		if err := c.begin(r.Ref); err != nil {
			return nil, err
		}
		image := change.Image{Data: r.Data, Mode: r.Mode} // as [change.ImageOf] does, in reused memory
		if r.IsRow() {
			row = change.AppendRow(row[:0], r)
			image = change.Image{Data: row}
		}
		s.Records, s.Size = s.Records+1, s.Size+int64(len(image.Data))
		if err := c.add(r.Ref, image.Mode, image.Data); err != nil {
			return nil, err
		}
	}
	err = c.flush()
	return list, err
}

// sizeOf returns the size of a blob, 0 if it cannot be read.
func (k *Keep) sizeOf(h hash) int {
	val, found, err := k.file.Snap.Get(bucketBlobs, h[:])
	if err != nil || !found {
		return 0
	}
	return int(boltfile.BlobSize(val))
}

// tree calls enter for the blobs of a tree in order, a node before its children. It skips the children of a node for
// which enter returns false. A chunk has depth 0.
func (k *Keep) tree(h hash, depth int, enter func(h hash, depth int) (bool, error)) error {
	below, err := enter(h, depth)
	if err != nil || !below || depth == 0 {
		return err
	}
	blob, err := k.read(h)
	if err != nil {
		return err
	}
	list, err := splitNode(blob)
	for _, h := range list {
		if err == nil {
			err = k.tree(h, depth-1, enter)
		}
	}
	return err
}

// read reads a chunk or a node, and checks its hash.
func (k *Keep) read(h hash) ([]byte, error) {
	if k.file.Snap == nil {
		return nil, boltfile.ErrClosed
	}
	return k.file.Snap.Blob(bucketBlobs, h)
}

// leaves returns the hashes of the chunks of a state.
func (k *Keep) leaves(s *State) (list []hash, err error) {
	err = k.tree(s.root, s.depth, func(h hash, depth int) (bool, error) {
		if depth == 0 {
			list = append(list, h)
		}
		if len(list) > maxChunks {
			return false, damageError("state %s has too many chunks", s.ID)
		}
		return true, nil
	})
	return list, err
}

// blob collects a blob, unless the file has it.
func (k *Keep) blob(data []byte, bytes *int64) (hash, error) {
	h := hash(sha256.Sum256(data))
	if k.pending[string(h[:])] {
		return h, nil
	}
	// An existing blob is read, so that no new state needs a damaged chunk.
	if _, found, err := k.file.Snap.Get(bucketBlobs, h[:]); found || err != nil {
		return h, err
	}
	k.pending[string(h[:])] = true
	return h, boltfile.WriteBlob(h, data, func(key, val []byte) error {
		*bytes += int64(len(val))
		return k.put(bucketBlobs, key, val)
	})
}

// put collects a value. It first writes the collected values if they would become too large.
func (k *Keep) put(bucket string, key, val []byte) error {
	v := boltfile.Value{Bucket: bucket, Key: key, Val: val}
	// Only a blob may start a new transaction: a state and its key, which follow the blobs, must be in one.
	if k.size += v.Cost(); k.size > k.opts.batchSize && bucket == bucketBlobs {
		if err := k.write(); err != nil {
			return err
		}
		k.size = v.Cost()
	}
	k.values = append(k.values, v)
	return nil
}

// Flush makes added states durable. After an error, assume that no state since the last Flush was written.
func (k *Keep) Flush() error {
	if len(k.values) == 0 {
		return nil
	}
	if err := k.write(); err != nil {
		return fmt.Errorf("writing %s: %w", k.file.Path(), err)
	}
	return nil
}

func (k *Keep) write() error {
	values := k.values
	k.values, k.size = nil, 0
	clear(k.pending)
	return k.file.Update("keep", func(w *boltfile.Tx) error {
		if err := w.PutAll(values); err != nil {
			return err
		}
		return w.Put(boltfile.Meta, []byte(keyNext), boltfile.U64(k.next))
	})
}

func (k *Keep) state(seq uint64) (State, error) {
	v, ok, err := k.file.Snap.Get(bucketStates, boltfile.U64(seq))
	if err == nil && !ok {
		err = damageError("state %d is missing", seq)
	}
	if err != nil {
		return State{}, err
	}
	return decodeState(seq, v)
}

// eachOf calls yield for the states of the sessions with the given id, newest first, until it returns false.
func (k *Keep) eachOf(session string, yield func(State) bool) error {
	return k.file.Snap.Scan(bucketSessions, boltfile.SessionKey(session), nil, func(it boltfile.Item) error {
		seq, ok := boltfile.SplitSessionKey(it.Key)
		if !ok {
			return damageError("sessions has a key %x", it.Key)
		}
		s, err := k.state(seq)
		if err == nil && s.Session == session && !yield(s) {
			err = boltfile.ErrStop
		}
		return err
	})
}

// Latest returns the latest state of a session, and whether it exists.
func (k *Keep) Latest(store change.StoreID, session string, ref change.Ref) (last State, found bool, err error) {
	if k.file.Snap == nil {
		return last, false, nil
	}
	err = k.eachOf(session, func(s State) bool {
		if found = s.Store.Same(store) && s.Ref == ref; found {
			last = s
		}
		return !found
	})
	return last, found, err
}

// A Query selects states. Its zero value selects all.
type Query struct {
	Agent   string                    // of this agent
	Store   func(change.StoreID) bool // of these stores
	Session string                    // of sessions with exactly this id
}

func (q *Query) matches(s *State) bool {
	return (q.Agent == "" || q.Agent == s.Agent) && (q.Store == nil || q.Store(s.Store)) && (q.Session == "" || q.Session == s.Session)
}

// States lists states, newest first.
func (k *Keep) States(q Query) (all []State, err error) {
	if err = k.Each(q, func(s *State) { all = append(all, *s) }); err != nil {
		return nil, err
	}
	if q.Session == "" {
		slices.Reverse(all)
	}
	return all, nil
}

// Each calls yield for states, oldest first, or for one session newest first. It holds one state at a time.
func (k *Keep) Each(q Query, yield func(*State)) (err error) {
	if k.file.Snap == nil {
		return nil
	}
	add := func(s State) bool {
		if q.matches(&s) {
			yield(&s)
		}
		return true
	}
	if q.Session != "" {
		err = k.eachOf(q.Session, add)
	} else {
		err = k.file.Snap.Scan(bucketStates, nil, nil, func(it boltfile.Item) error {
			s, err := decodeItem(it)
			if err == nil {
				add(s)
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("listing the kept states: %w", err)
	}
	return nil
}

func decodeItem(it boltfile.Item) (State, error) {
	n, ok := boltfile.SplitU64(it.Key, 1)
	if !ok {
		return State{}, damageError("states has a key %x", it.Key)
	}
	v, err := it.Open(bucketStates)
	if err != nil {
		return State{}, err
	}
	return decodeState(n[0], v)
}

// Load returns the records of a state, each as the op that would create it, in the order they were saved.
// Every byte has been checked against its stored hash.
func (k *Keep) Load(ctx context.Context, s State) (ops []change.Op, err error) {
	most := 2 * memory.LargestSession()
	if s.Size > most {
		return nil, fmt.Errorf("reading state %s of session %s: %w", s.ID, s.Session, &change.SizeError{Most: most})
	}
	return k.LoadTo(ctx, s, func(change.Ref) io.Writer { return nil })
}

// LoadTo is Load, except that the function to may return a writer for a record. The record is then written there, and
// its op has no bytes, so it may be larger than the memory.
func (k *Keep) LoadTo(ctx context.Context, s State, to func(change.Ref) io.Writer) (_ []change.Op, err error) {
	j := joiner{to: to, room: max(2*memory.LargestSession(), s.Size) + maxChunk}
	if err = k.tree(s.root, s.depth, func(h hash, depth int) (bool, error) {
		if depth > 0 {
			return true, ctx.Err()
		}
		blob, err := k.read(h)
		if err == nil {
			err = j.add(blob)
		}
		return false, errors.Join(err, ctx.Err())
	}); err == nil && (j.left > 0 || len(j.ops) != s.Records) {
		err = damageError("its last record is cut short, or it has %d records and not %d", len(j.ops), s.Records)
	}
	if err != nil {
		return nil, fmt.Errorf("reading state %s of session %s: %w", s.ID, s.Session, err)
	}
	return j.ops, nil
}
