package mend

import (
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

// Keep durably stores in k a copy of a session of [Store.Sessions], unless the latest copy is equal. why is the
// reason for the copy. The error wraps [errors.ErrUnsupported] if the session has no copy of its own, such as a
// subagent's, and [keep.ErrNothing] if it has no message.
func (c *Store) Keep(ctx context.Context, k *keep.Keep, head change.Head, why string) (keep.Saved, error) {
	r := c.readCopy(ctx, head)
	if r.err != nil {
		return keep.Saved{}, r.err
	}
	saved, err := c.add(ctx, k, r, why)
	if err == nil {
		err = k.Flush()
	}
	return saved, err
}

// A readCopy is a session that was read to be copied.
type readCopy struct {
	head   change.Head
	copied agent.Copy
	err    error
}

// KeptAsked is the reason for a copy that the user asked for. With it, [Store.KeepAll] reads named sessions even if
// their stamps are unchanged.
const KeptAsked = "keep"

func (c *Store) readCopy(ctx context.Context, head change.Head) readCopy {
	began := c.clock()
	copied, err := c.store.Copy(ctx, head)
	if !copied.Stamp.Distinct(began) {
		copied.Stamp = change.Stamp{} // a later change may leave the same stamp
	}
	return readCopy{head, copied, err}
}

// add stores a copy of a session that was read.
func (c *Store) add(ctx context.Context, k *keep.Keep, r readCopy, why string) (keep.Saved, error) {
	return k.Add(ctx, keep.State{
		Agent: c.agent, Store: c.ID(), Session: r.head.ID, Ref: r.head.Ref, Title: r.head.Title,
		Folder: r.head.Directory, Parent: r.head.Parent, Updated: r.head.Updated, Why: why,
		Messages: r.copied.Messages, First: r.copied.First, Unread: r.copied.UnreadText(), Stamp: r.copied.Stamp.Sum,
	}, func(yield func(*change.Record) bool) {
		for i := range r.copied.Records {
			if !yield(&r.copied.Records[i]) {
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

// A Kept is the outcome of copying one session.
type Kept struct {
	Session change.Head
	Saved   keep.Saved
	Same    bool  // unchanged since its last copy
	None    error // why it has no copy of its own: see [Store.Keep]
	Err     error
}

// KeepAll yields the outcome of copying the sessions; nil means all sessions of the store. Sessions and stores that
// have not changed since the last copy are not read. With dry it writes nothing, and reads no session. The error is
// about the list or the copies; in the second case, copies of earlier sessions may be missing. An Err without a session
// means that the list may be incomplete.
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
	id := c.ID()
	stamps := make([][32]byte, len(heads)) // stamps of the latest copies; zero: read the session in any case
	for i, head := range heads {
		last, _, err := k.Latest(id, head.ID, head.Ref)
		if err != nil {
			return err
		}
		if asked := !whole && why == KeptAsked; dry || !asked && last.Unread == "" {
			stamps[i] = last.Stamp
		}
	}
	for i, head := range heads {
		r := c.readChanged(ctx, head, stamps[i], dry)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		s := Kept{Session: r.head, Err: r.err}
		switch {
		case errors.Is(r.err, errSame):
			s.Same, s.Err = true, nil
		case r.err == nil && !dry:
			if s.Saved, s.Err = c.add(ctx, k, r, why); s.Err != nil && !errors.Is(s.Err, keep.ErrNothing) {
				return s.Err
			}
			s.Same = s.Err == nil && !s.Saved.New
		}
		if errors.Is(s.Err, keep.ErrNothing) && len(r.copied.Unread) > 0 {
			s.Err = errors.New(r.copied.UnreadText())
		}
		if errors.Is(s.Err, keep.ErrNothing) || errors.Is(s.Err, errors.ErrUnsupported) {
			s.None, s.Err = s.Err, nil
		}
		yield(len(heads), s)
	}
	if ctx.Err() != nil || dry {
		return ctx.Err()
	}
	return k.Flush()
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

// errSame means that a session has the stamp of its last copy.
var errSame = errors.New("it has not changed")

// readChanged reads a session unless its stamp is the one of its latest copy.
func (c *Store) readChanged(ctx context.Context, head change.Head, stamp [32]byte, dry bool) readCopy {
	if stamp != [32]byte{} {
		if now, err := c.store.Stamp(ctx, head); err == nil && now.Sum == stamp {
			return readCopy{head: head, err: errSame}
		}
	}
	switch {
	case !dry:
		return c.readCopy(ctx, head)
	case c.store.CopyOwner(head) != "":
		return readCopy{head: head, err: errors.ErrUnsupported}
	}
	return readCopy{head: head}
}
