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
	// Now returns the request that is sent before any repair; nil for the case's own.
	Now func(*repair.Case) request.Request
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

// Forecast implements [Store].
func (s *Cases) Forecast(_ context.Context, head change.Head, o repair.Options) (Forecast, error) {
	c, _, err := s.NewCase(head, repair.Request{Options: o})
	if err != nil {
		return Forecast{}, err
	}
	q, _ := c.Next()
	if s.Now != nil {
		q = s.Now(c)
	}
	return forecast(c, q, Forecast{Version: s.Version, Thinking: true, Provider: s.Provider, Place: s.Place}), nil
}
