package linestore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// A copyName has the size and SHA-256 of the two transcripts that a staged file may hold, before and after the
// change. Other programs may have appended to either.
type copyName struct {
	oldSize, newSize int
	oldHash, newHash string
}

func hash(data []byte) string { return fmt.Sprintf("%x", sha256.Sum256(data)) }

func (c copyName) String() string {
	return fmt.Sprintf("%d-%s-%d-%s", c.oldSize, c.oldHash, c.newSize, c.newHash)
}

func parseCopyName(name string) (c copyName, ok bool) {
	f := strings.Split(name, "-")
	if len(f) != 4 {
		return c, false
	}
	c.oldSize, _ = strconv.Atoi(f[0]) // if it is no number, the name differs
	c.newSize, _ = strconv.Atoi(f[2])
	c.oldHash, c.newHash = f[1], f[3]
	return c, c.String() == name
}

// A version is the transcript that a file holds, not counting lines appended to it.
type version uint8

const (
	otherVersion version = iota
	oldVersion
	newVersion
)

// classify returns the transcript that data begins with, and the bytes after it. The longer one is
// tried first, since it may begin with the shorter one.
func (c copyName) classify(data []byte) (v version, tail []byte) {
	begins := func(size int, sum string) bool { return size <= len(data) && hash(data[:size]) == sum }
	isOld := func() bool { return begins(c.oldSize, c.oldHash) }
	isNew := func() bool { return begins(c.newSize, c.newHash) }
	switch {
	case c.oldSize >= c.newSize && isOld():
		return oldVersion, data[c.oldSize:]
	case isNew():
		return newVersion, data[c.newSize:]
	case isOld():
		return oldVersion, data[c.oldSize:]
	}
	return otherVersion, nil
}

// isNew reports whether v is the version after the change. Both versions are the same for [transaction.writeAgain].
func (c copyName) isNew(v version) bool {
	return v == newVersion || v == oldVersion && c.oldHash == c.newHash
}

// stage writes the new transcript into a new staging folder and waits for the disk. It returns the
// path of the folder. The staged file gets the mode, owner and time of e, the old transcript.
func (tx *transaction) stage(before, after []byte, e safedir.Entry) (string, error) {
	p, err := tx.own.MakeStage("")
	if err == nil {
		err = tx.stageAt(p, before, after, e)
	}
	if err != nil {
		return "", errors.Join(err, tx.removeStage(p))
	}
	return p, nil
}

// stageAt is stage for the folder at p, which may exist.
func (tx *transaction) stageAt(p string, before, after []byte, e safedir.Entry) error {
	d, err := tx.own.Make(p)
	if err != nil {
		return err
	}
	defer d.Close()
	name := copyName{len(before), len(after), hash(before), hash(after)}.String()
	if err := tx.own.Remove(d, name+stage.Unfinished); err != nil {
		return err
	}
	f, err := tx.own.Write(d, name+stage.Unfinished, stage.File{What: tx.path, Data: after, Mode: e.Mode, Owner: e.Owner, Mtime: e.Mtime})
	if err != nil {
		return err
	}
	if err := tx.sync(f); err != nil {
		return err
	}
	if err := tx.opt.Step("name " + tx.path); err != nil {
		return err
	}
	if err := d.Replace(name+stage.Unfinished, d, name); err != nil {
		return err
	}
	return tx.sync(nil, p, path.Dir(p), stage.Dir, ".")
}

// sync makes f durable and closes it, unless it is nil, and makes the names in the folders durable.
func (tx *transaction) sync(f *os.File, folders ...string) error {
	var b atomicfile.Barrier
	if f != nil {
		b.Add(f)
	}
	return tx.own.Sync(&b, folders...)
}

// contains reports whether tail has the lines that were appended to an earlier version of the transcript.
func contains(tail, appended []byte) bool {
	return len(bytes.TrimSpace(appended)) == 0 || bytes.Contains(tail, bytes.TrimSpace(appended))
}

// Discard removes the files that Prepare and Settle staged for st. With the zero Staged it removes the files of all
// changes of this owner; all of them must be decided.
//
// A staged file to which another program appended lines that the transcript lacks is moved to the
// kept files, and reported by the Note of the options.
func (s *Store) Discard(_ context.Context, st change.Staged) (err error) {
	defer stage.Describe(&err, "removing staged files")
	if s.opt.Owner == "" {
		return nil
	}
	if st.Dir != "" {
		if err := stage.Check(st, s.id, isStage); err != nil {
			return err
		}
	}
	tx, err := s.begin(st.Ops)
	if err != nil {
		return err
	}
	defer tx.close()
	if st.Dir == "" {
		return tx.own.Clean(nil, isStage, tx.removeStage)
	}
	return tx.removeStage(st.Dir)
}

// isStage reports whether a staging folder has that name.
func isStage(name string) bool {
	_, err := strconv.Atoi(name)
	return err == nil || strings.HasPrefix(name, appendPrefix)
}

// removeStage removes the files of a staging folder, and then its empty folders.
func (tx *transaction) removeStage(p string) error { return tx.own.Empty(p, tx.removeStaged) }

// removeStaged removes one staged file. Files with other names stay.
func (tx *transaction) removeStaged(d *safedir.Dir, name string) error {
	if base, ok := strings.CutSuffix(name, stage.Unfinished); ok {
		if _, ok := parseCopyName(base); ok {
			return tx.own.Remove(d, name)
		}
		return nil
	}
	c, ok := parseCopyName(name)
	if !ok {
		return nil
	}
	e, err := d.Read(name, change.MaxText)
	if err != nil {
		return err
	}
	v, tail := c.classify(e.Data)
	if v == otherVersion || len(tail) > 0 && !tx.targetHas(tail) {
		return tx.keep(d, name)
	}
	return tx.own.Remove(d, name)
}

// targetHas reports whether the transcript contains the lines that were appended to a staged file.
func (tx *transaction) targetHas(tail []byte) bool {
	if tx.dir == nil || len(tx.ops) == 0 {
		return false
	}
	e, err := tx.readTarget()
	return err == nil && contains(e.Data, tail)
}

func (tx *transaction) keep(d *safedir.Dir, name string) error {
	prefix := path.Base(d.Path) + "-" + name[:min(len(name), 40)] + "."
	at, err := tx.own.Keep(d, name, prefix, ".jsonl", name)
	if err == nil {
		err = tx.sync(nil, d.Path, stage.Kept, stage.Dir, ".")
		tx.opt.Note(fmt.Sprintf("another program wrote to a transcript while it was replaced; what it wrote is in %s below %s", at, tx.id.Root))
	}
	return err
}
