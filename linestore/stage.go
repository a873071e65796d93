package linestore

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"mend/internal/atomicfile"
	"mend/internal/ownfile"
	"mend/internal/safedir"
)

// The names of our own files below the root; see the package's doc.
const (
	mendDir    = ".mend"
	keptDir    = mendDir + "/kept"
	unfinished = ".new"
)

// A copyName says what a staged file may hold: the transcript before the change or after it,
// each by size and SHA-256. Other programs may have appended to either.
type copyName struct {
	oldSize, newSize int
	oldHash, newHash string
}

func newCopyName(before, after []byte) copyName {
	return copyName{len(before), len(after), hash(before), hash(after)}
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (c copyName) String() string {
	return fmt.Sprintf("%d-%s-%d-%s", c.oldSize, c.oldHash, c.newSize, c.newHash)
}

func parseCopyName(name string) (c copyName, ok bool) {
	f := strings.Split(name, "-")
	if len(f) != 4 {
		return c, false
	}
	var err1, err2 error
	c.oldSize, err1 = strconv.Atoi(f[0])
	c.newSize, err2 = strconv.Atoi(f[2])
	c.oldHash, c.newHash = f[1], f[3]
	return c, err1 == nil && err2 == nil && c.oldSize >= 0 && c.newSize >= 0 && c.String() == name
}

// A version says which transcript a file holds, apart from what was appended to it.
type version uint8

const (
	otherVersion version = iota
	oldVersion
	newVersion
)

// classify returns which transcript data begins with, and what follows it. The longer one is
// tried first, since it may begin with the other.
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

// stage writes the new transcript into a new staging folder and waits for the disk. It
// returns the path of the folder. e is the transcript before, whose mode, owner and time the
// staged file gets.
func (tx *transaction) stage(before, after []byte, e safedir.Entry) (string, error) {
	ours := mendDir + "/" + tx.opt.Owner
	owner, err := tx.makeOwnDirs(ours)
	if err != nil {
		return "", errors.Join(err, tx.removeEmpty(ours))
	}
	defer owner.Close()
	names, err := owner.Names(nil)
	if err != nil {
		return "", err
	}
	n := 1
	for _, name := range names {
		if k, err := strconv.Atoi(name); err == nil {
			n = max(n, k+1)
		}
	}
	p := owner.Path + "/" + strconv.Itoa(n)
	if err := tx.stageAt(p, before, after, e); err != nil {
		return "", errors.Join(err, tx.removeStage(p))
	}
	return p, nil
}

// stageAt is stage for the folder at p, which may exist.
func (tx *transaction) stageAt(p string, before, after []byte, e safedir.Entry) error {
	d, err := tx.makeOwnDirs(p)
	if err != nil {
		return err
	}
	defer d.Close()
	name := newCopyName(before, after).String()
	if err := tx.remove(d, name+unfinished); err != nil {
		return err
	}
	if err := tx.step("stage " + tx.path); err != nil {
		return err
	}
	f, err := d.Create(name+unfinished, e.Mode.Perm())
	if err != nil {
		return err
	}
	b := atomicfile.NewBarrier(tx.root.File())
	err = tx.step("write " + tx.path)
	if err == nil {
		_, err = f.Write(after)
	}
	if err == nil && os.Geteuid() == 0 {
		err = f.Chown(e.Owner.UID, e.Owner.GID)
	}
	if err == nil {
		err = f.Chmod(e.Mode.Perm())
	}
	if err == nil {
		err = d.SetMtime(name+unfinished, e.Mtime)
	}
	if err != nil {
		f.Close()
		return err
	}
	if b.Add(f); tx.wait(b) != nil {
		return b.Wait()
	}
	if err := tx.step("name " + tx.path); err != nil {
		return err
	}
	if err := d.Replace(name+unfinished, d, name); err != nil {
		return err
	}
	return tx.barrier(p, path.Dir(p), mendDir, ".")
}

// wait waits until all that was added to the barrier is durable.
func (tx *transaction) wait(b *atomicfile.Barrier) error {
	err := errors.Join(tx.step("barrier"), b.Wait())
	if err != nil {
		return fmt.Errorf("waiting for the disk: %w", err)
	}
	return nil
}

// barrier makes the names in the folders durable. A folder that is missing has none.
func (tx *transaction) barrier(folders ...string) error {
	b := atomicfile.NewBarrier(tx.root.File())
	for _, p := range folders {
		d, err := tx.root.Sub(p)
		switch {
		case err == nil:
			b.Add(d.File())
		case !errors.Is(err, fs.ErrNotExist):
			return errors.Join(err, b.Wait())
		}
	}
	return tx.wait(b)
}

// makeOwnDirs opens the folder at p, which consists of our own folders, and makes those that
// are missing. It refuses a folder that other users can write to: they could change staged
// files.
func (tx *transaction) makeOwnDirs(p string) (*safedir.Dir, error) {
	home, err := tx.root.Stat(".")
	if err != nil {
		return nil, err
	}
	at, err := tx.root.Sub(".")
	for name := range strings.SplitSeq(p, "/") {
		if err != nil {
			return nil, err
		}
		err = tx.makeOwnDir(at, name, home.Owner)
		var next *safedir.Dir
		if err == nil {
			next, err = at.Sub(name)
		}
		at.Close()
		at = next
	}
	return at, err
}

func (tx *transaction) makeOwnDir(d *safedir.Dir, name string, owner safedir.Owner) error {
	e, err := d.Stat(name)
	if err != nil {
		return err
	}
	if e.Exists {
		if !e.IsDir() {
			return nil // opening it fails
		}
		return ownfile.CheckOwner(filepath.Join(tx.id.Root, d.Path, name), e.Mode, e.Owner.UID, owner.UID, os.Geteuid())
	}
	if err := tx.step("mkdir " + path.Join(d.Path, name)); err != nil {
		return err
	}
	if err := d.Mkdir(name); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if os.Geteuid() != 0 {
		return nil
	}
	sub, err := d.Sub(name)
	if err != nil {
		return err
	}
	defer sub.Close()
	return sub.File().Chown(owner.UID, owner.GID)
}

// remove removes a file if it exists.
func (tx *transaction) remove(d *safedir.Dir, name string) error {
	if e, err := d.Stat(name); err != nil || !e.Exists {
		return err
	}
	if err := tx.step("remove " + path.Join(d.Path, name)); err != nil {
		return err
	}
	return d.Unlink(name)
}

// contains reports whether a transcript has what was appended to an earlier version of it.
func contains(tail, appended []byte) bool {
	return len(bytes.TrimSpace(appended)) == 0 || bytes.Contains(tail, bytes.TrimSpace(appended))
}
