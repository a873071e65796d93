package fsstore

import (
	"context"
	"errors"

	"mend/change"
	"mend/internal/stage"
)

// Discard removes the files that Prepare left: the staged files that hold a Pre or a Post of st,
// and then the empty folders. With the zero Staged it removes the staged files of all changes of
// this owner; all of them must be decided.
//
// It reads each staged file just before it removes it. It moves a file that another program wrote into, through an
// earlier descriptor, to the kept files, and reports it to Note. A file that cannot be read stays in place.
func (s *Store) Discard(_ context.Context, st change.Staged) (err error) {
	defer stage.Describe(&err, "removing staged files")
	if st.Dir == "" && s.opt.Owner == "" {
		return nil
	}
	if st.Dir != "" {
		if err := stage.Check(st, s.id, isNumber); err != nil {
			return err
		}
	}
	tx, err := s.begin(nil)
	if err != nil {
		return err
	}
	defer tx.close()
	if st.Dir == "" {
		return tx.cleanUp(nil)
	}
	return errors.Join(tx.cleanStage(st.Dir), tx.cleanStage(st.Dir+again))
}
