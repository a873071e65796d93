package fsstore

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"mend/internal/safedir"
	"mend/session"
)

// keep moves a slot that holds another program's bytes to where nothing of ours
// ever deletes it, and returns its path there.
func (j *job) keep(it item) (string, error) {
	return j.keepFile(j.stage, it.slot, j.keptPrefix(it), func() error { return j.stepItem("keep", it) })
}

// keepFile moves a file to where nothing of ours ever deletes it, under a name that
// begins with prefix. It calls step first.
func (j *job) keepFile(from *safedir.Dir, name, prefix string, step func() error) (string, error) {
	kept, err := j.mkdirs(keptDir)
	if err != nil {
		return "", err
	}
	defer kept.Close()
	j.kept = true
	for n := 1; ; n++ {
		if err := step(); err != nil {
			return "", err
		}
		to := fmt.Sprintf("%s%d%s", prefix, n, suffix)
		if err := from.Move(name, kept, to); !errors.Is(err, fs.ErrExist) {
			return keptDir + "/" + to, err
		}
	}
}

// keepWritten keeps the slots of those items into which another program wrote, and
// returns their paths when that is durable.
func (j *job) keepWritten(written []bool) (paths []string, err error) {
	for i, it := range j.items {
		if !written[i] {
			continue
		}
		p, err := j.keep(it)
		if err != nil {
			return paths, err
		}
		paths = append(paths, p)
	}
	if len(paths) == 0 {
		return nil, nil
	}
	return paths, j.barrier(nil)
}

// noteKept reports what was kept after the outcome was in the journal.
func (j *job) noteKept(paths []string) {
	for _, p := range paths {
		j.note(fmt.Sprintf("another program wrote into a file that was just replaced; its bytes are in %s/%s", j.id.Root, p))
	}
}

// latePrefix begins the names of what is kept of a slot of a change that was decided
// by another process.
func latePrefix(dir, slot string) string {
	return fmt.Sprintf("late.%.12s.", hash([]byte(dir+"/"+slot)))
}

// keptPrefix begins the names of what is kept of an item's slot. It tells the
// record, for people, and the slot, for keptAll.
func (j *job) keptPrefix(it item) string {
	name := it.op.Ref.ID()
	if it.op.Ref.Kind == session.KindFile { // it may be too long, or hold a slash
		name = session.KindFile.String()
	}
	return fmt.Sprintf("%s.%.12s.", name, hash([]byte(j.stageDir+"/"+it.slot)))
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
	d, err := j.root.Sub(keptDir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, err := d.Names(nil)
	if err != nil {
		return nil
	}
	slices.Sort(names)
	return names
}
