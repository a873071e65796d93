package mend

import (
	"cmp"
	"context"
	"errors"

	"mend/agent"
	"mend/change"
	"mend/internal/keep"
)

// Kept runs f with the file of kept copies open: the file in the journal's folder or, for reading, in
// [Journal].Copies.
func (l *Journal) Kept(o keep.Options, f func(*keep.Keep) error) error {
	dir, err := l.Folder()
	if err != nil {
		return err
	}
	if o.ReadOnly && l.Copies != "" {
		dir = l.Copies
	}
	return l.WithCopies(dir, o, f)
}

// WithCopies runs f with the kept copies in a folder open. If f finds damage in a file that is open for writing,
// the file is set aside, and f runs once more with a new one.
func (l *Journal) WithCopies(dir string, o keep.Options, f func(*keep.Keep) error) error {
	run := func(last bool) (again bool, err error) {
		if !o.ReadOnly && l.Writing != nil {
			defer l.Writing()()
		}
		k, err := keep.Open(dir, o)
		if err != nil {
			return false, err
		}
		if err = f(k); errors.Is(err, keep.ErrDamaged) && !o.ReadOnly && !last {
			return true, k.SetAside(err)
		}
		return false, errors.Join(err, k.Close())
	}
	again, err := run(false)
	if again && err == nil {
		_, err = run(true)
	}
	return err
}

// KeptAsked is the reason for a copy that the user asked for. With it, [Store.KeepAll] reads named sessions even if
// their stamps are unchanged.
const KeptAsked = "keep"

// add stores a copy of a session.
func (c *Store) add(ctx context.Context, k *keep.Keep, head change.Head, copied *agent.Copy, why string) (keep.Saved, error) {
	return k.Add(ctx, keep.State{
		Agent: c.agent, Store: c.ID(), Session: head.ID, Ref: head.Ref, Title: head.Title, Folder: head.Directory,
		Parent: head.Parent, Updated: head.Updated, Why: why,
		Messages: copied.Messages, First: copied.First, Unread: copied.UnreadText(), Stamp: copied.Stamp.Sum,
	}, func(yield func(*change.Record) bool) {
		for i := range copied.Records {
			if !yield(&copied.Records[i]) {
				return
			}
		}
	})
}

// Copyable returns how many of the sessions have or would have copies of their own. It does not count sessions that are
// part of another session's copy and, if any session has a copy, sessions without a message. kept has the sessions with
// a copy. Sessions that were not read before ctx ended are counted.
func (c *Store) Copyable(ctx context.Context, heads []change.Head, kept map[string]bool) (n int) {
	for _, h := range heads {
		if _, isKept := kept[h.ID]; h.ID == "" || !isKept && c.store.CopyOwner(h) != "" {
			continue
		} else if !isKept && len(kept) > 0 {
			if copied, err := c.store.Copy(ctx, h); err == nil && copied.Messages == 0 {
				continue
			}
		}
		n++
	}
	return n
}

// A Kept is the result of copying one session.
type Kept struct {
	Session change.Head
	Saved   keep.Saved
	Same    bool  // unchanged since its last copy
	None    error // why it has no copy: [errors.ErrUnsupported] for a session such as a subagent's, or [keep.ErrNothing]
	Err     error
}

// KeepAll durably stores a copy in k of each session whose latest copy differs, and yields the outcomes. Without heads it
// copies all sessions of the store. why is the reason for the copies. Sessions that have not changed since the last copy
// are not read. With dry it writes nothing, and reads no session. The error is about the list or the copies; in the
// second case, copies of earlier sessions may be missing. An Err without a session means that the list may be
// incomplete.
func (c *Store) KeepAll(
	ctx context.Context, k *keep.Keep, heads []change.Head, why string, dry bool, yield func(n int, s Kept),
) error {
	whole := heads == nil
	if whole {
		var err error
		if heads, err = c.Sessions(ctx); err != nil {
			return err
		}
	}
	heads, stray := splitStray(heads)
	if err := c.checkListed(stray); whole && err != nil {
		yield(len(heads)+len(stray), Kept{Err: err})
	}
	for _, head := range heads {
		last, _, err := k.Latest(c.ID(), head.ID, head.Ref)
		if err != nil {
			return err
		}
		s := Kept{Session: head}
		asked := !whole && why == KeptAsked
		switch mayBeSame := dry || !asked && last.Unread == ""; {
		case mayBeSame && c.hasStamp(ctx, head, last.Stamp):
			s.Same = true
		case !dry:
			s, err = c.keepOne(ctx, k, head, why)
		case c.store.CopyOwner(head) != "":
			s.None = errors.ErrUnsupported
		}
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return err
		}
		yield(len(heads), s)
	}
	if dry {
		return nil
	}
	return k.Flush()
}

// keepOne copies one session for [Store.KeepAll]. The error is about the file of the copies.
func (c *Store) keepOne(ctx context.Context, k *keep.Keep, head change.Head, why string) (Kept, error) {
	s, began := Kept{Session: head}, c.clock()
	copied, err := c.store.Copy(ctx, head)
	if !copied.Stamp.Distinct(began) { // a later change may leave the same stamp
		copied.Stamp = change.Stamp{}
	}
	if err == nil {
		s.Saved, err = c.add(ctx, k, head, &copied, why)
		if err != nil && !errors.Is(err, keep.ErrNothing) {
			return s, err
		}
	}
	switch {
	case errors.Is(err, keep.ErrNothing) && len(copied.Unread) > 0:
		s.Err = errors.New(copied.UnreadText())
	case errors.Is(err, keep.ErrNothing), errors.Is(err, errors.ErrUnsupported):
		s.None = err
	default:
		s.Err, s.Same = err, err == nil && !s.Saved.New
	}
	return s, nil
}

// hasStamp reports whether a session has that stamp now; false for the zero stamp.
func (c *Store) hasStamp(ctx context.Context, head change.Head, stamp [32]byte) bool {
	if stamp == ([32]byte{}) {
		return false
	}
	now, err := c.store.Stamp(ctx, head)
	return err == nil && now.Sum == stamp
}

// splitStray splits a list into sessions and entries that are not sessions.
func splitStray(all []change.Head) (sessions, stray []change.Head) {
	for _, h := range all {
		if h.ID == "" {
			stray = append(stray, h)
		} else {
			sessions = append(sessions, h)
		}
	}
	return sessions, stray
}
