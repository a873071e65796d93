package fsstore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"strings"

	"mend/change"
	"mend/internal/safedir"
	"mend/session"
)

// The names below the root that are ours. They are drawn in the package's doc.
const (
	mendDir = ".mend"
	keptDir = mendDir + "/kept"
	// unfinished ends the name of a staging folder that no change has used yet,
	// and of a slot that is being written anew. What is called so was written by
	// us alone and never took part in an exchange.
	unfinished = ".new"
	// again ends the name of the staging folder that Settle makes where the first
	// one is lost. In it a slot that is missing says nothing.
	again = ".again"
)

// slotName is the name of an op's slot: its number, and the hashes of all that
// the slot may hold, so that litter is known by its content alone.
func slotName(i int, o change.Op) string {
	if o.Ref.Kind == session.KindFolder {
		return fmt.Sprintf("%d-folder", i)
	}
	return fmt.Sprintf("%d-%s-%s", i, hashName(o.Post), hashName(o.Pre))
}

func hashName(i *change.Image) string {
	if i == nil {
		return "none"
	}
	return hash(i.Data)
}

func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// slotHashes takes a slot's name apart into the hashes that its content may
// have, and reports whether it is the name of a slot.
func slotHashes(name string) (hashes []string, ok bool) {
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

// write makes a slot that holds the image, under the given name. The file comes
// back open, for the barrier; a folder needs none, and nil comes back.
func (j *job) write(it item, name string, i *change.Image) (*os.File, error) {
	if it.isFolder() {
		return nil, j.writeFolder(it, name, i)
	}
	if err := j.stepItem("stage", it); err != nil {
		return nil, err
	}
	f, err := j.stage.Create(name, i.Mode.Perm())
	if err != nil {
		return nil, err
	}
	err = j.stepItem("write", it)
	if err == nil {
		_, err = f.Write(i.Data)
	}
	if err == nil {
		err = j.adorn(f, it, i)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (j *job) writeFolder(it item, name string, i *change.Image) error {
	if err := j.stepItem("stage", it); err != nil {
		return err
	}
	if err := j.stage.Mkdir(name); err != nil {
		return err
	}
	d, err := j.stage.Sub(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return j.adorn(d.File(), it, i)
}

// adorn gives a new file the exact mode of the image, whatever the umask, and
// where we are root the owner of the file it stands for. Most have both already.
func (j *job) adorn(f *os.File, it item, i *change.Image) error {
	if err := j.stepItem("adorn", it); err != nil {
		return err
	}
	t, err := safedir.StatFile(f)
	if err != nil {
		return err
	}
	if os.Geteuid() == 0 {
		o, err := j.ownerOf(it)
		if err == nil && o != t.Owner {
			err = f.Chown(o.UID, o.GID)
		}
		if err != nil {
			return err
		}
	}
	if t.Mode.Perm() == i.Mode.Perm() {
		return nil
	}
	return f.Chmod(i.Mode.Perm())
}

// ownerOf is whom the target belongs to, or where there is none the nearest
// folder above it.
func (j *job) ownerOf(it item) (safedir.Owner, error) {
	if it.owned {
		return it.owner, nil
	}
	if d, err := j.parent(it); err == nil {
		defer d.Close()
		if t, err := d.Stat(it.name); err == nil && t.Exists {
			return t.Owner, nil
		}
	}
	t, err := j.nearest(it.dir)
	return t.Owner, err
}
