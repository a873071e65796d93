package fsstore

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"mend/change"
	"mend/internal/atomicfile"
	"mend/internal/safedir"
	"mend/internal/stage"
)

// cleanUp removes the leftovers of earlier changes of this owner, except the folders of undecided changes.
func (tx *transaction) cleanUp(undecided []string) error {
	return tx.own.Clean(undecided, isNumber, tx.cleanStage)
}

// cleanStage removes mend's own files from a staging folder that no change needs, and then the folder if it is empty.
// It moves a staged file that another program wrote into to the kept files.
func (tx *transaction) cleanStage(p string) error {
	return tx.own.Empty(p, func(d *safedir.Dir, name string) error {
		ours, written, err := tx.classify(d, name)
		switch {
		case err != nil:
			tx.note(fmt.Sprintf("it is unknown whether another program wrote into a file that was just replaced: %v; the file is not removed", err))
			return err
		case ours:
			return tx.own.Remove(d, name)
		case !written:
			return nil
		}
		at, err := tx.keepFile(d, name, keptPrefix("late", p+"/"+name), "keep "+p+"/"+name)
		if err != nil {
			return err
		}
		tx.note(fmt.Sprintf("another program wrote into a file that was just replaced; its bytes are in %s/%s", tx.id.Root, at))
		return tx.own.Sync(new(atomicfile.Barrier), p, stage.Kept, stage.Dir, ".")
	})
}

// classify examines a name in a staging folder. ours is true if the file never took part in an
// exchange or has the content that its name promises; written is true if another program wrote into
// the file. Both may be false.
func (tx *transaction) classify(d *safedir.Dir, name string) (ours, written bool, err error) {
	stem, restaged := strings.CutSuffix(name, stage.Unfinished)
	hashes, isSlot := stagedHashes(stem)
	if strings.HasSuffix(d.Path, stage.Unfinished) || restaged {
		return isSlot, false, nil
	}
	if !isSlot {
		return false, false, nil
	}
	e, err := d.Read(name, change.MaxText)
	if err != nil || !e.IsFile() {
		return e.IsDir(), false, err
	}
	ours = !e.TooLarge && slices.Contains(hashes, hash(e.Data))
	return ours, !ours, nil
}

// removeStage removes the files of a failed Prepare, or only the owner's empty folder if that is all there is.
func (tx *transaction) removeStage() error {
	return tx.cleanStage(cmp.Or(tx.stagePath, tx.own.OwnerDir()+"/0") + stage.Unfinished)
}
