package fsstore

import (
	"bytes"
	"io/fs"

	"mend/change"
	"mend/internal/safedir"
)

// content classifies the content of a target or a staged file, relative to its op. A missing record
// is Pre if the op creates it, and Post if the op deletes it.
type content uint8

const (
	preContent content = iota + 1
	postContent
	noContent    // the staged file is missing
	otherContent // another program's content
)

// readState classifies the target and the staged file of a record. Together they show what became of
// the op; no other state survives a crash:
//
//	target  staged    what happened                       what Settle does
//	Pre     Post      not exchanged                       -
//	Pre     Pre, none exchanged and written back, or      -
//	                  the staging folder is lost
//	Pre     other     put back, while another wrote       keep the file
//	Post    Pre       exchanged                           exchange
//	Post    none      exchanged, and the staging folder   stage Pre, exchange
//	                  is lost
//	Post    Post      not exchanged: another program      leave (a); (c) for a delete, where what came
//	                  has done the same                   out may have been removed
//	Post    other     exchanged, and what came out was    exchange (a)
//	                  written after Prepare
//	other   Post      not exchanged                       leave (a)
//	other   Pre, none exchanged, then another wrote       leave (c)
//	other   other     both                                leave (c), keep the file
//
// The Pre of a create, and the Post of a delete, is a missing record; so each row covers all three
// kinds of ops, and "exchange" is the rename that fits the kind. One row differs: a create takes
// nothing out, so any other content of its staged file is kept, and then the staged file counts as
// missing.
//
// (a) and (c) are conflicts. With (a) alone the outcome is aborted, since the store then has its old
// content or content of other programs; with a (c) it is conflicted. An exchange that takes out other
// content than expected is reverted at once and becomes a conflict, too.
//
// A target whose folder is missing, or is a link, counts as other: nothing may be put there. But if
// the change itself makes or removes the folder, the target is only absent, and a record to be
// deleted no longer exists.
func (tx *transaction) readState(op fileOp) (target, staged content, err error) {
	e, why, err := tx.readTarget(op, op.limit())
	if err != nil {
		return 0, 0, err
	}
	target = contentOf(*op.Op, &e)
	if why != "" || target == noContent {
		target = otherContent
	}
	if tx.stageDir == nil {
		return target, noContent, nil
	}
	if e, err = tx.stageDir.Read(op.staged, op.limit()); err != nil {
		return 0, 0, err
	}
	staged = contentOf(*op.Op, &e)
	switch {
	case !e.Exists && tx.lost:
		staged = noContent
	case staged == postContent && !e.Exists && len(tx.keptNames()[tx.keptPrefixOf(op)]) > 0:
		staged = noContent // the deleted content had to be kept elsewhere
	}
	return target, staged, nil
}

func contentOf(o change.Op, e *safedir.Entry) content {
	switch {
	case matches(e, o.Post):
		return postContent
	case matches(e, o.Pre):
		return preContent
	case !e.Exists:
		return noContent
	}
	return otherContent
}

// matches reports whether the entry equals the image: missing for nil, a folder for the image of a
// folder, otherwise a regular file with the same content and permissions.
func matches(e *safedir.Entry, i *change.Image) bool {
	switch {
	case i == nil:
		return !e.Exists
	case i.Mode.IsDir():
		return e.IsDir()
	}
	return e.IsFile() && !e.TooLarge && e.Mode.Perm() == i.Mode && bytes.Equal(e.Data, i.Data)
}

// imageOf returns the entry as an image, nil if it does not exist. Anything but a readable regular
// file gets type bits and no content, which no plan has.
func imageOf(e *safedir.Entry) *change.Image {
	switch {
	case !e.Exists:
		return nil
	case e.TooLarge:
		return &change.Image{Mode: fs.ModeIrregular | e.Mode.Perm()}
	case e.IsFile():
		return &change.Image{Data: e.Data, Mode: e.Mode.Perm()}
	}
	return &change.Image{Mode: e.Mode.Type() | e.Mode.Perm()}
}
