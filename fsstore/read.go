package fsstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"mend/change"
	"mend/internal/safedir"
)

// Read returns the content of the records, in the order of refs: nil for a missing record. A record
// that is too large or not a regular file gets an image with type bits in its mode, which equals no
// image of a plan.
//
// The error is about the first record that cannot be read.
func (s *Store) Read(ctx context.Context, refs []change.Ref) ([]*change.Image, error) {
	tx := transaction{Store: s}
	var err error
	if tx.root, err = safedir.OpenRoot(s.id.Root); err != nil {
		return nil, err
	}
	defer tx.close()
	images := make([]*change.Image, len(refs))
	for i, ref := range refs {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("reading records: %w", err)
		}
		op, err := s.locate(&change.Op{Ref: ref})
		if err != nil {
			return nil, fmt.Errorf("reading records: %w", err)
		}
		e, _, err := tx.readTarget(op, change.MaxText)
		if err != nil {
			return nil, fmt.Errorf("reading %v %s: %w", ref.Kind, ref, err)
		}
		images[i] = imageOf(&e)
	}
	return images, nil
}

// CheckLinks returns a [*change.LinkedError] about the first record whose file has several hard
// links.
func (s *Store) CheckLinks(ctx context.Context, refs []change.Ref) error {
	root, err := safedir.OpenRoot(s.id.Root)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, ref := range refs {
		op, err := s.locate(&change.Op{Ref: ref})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("checking the links of records: %w", err)
		}
		why, err := root.LinkProblem(op.path)
		if err != nil {
			return fmt.Errorf("checking the links of %v %s: %w", ref.Kind, ref, err)
		}
		if why != "" {
			return &change.LinkedError{Ref: ref, Why: why}
		}
	}
	return nil
}

// readTarget reads the target of op if it has at most limit bytes. If the folder of the target is missing or is not a
// folder, the entry is zero and why explains that.
func (tx *transaction) readTarget(op fileOp, limit int64) (e safedir.Entry, why string, err error) {
	d, err := tx.parent(op)
	var strange *safedir.NotFolderError
	switch {
	case errors.As(err, &strange):
		return safedir.Entry{}, "its folder cannot be used: " + strange.Error(), nil
	case errors.Is(err, fs.ErrNotExist):
		if tx.folders[op.dir()] || op.isFolder() {
			return safedir.Entry{}, "", nil // the change itself makes or removes it
		}
		return safedir.Entry{}, whyFolderMissing, nil
	case err != nil:
		return safedir.Entry{}, "", err
	}
	defer d.Close()
	e, err = d.Read(op.name(), limit)
	return e, "", err
}

const whyFolderMissing = "its folder is gone"

// conflict returns the conflict of an op whose target has other content. why explains it, if it is not the content.
func (op fileOp) conflict(e *safedir.Entry, why string) change.Conflict {
	return change.Conflict{Ref: op.Ref, Pre: op.Pre, Post: op.Post, Now: imageOf(e), Why: cmp.Or(why, describeChange(op.Pre, e))}
}

// describeChange explains how the entry differs from the expected image.
func describeChange(pre *change.Image, e *safedir.Entry) string {
	switch {
	case !e.Exists:
		return "deleted by another program"
	case e.ReplaceProblem() != "":
		return e.ReplaceProblem()
	case pre == nil:
		return "created by another program"
	case bytes.Equal(e.Data, pre.Data):
		return fmt.Sprintf("its permissions were changed from %v to %v", pre.Mode.Perm(), e.Mode.Perm())
	}
	return "changed by another program"
}
