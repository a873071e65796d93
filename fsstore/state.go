package fsstore

import (
	"bytes"
	"io/fs"

	"mend/change"
	"mend/internal/safedir"
)

// holding is what a target or a slot holds, in the words of its op. A record
// that does not exist is one of Pre and Post, if the op creates or deletes it.
type content uint8

const (
	preContent content = iota + 1
	postContent
	noContent    // the slot is gone, and the target's Pre with it
	otherContent // bytes of another program
	noFolder     // the target of a delete is absent, and so is its folder
)

// state looks what the target and the slot of a record hold. Together these say
// what has become of the op; nothing else is remembered across a crash:
//
//	target  slot      what happened                       forward          back
//	Pre     Post      not exchanged                       exchange         -
//	Pre     Pre, none exchanged and written back, or      stage anew,      -
//	                  the staging folder is gone          exchange
//	Pre     other     put back, while another wrote       keep the slot,   keep the slot
//	                                                      and as above
//	Post    Pre       exchanged                           -                exchange
//	Post    none      replaced where nothing can be       -                stage Pre, exchange
//	                  exchanged, or staging folder gone
//	Post    Post      not exchanged: another program      -                leave (a)
//	                  has done the same
//	Post    other     exchanged, and what came out was    exchange (a)     exchange (a)
//	                  written after Prepare
//	other   Post      not exchanged                       leave (a)        leave (a)
//	other   Pre, none exchanged, then another wrote       leave (c)        leave (c)
//	other   other     both                                leave (c)        leave (c), keep the slot
//	no      Post      another program removed the folder  -                leave (a)
//	place   Pre, none exchanged, then the same            -                leave (c)
//	        other     and what came out was another's     keep the slot    leave (c), keep the slot
//
// For a create Pre is that nothing is there, and for a delete Post is; so each
// row stands for all three kinds of ops, and "exchange" for the rename that its
// kind has. One row differs: a create takes nothing out, so what else its slot
// holds is kept, and then it is as if the slot were empty.
//
// (a) and (c) are conflicts. With any of them the direction is back: of (a) alone
// the outcome is aborted, since the store then holds what it held before or what
// others wrote; with a (c) it is conflicted. An exchange that takes out other
// bytes than it should have is reversed at once and becomes a conflict, too.
//
// A target whose folder is gone, or is a link now, holds other bytes: nobody may
// put anything there. But where the change itself makes or removes the folder
// the target is just absent, and what should be deleted is gone with its folder.
func (tx *transaction) state(op fileOp) (target, slot content, err error) {
	e, why, err := tx.readTarget(nil, op, op.limit())
	if err != nil {
		return 0, 0, err
	}
	target = contentOf(op.Op, &e)
	switch {
	case why == whyFolderMissing && op.Post == nil:
		target = noFolder
	case why != "", target == noContent:
		target = otherContent
	}
	if tx.stageDir == nil {
		return target, noContent, nil
	}
	if e, err = tx.stageDir.Read(nil, op.staged, op.limit()); err != nil {
		return 0, 0, err
	}
	slot = contentOf(op.Op, &e)
	switch {
	case !e.Exists && tx.lost:
		slot = noContent
	case slot == otherContent && target == preContent && isTorn(&e, op.Post):
		slot = noContent
	case slot == postContent && !e.Exists && tx.hasKept(op):
		slot = noContent // what the delete took out had to be kept elsewhere
	}
	return target, slot, nil
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

// isTorn reports whether the file is what a power cut can leave of a Post that was
// not durable yet: some of its bytes, the rest of them missing or zero. Nothing
// that another program wrote is lost with it.
func isTorn(e *safedir.Entry, post *change.Image) bool {
	if post == nil || !e.IsFile() || e.TooLarge || len(e.Data) > len(post.Data) {
		return false
	}
	whole := bytes.TrimRight(e.Data, "\x00")
	return bytes.HasPrefix(post.Data, whole)
}

// changedByOther reports whether another program wrote where the op does.
func changedByOther(op fileOp, target, slot content) bool {
	return target == otherContent || target == postContent && slot == otherContent && op.Pre != nil
}

// matches reports whether the entry is as the image says: missing for nil, a folder
// for the image of a folder, else a regular file with the same content and permissions.
func matches(e *safedir.Entry, i *change.Image) bool {
	switch {
	case i == nil:
		return !e.Exists
	case i.Mode.IsDir():
		return e.IsDir()
	}
	return e.IsFile() && !e.TooLarge && e.Mode.Perm() == i.Mode && bytes.Equal(e.Data, i.Data)
}

// imageOf returns the entry as an image, nil if it does not exist. Anything but a
// readable regular file has type bits and no content, which no plan has.
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
