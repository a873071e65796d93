package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mend/change"
)

// A script is a life of a journal, with every kind of change of the file. It
// keeps what was acknowledged: the states of the entries, and whether the
// marker must be gone.
type script struct {
	dir   string
	opts  Options
	retry bool // try what failed once more

	acked  []change.State
	forgot bool // Forget was acknowledged
	j      *Journal
}

var marker = noise(42, 600)

var errCut = errors.New("cut")

func (s *script) run() error {
	for _, step := range []func() error{
		s.open, s.begin(0), s.finish(0, change.Committed), s.begin(1), s.begin(2),
		s.finish(2, change.Aborted), s.finish(1, change.Conflicted), s.resolve, s.forget, s.reopen,
		s.begin(3), s.finish(3, change.Committed), s.gc, s.begin(4), s.close,
	} {
		err := step()
		if err != nil && s.retry {
			if s.j == nil || s.j.fatal != nil {
				_ = s.close()
				if err := s.open(); err != nil {
					return fmt.Errorf("opening again: %w", err)
				}
			}
			err = step()
			var state *StateError
			if errors.As(err, &state) { // it had worked after all
				s.acked[indexOf(state)], err = state.State, nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func indexOf(e *StateError) int {
	seq, _ := SeqOf(e.ID)
	return int(seq - 1)
}

func (s *script) open() (err error) {
	_ = s.close()
	s.j, err = Open(s.dir, s.opts)
	return err
}

func (s *script) close() error {
	if s.j == nil {
		return nil
	}
	j := s.j
	s.j = nil
	return j.Close()
}

func (s *script) reopen() error { return errors.Join(s.close(), s.open()) }

// begin begins entry n, whose blobs take several transactions.
func (s *script) begin(n int) func() error {
	return func() error {
		if s.j == nil {
			return errCut
		}
		if len(s.acked) > n { // tried once more
			return nil
		}
		ops := []change.Op{
			{Ref: part(0), Post: &change.Image{Data: noise(7, 3000), Mode: 0o600}}, // shared by all
			{Ref: part(1), Pre: &change.Image{Data: noise(uint64(1000+n), 9000), Mode: 0o600}},
		}
		cause := scan()
		if n == 0 {
			ops = append(ops, change.Op{Ref: part(2), Pre: &change.Image{Data: marker}})
			cause = change.Cause{Kind: change.CauseError, Text: string(marker)}
		}
		_, err := s.j.Begin(planOf(cause, ops...))
		if err == nil {
			s.acked = append(s.acked, change.Pending)
		}
		return err
	}
}

func (s *script) finish(n int, to change.State) func() error {
	return func() error {
		_, err := s.j.Finish(change.Entry{Seq: uint64(n + 1), ID: IDOf(uint64(n + 1))}, change.Outcome{
			State: to, Conflicts: []change.Conflict{{Ref: part(1), Why: "somebody"}},
		})
		if err == nil {
			s.acked[n] = to
		}
		return err
	}
}

func (s *script) resolve() error {
	_, err := s.j.Resolve(change.Entry{Seq: 2, ID: IDOf(2)}, "keep", "")
	if err == nil {
		s.acked[1] = change.Resolved
	}
	return err
}

func (s *script) forget() error {
	_, err := s.j.Forget(context.Background(), []change.Entry{{Seq: 1, ID: IDOf(1)}})
	s.forgot = s.forgot || err == nil
	return err
}

func (s *script) gc() error {
	_, err := s.j.GC(context.Background(), time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	return err
}

// check opens what a cut left and compares it with what was acknowledged before.
func (s *script) check(t *testing.T, dir string, o Options) error {
	t.Helper()
	r, err := Open(dir, Options{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("opening for reading: %w", err)
	}
	_, err = r.Verify()
	mustClose(t, r)
	if err != nil {
		return fmt.Errorf("before recovery: %w", err)
	}
	j, err := Open(dir, o)
	if err != nil {
		return err
	}
	defer mustClose(t, j)
	if _, err := os.Stat(filepath.Join(dir, tempName)); err == nil {
		return errors.New(tempName + " is still there")
	}
	report, err := j.Verify()
	if err != nil {
		return err
	}
	all, err := j.List(Query{})
	switch {
	case err != nil:
		return err
	case report.Unfinished:
		return errors.New("unfinished after Open")
	case len(all) < len(s.acked) || len(all) > len(s.acked)+1:
		return fmt.Errorf("%d entries, want %d or one more", len(all), len(s.acked))
	}
	if err := s.compare(j, all); err != nil {
		return err
	}
	if len(all) > 0 && (all[len(all)-1].Forgotten || s.forgot) {
		return noMarker(dir)
	}
	return nil
}

// compare compares the entries with what was acknowledged: at most one step more
// may have happened.
func (s *script) compare(j *Journal, all []change.Entry) error {
	changed := len(all) - len(s.acked)
	for i, want := range s.acked {
		e := all[len(all)-1-i]
		if e.State != want {
			changed++
		}
		if _, err := j.Ops(e); err != nil && !errors.Is(err, ErrForgotten) {
			return err
		}
	}
	if changed > 1 {
		return fmt.Errorf("%d states differ", changed)
	}
	return nil
}

// noMarker looks for the marker in every file of the folder.
func noMarker(dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		if bytes.Contains(b, marker[:32]) {
			return fmt.Errorf("%s still holds what was forgotten", f.Name())
		}
	}
	return nil
}

func crashOptions(step func(string) error) Options {
	return Options{Now: clock(), Version: "1", Step: step, compactAbove: 1, batchSize: 6000}
}
