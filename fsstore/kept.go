package fsstore

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// keep moves a slot that holds another program's bytes to where nothing of ours
// ever deletes it.
func (j *job) keep(it item) error {
	kept, err := j.mkdirs(keptDir)
	if err != nil {
		return err
	}
	defer kept.close()
	j.kept = true
	for n := 1; ; n++ {
		if err := j.stepItem("keep", it); err != nil {
			return err
		}
		err := j.stage.move(it.slot, kept, fmt.Sprintf("%s%d%s", j.keptPrefix(it), n, suffix))
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
}

// keptPrefix begins the names of what is kept of an item's slot. It tells the
// record, for people, and the slot, for keptAll.
func (j *job) keptPrefix(it item) string {
	return fmt.Sprintf("%s.%.12s.", it.op.Ref.ID(), hash([]byte(j.stageDir+"/"+it.slot)))
}

// keptAll lists, below the root, what was ever kept of the items. A Settle that
// was cut and called again lists the same.
func (j *job) keptAll() []string {
	names := j.keptNames()
	if len(names) == 0 {
		return nil
	}
	var kept []string
	for _, it := range j.items {
		prefix := j.keptPrefix(it)
		for _, name := range names {
			if strings.HasPrefix(name, prefix) {
				kept = append(kept, keptDir+"/"+name)
			}
		}
	}
	return kept
}

func (j *job) keptAny(it item) bool {
	return slices.ContainsFunc(j.keptNames(), func(name string) bool { return strings.HasPrefix(name, j.keptPrefix(it)) })
}

// keptNames lists all that is kept; nothing where that cannot be told, since it
// is for people.
func (j *job) keptNames() []string {
	d, err := j.root.sub(keptDir)
	if err != nil {
		return nil
	}
	defer d.close()
	names, err := d.names()
	if err != nil {
		return nil
	}
	slices.Sort(names)
	return names
}
