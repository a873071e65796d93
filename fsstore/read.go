package fsstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"

	"mend/change"
	"mend/internal/safedir"
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
		t, _, err := j.look(nil, it, s.opt.MaxRecord)
		if err != nil {
			return nil, fmt.Errorf("reading %v %s: %w", ref.Kind, ref, err)
		}
		images[i] = imageOf(&t)
	}
	return images, nil
}

// look reads the target of it if it has at most max bytes. If the folder of the target
// is missing or not a folder, the entry is the zero one and why says so. b may be nil.
func (j *job) look(b *safedir.Buffer, it item, max int64) (t safedir.Entry, why string, err error) {
	d, err := j.parent(it)
	var strange *safedir.NotFolderError
	switch {
	case errors.As(err, &strange):
		return safedir.Entry{}, "its folder cannot be used: " + strange.Error(), nil
	case errors.Is(err, fs.ErrNotExist):
		if j.folders[it.dir] || it.isFolder() {
			return safedir.Entry{}, "", nil // the change itself makes or removes it
		}
		return safedir.Entry{}, whyNoFolder, nil
	case err != nil:
		return safedir.Entry{}, "", err
	}
	defer d.Close()
	t, err = d.Read(b, it.name, max)
	return t, "", err
}

const whyNoFolder = "its folder is gone"

// whyDiffers says in words how the thing differs from what was expected.
func whyDiffers(pre *change.Image, t *safedir.Entry) string {
	switch {
	case !t.Exists:
		return "deleted by another program"
	case t.ReplaceProblem() != "":
		return t.ReplaceProblem()
	case pre == nil:
		return "created by another program"
	case bytes.Equal(t.Data, pre.Data):
		return fmt.Sprintf("its permissions were changed from %v to %v", pre.Mode.Perm(), t.Mode.Perm())
	}
	return "changed by another program"
}
