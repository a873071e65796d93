package fsstore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"mend/change"
	"mend/internal/safedir"
)

// again ends the name of the staging folder that Settle makes if the first one is lost. If a staged file is missing
// there, that proves nothing.
const again = ".again"

// stagedName returns the name of the staged file of op number i: the number, and the hashes of the
// contents that the file may hold. So a leftover file is recognised by its content alone.
func stagedName(i int, o change.Op) string {
	if o.Ref.Kind == change.KindFolder {
		return fmt.Sprintf("%d-folder", i)
	}
	return fmt.Sprintf("%d-%s-%s", i, hashOrNone(o.Post), hashOrNone(o.Pre))
}

func hashOrNone(i *change.Image) string {
	if i == nil {
		return "none"
	}
	return hash(i.Data)
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// stagedHashes returns the hashes in the name of a staged file; ok is false for any other
// name.
func stagedHashes(name string) (hashes []string, ok bool) {
	f := strings.Split(name, "-")
	if len(f) == 2 {
		return nil, isNumber(f[0]) && f[1] == "folder"
	}
	return f[1:], len(f) == 3 && isNumber(f[0]) && isHash(f[1]) && isHash(f[2])
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func isHash(s string) bool {
	return s == "none" || len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}

// stageFile makes a staged file with the content of the image, under the given name. It returns the
// open file, for the barrier; nil for a folder.
func (tx *transaction) stageFile(op fileOp, name string, i *change.Image) (*os.File, error) {
	if op.isFolder() {
		return nil, tx.stageFolder(op, name, i)
	}
	if err := tx.stepItem("stage", op); err != nil {
		return nil, err
	}
	f, err := tx.stageDir.Create(name, i.Mode.Perm())
	if err != nil {
		return nil, err
	}
	err = tx.stepItem("write", op)
	if err == nil {
		_, err = f.Write(i.Data)
	}
	if err == nil {
		err = tx.setModeAndOwner(f, op, i)
	}
	if at := cmp.Or(i.Time, op.newTime); err == nil && at != 0 {
		err = tx.stageDir.SetMtime(name, at)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (tx *transaction) stageFolder(op fileOp, name string, i *change.Image) error {
	if err := tx.stepItem("stage", op); err != nil {
		return err
	}
	if err := tx.stageDir.Mkdir(name); err != nil {
		return err
	}
	d, err := tx.stageDir.Sub(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return tx.setModeAndOwner(d.File(), op, i)
}

// setModeAndOwner gives a new file the exact mode of the image, whatever the umask, and, if mend
// runs as root, the owner of the replaced file.
func (tx *transaction) setModeAndOwner(f *os.File, op fileOp, i *change.Image) error {
	if err := tx.stepItem("chmod", op); err != nil {
		return err
	}
	e, err := safedir.StatFile(f)
	if err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		o, err := tx.ownerOf(op)
		if err == nil && o != e.Owner {
			err = f.Chown(o.UID, o.GID)
		}
		if err != nil {
			return err
		}
	}
	if e.Mode.Perm() == i.Mode.Perm() {
		return nil
	}
	return f.Chmod(i.Mode.Perm())
}

// ownerOf returns the owner of the target; if it does not exist, the owner of its nearest existing
// parent folder.
func (tx *transaction) ownerOf(op fileOp) (safedir.Owner, error) {
	if op.owned {
		return op.owner, nil
	}
	if d, err := tx.parent(op); err == nil {
		defer d.Close()
		if e, err := d.Stat(op.name()); err == nil && e.Exists {
			return e.Owner, nil
		}
	}
	e, err := tx.nearestDir(op.dir())
	return e.Owner, err
}
