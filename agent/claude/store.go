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
	"mend/internal/safedir"
	"mend/repair"
)

// A store is Claude Code's folder with its transcripts.
type store struct {
	agent.Base
	agent.Cases
	repair.Versions
	*sessionfile.Store

	except  []int // processes that do not count as using a session
	running processCache

	// The rest is cached until the next Refresh.
	unlisted sync.Map                                     // by folder: the results of isUnlisted
	commits  atomic.Pointer[map[string]map[string]string] // the result of goneCommits
	trees    sync.Map                                     // by common folder of a repository: the commits it has
}

var _ agent.Store = (*store)(nil)

// newCase reads a session. A list of processes, at most maxAge old, shows whether the session is in use.
func (s *store) newCase(head change.Head, r repair.Request, maxAge time.Duration) (*repair.Case, change.Stamp, error) {
	var e safedir.Entry
	if !r.Gone {
		var err error
		if e, err = s.Load(head.Ref); err != nil {
			return nil, stampOf(e), err
		}
	}
	gone := ""
	if s.isUnlisted(head) {
		gone = head.Directory
	}
	_, subagent, _ := subagent(head.ID)
	return diagnose.New(diagnose.Source{
		Gone: gone, Ref: head.Ref, Agent: subagent, Data: sessionfile.Apply(e.Data, r.Changes), Mode: e.Mode.Perm(),
		Version: r.Version, Busy: s.whyBusy(head, maxAge), Texts: repair.TextsOf(r),
	}), stampOf(e), nil
}

func (s *store) Examine(_ context.Context, head change.Head, o repair.Options) (x agent.Examination, err error) {
	c, stamp, err := s.newCase(head, repair.Request{Options: o}, freshFor)
	if err != nil {
		return x, err
	}
	x = agent.Examination{
		Busy: c.Busy != "", Provider: s.Provider, Thinking: true, Stamp: stamp, Diagnoses: repair.Diagnose(c),
	}
	if text, r := diagnose.StateOf(c).LastError(); r != nil {
		x.Failure = &agent.Failure{Message: r.UUID, Error: text, Time: time.UnixMilli(r.Time)}
	}
	return x, nil
}

func (s *store) Busy(_ context.Context, head change.Head, _ bool) bool {
	return s.whyBusy(head, freshFor) != ""
}
