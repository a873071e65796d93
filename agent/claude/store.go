package claude

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"mend/agent"
	"mend/agent/claude/diagnose"
	"mend/agent/claude/transcript"
	"mend/change"
	"mend/internal/safedir"
	"mend/linestore"
	"mend/provider/anthropic"
	"mend/repair"
	"mend/request"
	"mend/session"
	"mend/txn"
)

// A store is Claude Code's folder with its transcripts.
type store struct {
	lines *linestore.Store
	warn  func(string)
}

var (
	_ agent.Store      = (*store)(nil)
	_ agent.Scanner    = (*store)(nil)
	_ agent.Forecaster = (*store)(nil)
	_ agent.Trimmer    = (*store)(nil)
)

// ID implements [agent.Store].
func (s *store) ID() change.StoreID { return s.lines.ID() }

// Read implements [agent.Store].
func (s *store) Read(ctx context.Context, refs []session.Ref) ([]*change.Image, error) {
	return s.lines.Read(ctx, refs)
}

// Writer implements [agent.Store].
func (s *store) Writer(journal string) (txn.Store, error) {
	root := s.ID().Root
	return linestore.New(root, layout{root}, linestore.Options{Owner: journal, Note: s.warn, InUse: s.inUse})
}

// inUse returns why the transcript at a path must not be replaced now.
func (s *store) inUse(p string) string {
	id := path.Base(p)
	return s.whyBusy(session.Head{ID: id[:len(id)-len(suffix)]})
}

// whyBusy returns which process uses a session, "" if there is none.
func (s *store) whyBusy(head session.Head) string {
	if p := s.running(head); p != nil {
		return p.String()
	}
	return ""
}

// open opens the folder of a session's transcript.
func (s *store) open(head session.Head) (*safedir.Dir, string, error) {
	p, _, err := layout{s.ID().Root}.Locate(head.Ref)
	if err != nil {
		return nil, "", err
	}
	root, err := s.lines.OpenRoot()
	if err != nil {
		return nil, "", err
	}
	defer root.Close()
	d, err := root.Sub(path.Dir(p))
	return d, path.Base(p), err
}

func (s *store) stat(head session.Head) (string, safedir.Entry, error) {
	d, name, err := s.open(head)
	if err != nil {
		return "", safedir.Entry{}, err
	}
	defer d.Close()
	e, err := d.Stat(name)
	return name, e, err
}

// load reads a transcript.
func (s *store) load(head session.Head) (safedir.Entry, error) {
	d, name, err := s.open(head)
	if err != nil {
		return safedir.Entry{}, err
	}
	defer d.Close()
	e, err := d.Read(nil, name, session.MaxText)
	switch why := e.ReadProblem(); {
	case err != nil:
	case !e.Exists:
		err = fmt.Errorf("reading transcript %s: it is gone", head.ID)
	case why != "":
		err = fmt.Errorf("reading transcript %s: %s", head.ID, why)
	}
	return e, err
}

func (s *store) newCase(head session.Head, o repair.Options, texts diagnose.Texts) (*diagnose.Case, safedir.Entry, error) {
	e, err := s.load(head)
	if err != nil {
		return nil, e, err
	}
	return diagnose.New(diagnose.Source{
		Ref: head.Ref, Data: e.Data, Version: o.Version, Busy: s.whyBusy(head), Texts: texts,
	}), e, nil
}

// Case implements [agent.Store].
func (s *store) Case(_ context.Context, head session.Head, r repair.Request) (repair.Case, error) {
	c, _, err := s.newCase(head, r.Options, diagnose.Texts{Placeholder: r.Placeholder})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Records implements [agent.Store].
func (s *store) Records(_ context.Context, head session.Head) (all []session.Record, err error) {
	e, err := s.load(head)
	if err != nil {
		return nil, err
	}
	for r := range diagnose.New(diagnose.Source{Ref: head.Ref, Data: e.Data}).Records {
		all = append(all, *r)
	}
	return all, nil
}

// Held implements [agent.Scanner]. A diagnosis does not depend on open transcripts.
func (s *store) Held(context.Context) (time.Time, error) { return time.Time{}, nil }

// Settings implements [agent.Scanner].
func (s *store) Settings() string { return "" }

// HeadSettings implements [agent.Scanner].
func (s *store) HeadSettings(session.Head) string { return "" }

// Examine implements [agent.Scanner].
func (s *store) Examine(_ context.Context, head session.Head, o repair.Options) (agent.Examination, error) {
	c, e, err := s.newCase(head, o, diagnose.Texts{})
	if err != nil {
		return agent.Examination{}, err
	}
	return agent.Examination{
		Busy: c.Busy(), Provider: anthropic.Provider{}.Name(), Thinking: true, Diagnoses: repair.Diagnose(c), Lasts: !c.Busy(), Stamp: stampOf(e), Until: forever,
	}, nil
}

// forever is later than any prompt.
var forever = time.UnixMilli(1 << 52)

// Profile implements [agent.Forecaster].
func (s *store) Profile(version string) string { return transcript.ProfileOf(version).Version }

// Verified implements [agent.Forecaster].
func (s *store) Verified(version string) bool { return transcript.Verified(version) }

// Forecast implements [agent.Forecaster]. It reads only.
func (s *store) Forecast(_ context.Context, head session.Head, o repair.Options) (agent.Forecast, error) {
	c, _, err := s.newCase(head, o, diagnose.Texts{})
	if err != nil {
		return agent.Forecast{}, err
	}
	f := agent.Forecast{Version: c.Conversation().Profile.Version, Thinking: true, Request: c.Request()}
	f.Provider, f.JSON, f.Place = anthropic.Provider{}.Name(), anthropic.JSON(f.Request), agent.Place{Turn: "messages.%d", Block: "content.%d"}
	for _, v := range c.Findings().All() {
		if v.Severity == repair.Broken {
			f.Violations = append(f.Violations, request.Violation{Rule: v.Code, Message: v.Says, Refs: []session.Ref{v.Ref}, N: -1, M: -1})
		}
	}
	return f, nil
}

// Trim implements [agent.Trimmer]. Old results of transcripts are not trimmed yet.
func (s *store) Trim(context.Context, session.Head, repair.TrimRequest) (repair.Trimmed, error) {
	return repair.Trimmed{}, fmt.Errorf("trimming a transcript: %w", errors.ErrUnsupported)
}

// Uncompact implements [agent.Trimmer].
func (s *store) Uncompact(_ context.Context, head session.Head, r repair.UncompactRequest) (repair.Uncompacted, error) {
	e, err := s.load(head)
	if err != nil {
		return repair.Uncompacted{}, err
	}
	return diagnose.Uncompact(diagnose.Source{Ref: head.Ref, Data: e.Data, Version: r.Version, Busy: s.whyBusy(head)}, r)
}
