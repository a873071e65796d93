// Package watch finds the sessions of a store that have changed and are quiet again. It
// knows nothing of repairs.
//
// An event of the file system only wakes it up: what changed is found by the store's own list
// and by the stamps of the sessions that changed last. Where the system reports no events, it
// looks again after a time. It keeps one number for each session, and the stamps of a few.
package watch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"

	"mend/change"
)

// A Store is a store of sessions; mend.Store implements it.
type Store interface {
	// Sessions lists the sessions without their messages.
	Sessions(ctx context.Context) ([]change.Head, error)
	// State returns a stamp of the whole store, the zero stamp if that cannot be computed at
	// once.
	State(ctx context.Context) (change.Stamp, error)
	// Stamp returns the stamp of a session, the zero stamp if it has none.
	Stamp(ctx context.Context, head change.Head) (change.Stamp, error)
	// Folders lists the folders in which files change when a session begins, or one of heads
	// changes; none if that is not known.
	Folders(heads []change.Head) []string
}

// Options say how a store is followed.
type Options struct {
	Since time.Time     // sessions that were updated since then count as changed at the start
	Quiet time.Duration // how long a session must not have changed
	Poll  time.Duration // between looks at a store without events

	// Handle is called for each session that changed and is quiet, one at a time. If it returns
	// true it is called again later, even if the session does not change.
	Handle func(ctx context.Context, head change.Head) (again bool)
	// Listed, if not nil, is called with each list that is read because something may have changed.
	Listed func(ctx context.Context, heads []change.Head)
	// Notice is called when the way in which the store is followed changes.
	Notice func(Notice)
}

// A Notice says how a store is followed now.
type Notice struct {
	Sessions int
	Polling  string // why there are no events of its files; "" if there are
	Lost     error  // the store cannot be read; it is followed again when it can
}

const (
	pauses    = 10 // a look is followed by a pause of that many times its duration
	shortest  = 500 * time.Millisecond
	unasked   = 10 * time.Minute // between looks that no event asks for
	retry     = 10 * time.Second // before Handle is called again; it doubles up to lastRetry
	lastRetry = 2 * time.Minute

	maxRecent = 64 // sessions whose stamps are kept
	recentFor = time.Hour
	maxPaths  = 256 // of events
)

// A recent session has changed a short time ago.
type recent struct {
	head    change.Head
	sum     [32]byte
	changed time.Time
	due     time.Time // when it is quiet, or is tried again; the zero time if it is handled
	wait    time.Duration
}

// A follower follows one store.
type follower struct {
	Options
	store  Store
	known  map[string]int64 // when sessions were updated; nil before the first list
	recent map[string]*recent
	state  change.Stamp // at the last list
	seen   time.Time    // the time of that

	events  *fsnotify.Watcher // nil without events
	folders map[string]os.FileInfo
	polling string   // see [Notice]
	dirty   bool     // something changed since the last look
	paths   []string // what changed; nil if that is not known
	next    time.Time
	checked time.Time // when the folders were checked

	failed error // of the last look
	lost   bool  // that was said
	last   *Notice
}

// Run follows a store until the context ends.
func Run(ctx context.Context, s Store, o Options) {
	f := &follower{Options: o, store: s, recent: map[string]*recent{}, folders: map[string]os.FileInfo{}, dirty: true}
	defer f.stop("")
	for ctx.Err() == nil {
		if now := time.Now(); f.dirty && !now.Before(f.next) {
			f.look(ctx)
		}
		f.handle(ctx)
		f.await(ctx)
	}
}

// Once handles the sessions that were updated since the time of the options.
func Once(ctx context.Context, s Store, o Options) error {
	heads, err := s.Sessions(ctx)
	for _, h := range heads {
		if h.ID != "" && ctx.Err() == nil && !time.UnixMilli(h.Updated).Before(o.Since) {
			o.Handle(ctx, h)
		}
	}
	return err
}

// await waits for an event, or until something is to be done.
func (f *follower) await(ctx context.Context) {
	timer := time.NewTimer(time.Until(f.wake()))
	defer timer.Stop()
	var events chan fsnotify.Event
	var errs chan error
	if f.events != nil {
		events, errs = f.events.Events, f.events.Errors
	}
	select {
	case <-ctx.Done():
	case e, ok := <-events:
		if ok {
			f.accept(e)
		}
	case err := <-errs:
		if err != nil { // the system has dropped events
			f.dirty, f.paths = true, nil
		}
	case <-timer.C:
		f.tick()
	}
}

// wake returns when something is to be done next.
func (f *follower) wake() time.Time {
	at := f.checked.Add(f.Poll)
	if f.dirty && f.next.Before(at) {
		at = f.next
	}
	for _, r := range f.recent {
		if !r.due.IsZero() && r.due.Before(at) {
			at = r.due
		}
	}
	return at
}

// accept notes an event.
func (f *follower) accept(e fsnotify.Event) {
	if e.Op == fsnotify.Chmod { // of times and modes, as at the end of a repair
		return
	}
	if _, ok := f.folders[e.Name]; ok && e.Has(fsnotify.Remove|fsnotify.Rename) {
		delete(f.folders, e.Name)
		_ = f.events.Remove(e.Name) // the system may have done that
		f.checked = time.Time{}
	}
	if f.dirty && f.paths == nil {
		return
	}
	if f.dirty = true; len(f.paths) == maxPaths {
		f.paths = nil
	} else if !slices.Contains(f.paths, e.Name) {
		f.paths = append(f.paths, e.Name)
	}
}

// tick checks the folders, and has a look follow if that is due.
func (f *follower) tick() {
	now := time.Now()
	if now.Before(f.checked.Add(f.Poll)) {
		return
	}
	if f.follow(); f.failed != nil || f.events == nil || len(f.folders) == 0 || now.Sub(f.seen) > unasked {
		f.dirty, f.paths = true, nil
	}
}

// follow makes the folders of the store those that are followed. A folder that was replaced, or that
// is new, may hold what is not known yet.
func (f *follower) follow() {
	f.checked = time.Now()
	wanted := f.wanted()
	if f.polling != "" || len(wanted) == 0 {
		return
	}
	if f.events == nil {
		w, err := fsnotify.NewBufferedWatcher(maxPaths)
		if err != nil {
			f.stop(reason(err))
			return
		}
		f.events = w
	}
	for path := range f.folders {
		if !wanted[path] {
			_ = f.events.Remove(path)
			delete(f.folders, path)
		}
	}
	for path := range wanted {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() { // it is gone, or a link
			continue
		}
		if before := f.folders[path]; before != nil && os.SameFile(before, info) {
			continue
		}
		if isRemote(path) {
			f.stop("the system reports no changes that other machines make to this file system")
			return
		}
		_ = f.events.Remove(path) // another folder was there
		if err := f.events.Add(path); err != nil {
			f.stop(reason(err))
			return
		}
		f.folders[path], f.dirty, f.paths = info, true, nil
	}
}

// reason returns why there are no events, in words of the user.
func reason(err error) string {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) {
		return "the system follows no more folders for this user (on Linux: sysctl fs.inotify)"
	}
	return err.Error()
}

// wanted returns the folders that are to be followed.
func (f *follower) wanted() map[string]bool {
	var heads []change.Head
	for _, r := range f.recent {
		heads = append(heads, r.head)
	}
	all := map[string]bool{}
	for _, path := range f.store.Folders(heads) {
		all[path] = true
	}
	return all
}

// stop ends the events. From now on the store is polled.
func (f *follower) stop(why string) {
	if f.events != nil {
		_ = f.events.Close()
	}
	clear(f.folders)
	f.events, f.polling, f.dirty, f.paths = nil, why, true, nil
}

// look finds the sessions that have changed.
func (f *follower) look(ctx context.Context) {
	began, paths := time.Now(), f.paths
	f.dirty, f.paths = false, nil
	defer func() { f.next = time.Now().Add(max(shortest, pauses*time.Since(began))) }()
	if f.attribute(ctx, paths) {
		return
	}
	if f.known == nil {
		f.follow() // before the list, so that nothing is missed
		f.dirty = false
	}
	state, err := f.store.State(ctx)
	if err == nil && f.known != nil && f.failed == nil && state.Sum == f.state.Sum && f.state.Distinct(f.seen) {
		f.seen = began
		if len(paths) > 0 {
			f.retryNow()
		}
		return
	}
	var heads []change.Head
	if err == nil {
		heads, err = f.store.Sessions(ctx)
	}
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		f.fail(err)
		return
	}
	f.state, f.seen = state, began
	f.compare(ctx, heads)
	if f.Listed != nil {
		f.Listed(ctx, heads)
	}
	f.follow()
	f.failed, f.lost = nil, false
	f.notice(Notice{Sessions: len(f.known), Polling: f.why()})
}

// why returns why the store is polled, "" if it is not.
func (f *follower) why() string {
	if f.polling == "" && len(f.folders) == 0 {
		return "it has no folder that can be followed"
	}
	return f.polling
}

// attribute looks at the recent sessions that are named in the paths, and reports whether these are all
// that the paths are about.
func (f *follower) attribute(ctx context.Context, paths []string) bool {
	touched := map[string]bool{}
	for _, path := range paths {
		found := false
		for key, r := range f.recent {
			if isNamed(path, r.head.ID) || isNamed(filepath.Dir(path), r.head.ID) {
				found, touched[key] = true, true
			}
		}
		if !found {
			return false
		}
	}
	for key := range touched {
		f.touch(ctx, key)
	}
	return len(paths) > 0
}

// isNamed reports whether a file or a folder has the name of a session.
func isNamed(path, id string) bool {
	name := filepath.Base(path)
	return name == id || strings.HasPrefix(name, id+".")
}

// compare compares a list with the last one, and the recent sessions with their stamps.
func (f *follower) compare(ctx context.Context, heads []change.Head) {
	known := make(map[string]int64, len(heads))
	for _, h := range heads {
		if h.ID == "" {
			continue
		}
		key := h.Project + "/" + h.ID
		known[key] = h.Updated
		before, listed := f.known[key]
		r := f.recent[key]
		switch {
		case f.known == nil && time.UnixMilli(h.Updated).Before(f.Since):
		case f.known == nil, !listed, before != h.Updated:
			if r == nil {
				r = &recent{}
				f.recent[key] = r
			}
			r.head = h
			f.mark(ctx, r)
		case r != nil:
			f.touch(ctx, key)
		}
	}
	for key, r := range f.recent {
		if f.known == nil { // nothing is known to be at work in it
			r.due = time.Now()
		}
		if _, ok := known[key]; !ok || r.due.IsZero() && time.Since(r.changed) > recentFor {
			delete(f.recent, key)
		}
	}
	f.known = known
	f.forget()
}

// forget keeps the number of recent sessions small. Those that wait stay.
func (f *follower) forget() {
	var done []string
	for key, r := range f.recent {
		if r.due.IsZero() {
			done = append(done, key)
		}
	}
	slices.SortFunc(done, func(a, b string) int { return f.recent[a].changed.Compare(f.recent[b].changed) })
	for _, key := range done[:min(len(done), max(0, len(f.recent)-maxRecent))] {
		delete(f.recent, key)
	}
}

// mark notes that a session has changed.
func (f *follower) mark(ctx context.Context, r *recent) {
	if stamp, err := f.store.Stamp(ctx, r.head); err == nil {
		r.sum = stamp.Sum
	}
	r.changed, r.wait = time.Now(), 0
	r.due = r.changed.Add(f.Quiet)
}

// touch marks a recent session if it has another stamp, and reports whether it has.
func (f *follower) touch(ctx context.Context, key string) bool {
	r := f.recent[key]
	stamp, err := f.store.Stamp(ctx, r.head)
	if err != nil || stamp.Sum == r.sum {
		return false
	}
	f.mark(ctx, r)
	return true
}

// retryNow has the sessions tried again that are not quiet because a process uses them: something
// beside the sessions has changed.
func (f *follower) retryNow() {
	for _, r := range f.recent {
		if soon := time.Now().Add(f.Quiet); r.wait > 0 && soon.Before(r.due) {
			r.due = soon
		}
	}
}

// handle handles the sessions that are quiet.
func (f *follower) handle(ctx context.Context) {
	var due []string
	for key, r := range f.recent {
		if !r.due.IsZero() && !time.Now().Before(r.due) {
			due = append(due, key)
		}
	}
	slices.SortFunc(due, func(a, b string) int { return f.recent[a].due.Compare(f.recent[b].due) })
	for _, key := range due {
		r := f.recent[key]
		if ctx.Err() != nil || f.touch(ctx, key) {
			continue
		}
		if r.due = (time.Time{}); f.Handle(ctx, r.head) {
			r.wait = min(max(2*r.wait, retry), lastRetry)
			r.due = time.Now().Add(r.wait)
		}
	}
}

// fail notes that the store cannot be read, and says so the second time: a database can be locked for
// a moment.
func (f *follower) fail(err error) {
	if f.failed != nil && !f.lost {
		f.lost = true
		f.notice(Notice{Lost: err})
	}
	f.failed = err
}

// notice passes on a notice that says something new.
func (f *follower) notice(n Notice) {
	if f.last != nil && (f.last.Lost == nil) == (n.Lost == nil) && f.last.Polling == n.Polling {
		return
	}
	f.last = &n
	f.Notice(n)
}
