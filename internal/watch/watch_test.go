package watch

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"mend/change"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fakeStore is a store whose sessions a test changes. It counts its calls.
type fakeStore struct {
	mu      sync.Mutex
	heads   []change.Head
	content map[string]int // by session
	noState bool           // State returns no stamp
	err     error
	lists   int
	stamps  int
}

func (s *fakeStore) set(id string, updated int64, content int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.content == nil {
		s.content = map[string]int{}
	}
	s.content[id] = content
	i := slices.IndexFunc(s.heads, func(h change.Head) bool { return h.ID == id })
	if i < 0 {
		s.heads = append(s.heads, change.Head{ID: id, Updated: updated})
		return
	}
	s.heads[i].Updated = updated
}

func (s *fakeStore) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *fakeStore) counts() (lists, stamps int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lists, s.stamps
}

func (s *fakeStore) Sessions(context.Context) ([]change.Head, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists++
	return slices.Clone(s.heads), s.err
}

func (s *fakeStore) State(context.Context) (change.Stamp, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noState {
		return change.Stamp{}, s.err
	}
	return change.Stamp{Sum: sha256.Sum256(fmt.Append(nil, s.heads, s.content))}, s.err
}

func (s *fakeStore) Stamp(_ context.Context, head change.Head) (change.Stamp, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stamps++
	return change.Stamp{Sum: sha256.Sum256(fmt.Append(nil, head.ID, s.content[head.ID]))}, s.err
}

// A trace records the calls of a follower.
type trace struct {
	mu      sync.Mutex
	handled []string
	notices []string
	busy    map[string]bool
}

func (r *trace) handle(_ context.Context, head change.Head) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handled = append(r.handled, head.ID)
	return r.busy[head.ID]
}

func (r *trace) setBusy(id string, busy bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy[id] = busy
}

func (r *trace) notice(n Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if n.Lost != nil {
		r.notices = append(r.notices, "lost: "+n.Lost.Error())
	} else {
		r.notices = append(r.notices, fmt.Sprint(n.Sessions))
	}
}

func (r *trace) sessions() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.handled, " ")
}

func (r *trace) notes() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.notices, "; ")
}

// start follows a store until the test ends.
func start(t *testing.T, s *fakeStore, quiet time.Duration) *trace {
	const poll = 5 * time.Second
	t.Helper()
	r := &trace{busy: map[string]bool{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Run(ctx, s, Options{Since: time.Now().Add(-time.Hour), Quiet: quiet, Poll: poll, Handle: r.handle, Notice: r.notice})
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return r
}

// TestPolling: a session is handled as soon as it is quiet: at the start if it changed recently, and later after each
// change, even if only its stamp shows the change.
func TestPolling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := func() int64 { return time.Now().UnixMilli() }
		s := &fakeStore{noState: true}
		s.set("old", 1, 1)
		s.set("new", now(), 1)
		r := start(t, s, 3*time.Second)
		step := func(what string, d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := r.sessions(); got != want {
				t.Errorf("%s: handled %q, want %q", what, got, want)
			}
		}
		step("at the start", time.Second, "new")
		s.set("old", now(), 2)
		step("before the next poll", 3*time.Second, "new")
		step("not quiet", 3*time.Second, "new")
		s.set("old", now(), 3)
		step("changed again", 2*time.Second, "new")
		step("quiet", 5*time.Second, "new old")
		s.set("old", s.heads[0].Updated, 4)
		step("the stamp alone", 10*time.Second, "new old old")
		s.set("third", now(), 1)
		step("a new session", 10*time.Second, "new old old third")
		if got := r.notes(); got != "2" {
			t.Errorf("notices %q", got)
		}
	})
}

// TestBusy: a busy session is handled again, less and less often, until it is no longer busy.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{}
		s.set("a", time.Now().UnixMilli(), 1)
		r := start(t, s, time.Second)
		r.setBusy("a", true)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := len(strings.Fields(r.sessions())); n < 10 || n > 14 {
			t.Errorf("handled %d times in ten minutes, want 10 to 14", n)
		}
		r.setBusy("a", false)
		time.Sleep(lastRetry + time.Second)
		synctest.Wait()
		before := r.sessions()
		time.Sleep(time.Hour)
		synctest.Wait()
		if r.sessions() != before {
			t.Error("the session is handled again although it is not busy any more")
		}
	})
}

// TestUnchanged: a store is not listed while its state is unchanged.
func TestUnchanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{}
		for n := range 100 {
			s.set(fmt.Sprint("s", n), 1, 1)
		}
		start(t, s, time.Second)
		time.Sleep(time.Hour)
		synctest.Wait()
		if lists, stamps := s.counts(); lists != 1 || stamps != 0 {
			t.Errorf("%d lists and %d stamps in an hour without a change", lists, stamps)
		}
		s.set("s7", 2, 2)
		time.Sleep(time.Minute)
		synctest.Wait()
		if lists, stamps := s.counts(); lists != 2 || stamps > 5 {
			t.Errorf("%d lists and %d stamps after one change", lists, stamps)
		}
	})
}

// TestUnreadableStore: a store that cannot be read is reported once, and is followed again as soon as it can be read.
func TestUnreadableStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &fakeStore{noState: true}
		s.set("a", 1, 1)
		r := start(t, s, time.Second)
		time.Sleep(time.Minute + time.Second)
		s.fail(errors.New("locked"))
		time.Sleep(6 * time.Second)
		s.fail(nil) // for a moment: this is not reported
		time.Sleep(time.Minute)
		s.fail(errors.New("gone"))
		time.Sleep(time.Minute)
		s.fail(nil)
		s.set("b", 1, 1)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got, want := r.notes(), "1; lost: gone; 2"; got != want {
			t.Errorf("notices %q, want %q", got, want)
		}
		if r.sessions() != "b" {
			t.Errorf("handled %q, want b", r.sessions())
		}
	})
}
