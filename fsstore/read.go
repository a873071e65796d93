package fsstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"mend/change"
	"mend/session"
)

// Read returns what the records hold now, in the order of refs: nil for one that
// does not exist, and an image with type bits in its mode, which equals nothing
// that a plan holds, for what is no plain file or too large.
//
// The error names the first record that may not or cannot be read.
func (s *Store) Read(ctx context.Context, refs []session.Ref) ([]*change.Image, error) {
	j := job{Store: s}
	var err error
	if j.root, err = s.open(); err != nil {
		return nil, err
	}
	defer j.close()
	images := make([]*change.Image, len(refs))
	for i, ref := range refs {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("reading records: %w", err)
		}
		it, err := s.place(change.Op{Ref: ref})
		if err != nil {
			return nil, fmt.Errorf("reading records: %w", err)
		}
		t, _, err := j.look(it, s.opt.MaxRecord)
		if err != nil {
			return nil, fmt.Errorf("reading %v %s: %w", ref.Kind, ref, err)
		}
		images[i] = t.image()
	}
	return images, nil
}

// look reads the target, if it is not larger than max. Where its folder is gone
// or is none there is no target, and why says so.
func (j *job) look(it item, max int64) (t thing, why string, err error) {
	return j.lookInto(&buffer{keep: true}, it, max)
}

// lookInto is look with a buffer.
func (j *job) lookInto(b *buffer, it item, max int64) (t thing, why string, err error) {
	d, err := j.parent(it)
	var strange *strangeError
	switch {
	case errors.As(err, &strange):
		return thing{}, "its folder cannot be used: " + strange.Error(), nil
	case errors.Is(err, fs.ErrNotExist):
		if j.folders[it.dir] || it.isFolder() {
			return thing{}, "", nil // the change itself makes or removes it
		}
		return thing{}, whyNoFolder, nil
	case err != nil:
		return thing{}, "", err
	}
	defer d.close()
	t, err = d.lookInto(b, it.name, max)
	return t, "", err
}

const whyNoFolder = "its folder is gone"

// whyDiffers says in words how the thing differs from what was expected.
func whyDiffers(pre *change.Image, t *thing) string {
	switch {
	case !t.there:
		return "deleted by another program"
	case t.locked() != "":
		return t.locked()
	case pre == nil:
		return "created by another program"
	case bytes.Equal(t.data, pre.Data):
		return fmt.Sprintf("its permissions were changed from %v to %v", pre.Mode.Perm(), t.mode.Perm())
	}
	return "changed by another program"
}
