package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mend/internal/boltfile"
	"mend/internal/ownfile"
)

const (
	damagedInfix = ".damaged-"
	damagedTime  = "20060102T150405"
	keySalvaged  = "salvaged " // followed by the name of a file that was set aside: its readable states were copied
)

// DamagedFiles returns the paths of the damaged files in a folder that were set aside before a time, newest first.
func DamagedFiles(dir string, before time.Time) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	var all []string
	for _, e := range slices.Backward(entries) {
		when, ok := strings.CutPrefix(e.Name(), fileName+damagedInfix)
		when, _, _ = strings.Cut(when, ".")
		if at, err := time.Parse(damagedTime, when); ok && (err != nil || !at.After(before)) {
			all = append(all, filepath.Join(dir, e.Name()))
		}
	}
	return all, err
}

// RemoveDamaged removes files that [DamagedFiles] has returned, and returns their size in bytes. Their readable states
// were copied when the copies were last opened for writing.
func RemoveDamaged(paths []string) (size int64, err error) {
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil {
			return size, err
		}
		size += info.Size()
	}
	if len(paths) > 0 {
		err = ownfile.SyncDir(filepath.Dir(paths[0]))
	}
	return size, err
}

// salvage copies the readable states of the files that were set aside: each state whose chunks all exist and match
// their hashes. A crash leaves some of the states copied, and the next open for writing starts again. The files stay.
func (k *Keep) salvage(dir string) error {
	paths, err := DamagedFiles(dir, time.Now().Add(time.Hour))
	if err != nil {
		return err
	}
	for _, path := range paths {
		mark := []byte(keySalvaged + filepath.Base(path))
		if done, err := k.file.Snap.Has(boltfile.Meta, mark); err != nil {
			return err
		} else if done {
			continue
		}
		s := salvager{k: k, ctx: k.opts.Context, states: map[uint64]State{}, named: map[uint64]bool{}, whole: map[hash]bool{}}
		if err := s.run(path); err != nil {
			return fmt.Errorf("copying the readable states of %s: %w", path, err)
		}
		err := k.file.Update("salvaged", func(w *boltfile.Tx) error { return w.Put(boltfile.Meta, mark, []byte{1}) })
		if err != nil {
			return err
		}
		if k.opts.Notice != nil {
			k.opts.Notice(s.text(path))
		}
	}
	return nil
}

// A salvager copies the states of one file.
type salvager struct {
	k      *Keep
	ctx    context.Context
	states map[uint64]State // the states found, by number
	named  map[uint64]bool  // the states that the file names
	whole  map[hash]bool    // trees that were checked
	copied int
}

func (s *salvager) run(path string) error {
	f, err := ownfile.Open(path, os.O_RDONLY)
	if err != nil { // a link, or another user's file: nothing is copied
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = boltfile.Leftovers(f, info.Size(), ErrDamaged, s.add)
	}
	if err == nil {
		err = s.k.Flush()
	}
	for _, seq := range slices.Sorted(maps.Keys(s.states)) {
		if err == nil {
			err = s.store(s.states[seq])
		}
	}
	if err == nil {
		err = s.k.Flush()
	}
	var kept []State
	if err == nil {
		kept, err = s.k.States(Query{})
	}
	if err == nil {
		_, err = s.k.remove(s.ctx, nil, kept, 0) // chunks of lost states
	}
	return err
}

// add collects an item of the file if its checksum is right. Chunks are checked against their hashes later.
func (s *salvager) add(it boltfile.Item) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	if blob, err := it.Open(bucketBlobs); err == nil {
		if _, err := hashOf(it.Key); err != nil {
			return nil
		}
		if exists, err := s.k.file.Snap.Has(bucketBlobs, it.Key); exists || err != nil {
			return err
		}
		return s.k.put(bucketBlobs, slices.Clone(it.Key), blob)
	}
	if _, err := it.Open(bucketStates); err == nil {
		if st, err := decodeItem(it); err == nil && st.seq > 0 && st.seq < 1<<62 {
			s.states[st.seq], s.named[st.seq] = st, true
		}
	} else if _, err := it.Open(bucketSessions); err == nil {
		if seq, ok := boltfile.SplitSessionKey(it.Key); ok {
			s.named[seq] = true
		}
	}
	return nil
}

// store stores a state under its number if its tree is complete and the number is free.
func (s *salvager) store(st State) error {
	if exists, err := s.k.file.Snap.Has(bucketStates, boltfile.U64(st.seq)); exists || err != nil {
		return err
	}
	if ok, err := s.check(st.root, st.depth); err != nil || !ok {
		return err
	}
	s.copied++
	s.k.next = max(s.k.next, st.seq+1)
	return errors.Join(
		s.k.put(bucketSessions, boltfile.SessionKey(st.Session, st.seq), nil),
		s.k.put(bucketStates, boltfile.U64(st.seq), encodeState(&st)))
}

// check reports whether all chunks of a tree exist. The error is about the new file.
func (s *salvager) check(h hash, depth int) (bool, error) {
	if ok, seen := s.whole[h]; seen {
		return ok, s.ctx.Err()
	}
	s.whole[h] = false
	blob, err := s.k.read(h)
	if err != nil && !errors.Is(err, ErrDamaged) {
		return false, err
	}
	ok := err == nil
	if ok && depth > 0 {
		list, lerr := splitNode(blob)
		ok = lerr == nil
		for _, h := range list {
			if ok && err == nil {
				ok, err = s.check(h, depth-1)
			}
		}
		if err != nil {
			return false, err
		}
	}
	s.whole[h] = ok
	return ok, s.ctx.Err()
}

// text describes the copied states.
func (s *salvager) text(path string) string {
	lost := 0
	for seq := range s.named {
		if exists, err := s.k.file.Snap.Has(bucketStates, boltfile.U64(seq)); err != nil || !exists {
			lost++
		}
	}
	return fmt.Sprintf("Kept copies recovered from %s: %d; lost, because parts of them cannot be read: %d", path, s.copied, lost)
}
