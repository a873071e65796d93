package txn

import (
	"errors"
	"fmt"
	"syscall"

	"mend/change"
)

// needs adds to the error of a full disk how much room the change takes: in the
// store the new contents, in the journal these and the old ones.
func needs(err error, ops []change.Op) error {
	if !errors.Is(err, syscall.ENOSPC) && !errors.Is(err, syscall.EDQUOT) {
		return err
	}
	var pre, post int64
	for _, o := range ops {
		pre, post = pre+size(o.Pre), post+size(o.Post)
	}
	const spare = 128 << 10 // for pages, names and folders
	return fmt.Errorf("%w; the change needs up to %d KB in the store and %d KB in the journal", err, (post+spare)>>10, (pre+post+spare)>>10)
}

func size(i *change.Image) int64 {
	if i == nil {
		return 0
	}
	return int64(len(i.Data))
}
