package agent

import (
	"context"

	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// Cases is embedded in a [Store] that makes the case of a session with a single function. It implements the
// methods that need only the case.
type Cases struct {
	NewCase func(head change.Head, r repair.Request) (*repair.Case, change.Stamp, error)

	Version, Provider string // used in forecasts
	Place             Place
}

// Case implements [Store].
func (s *Cases) Case(_ context.Context, head change.Head, r repair.Request) (*repair.Case, error) {
	c, _, err := s.NewCase(head, r)
	return c, err
}

// Records implements [Store].
func (s *Cases) Records(_ context.Context, head change.Head) ([]change.Record, error) {
	c, _, err := s.NewCase(head, repair.Request{})
	if err != nil {
		return nil, err
	}
	return repair.RecordsOf(c), nil
}

// Examine implements [Store].
func (s *Cases) Examine(_ context.Context, head change.Head, o repair.Options) (x Examination, err error) {
	c, stamp, err := s.NewCase(head, repair.Request{Options: o})
	if err != nil {
		return x, err
	}
	return Examination{
		Busy: c.Busy != "", Provider: s.Provider, Thinking: true, Stamp: stamp, Diagnoses: repair.Diagnose(c),
	}, nil
}

// Forecast implements [Store]. It reports the broken findings of the session, each at its place in the request if the
// request is the one that was checked.
func (s *Cases) Forecast(_ context.Context, head change.Head, o repair.Options) (Forecast, error) {
	c, _, err := s.NewCase(head, repair.Request{Options: o})
	if err != nil {
		return Forecast{}, err
	}
	q, refused := c.Next()
	now, _ := c.Current()
	f := Forecast{Request: now, Version: s.Version, Thinking: true, Provider: s.Provider, Place: s.Place}
	type fault struct {
		rule string
		ref  change.Ref
	}
	byFault := map[fault][]request.Violation{}
	for _, v := range refused {
		if len(q.Turns) == len(f.Request.Turns) && len(v.Refs) > 0 {
			byFault[fault{v.Rule, v.Refs[0]}] = append(byFault[fault{v.Rule, v.Refs[0]}], v)
		}
	}
	for _, x := range c.Findings().All() {
		if x.Severity != repair.Broken {
			continue
		}
		v := request.Violation{Rule: x.Code, Message: x.Text, Refs: []change.Ref{x.Ref}, N: -1, M: -1}
		for _, at := range byFault[fault{x.Code, x.Ref}] {
			if at.Block == nil || at.Block.Index == x.Block {
				v.N, v.M = at.N, at.M
			}
		}
		f.Violations = append(f.Violations, v)
	}
	return f, nil
}
