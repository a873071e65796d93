package claude

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"mend/agent"
	"mend/agent/claude/diagnose"
	"mend/agent/sessionfile"
	"mend/change"
	"mend/internal/provider/anthropic"
	"mend/internal/safedir"
	"mend/repair"
)

// A store is Claude Code's folder with its transcripts.
type store struct {
	agent.Base
	agent.Cases
	repair.Versions
	*sessionfile.Store

	layout  *layout
	except  []int // processes that do not count as using a session
	running processCache
	buffers sync.Pool // of *safedir.Buffer, for examinations
	// whether a folder is gone and no list has its sessions, until the next Refresh
	homeless sync.Map
	commits  atomic.Pointer[map[string]map[string]string] // of goneCommits, until then
	// the commits of those that a repository has, by its common folder, until then
	trees sync.Map
}

var _ agent.Store = (*store)(nil)

// inUse returns why the transcript at a path must not be replaced now.
func (s *store) inUse(p string) string {
	return s.whyBusy(change.Head{ID: locate(p)}, 0)
}

func (s *store) newCase(head change.Head, b *safedir.Buffer, o repair.Options, texts repair.Texts, changes []change.Op,
	maxAge time.Duration,
) (*repair.Case, safedir.Entry, error) {
	e, err := s.Load(head.Ref, b)
	if err != nil {
		return nil, e, err
	}
	e.Data = sessionfile.Changed(e.Data, changes)
	gone := ""
	if s.isHomeless(head) {
		gone = head.Directory
	}
	return diagnose.New(diagnose.Source{
		Gone: gone, Ref: head.Ref, Agent: agentOf(head), Data: e.Data, Mode: e.Mode.Perm(), Version: o.Version,
		Busy: s.whyBusy(head, maxAge), Locked: sync.OnceValue(func() string { return s.WhyLocked(head.Ref) }), Texts: texts,
	}), e, nil
}

func (s *store) caseOf(head change.Head, r repair.Request) (*repair.Case, change.Stamp, error) {
	c, e, err := s.newCase(head, nil, r.Options, repair.TextsOf(r), r.Changes, 0)
	return c, stampOf(e), err
}

// Records implements [agent.Store]. It looks for no process.
func (s *store) Records(_ context.Context, head change.Head) ([]change.Record, error) {
	e, err := s.Load(head.Ref, nil)
	if err != nil {
		return nil, err
	}
	return repair.RecordsOf(diagnose.New(diagnose.Source{
		Ref: head.Ref, Agent: agentOf(head), Data: e.Data,
		Mode: e.Mode.Perm(),
	})), nil
}

// Examine implements [agent.Store].
func (s *store) Examine(ctx context.Context, head change.Head, o repair.Options) (agent.Examination, error) {
	b, _ := s.buffers.Get().(*safedir.Buffer)
	if b == nil {
		b = new(safedir.Buffer)
	}
	defer s.buffers.Put(b) // of the case nothing is left that refers to it
	c, e, err := s.newCase(head, b, o, repair.Texts{}, nil, freshFor)
	if err != nil {
		return agent.Examination{}, err
	}
	x := agent.Examination{
		Busy: s.Busy(ctx, head, true), Provider: anthropic.Provider{}.Name(), Thinking: true, Stamp: stampOf(e),
		Diagnoses: repair.Diagnose(c),
	}
	if r := diagnose.StateOf(c).LastFailed(); r != nil {
		x.Failure = &agent.Failure{Message: r.UUID, Error: c.LastError, Time: time.UnixMilli(r.Time)}
	}
	if len(x.Diagnoses) > 0 && s.WhyLocked(head.Ref) != "" { // the rights of folders are not in the stamp
		x.Stamp = change.Stamp{}
	}
	return x, nil
}

// Busy implements [agent.Store].
func (s *store) Busy(_ context.Context, head change.Head, _ bool) bool {
	return s.whyBusy(head, freshFor) != ""
}
