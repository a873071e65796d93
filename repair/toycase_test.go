package repair_test

import (
	"mend/change"
	"mend/internal/request"
	"mend/repair"
)

// A toyCase is a case of the toy agent.
type toyCase struct {
	repair.BaseCase

	*toy

	own []repair.Rule
}

func newCase(s *toy, own ...repair.Rule) *toyCase { return newAsked(s, nil, own...) }

func newAsked(s *toy, e *repair.APIError, own ...repair.Rule) *toyCase {
	c := &toyCase{toy: s, own: own}
	q, refused := s.send()
	var faults []repair.Finding
	for _, r := range own {
		if r.Find != nil {
			for _, f := range r.Find(c) {
				f.Code = r.Code
				faults = append(faults, f)
			}
		}
	}
	c.Examine(c, change.Ref{Kind: change.KindSession, Session: "ses_1"}, repair.NewRules(nil, own...), q, refused, faults, "")
	c.Ask(e, func(e *repair.APIError) repair.Case { return newAsked(s, e, own...) })
	return c
}

func (c *toyCase) Stored(ref change.Ref) repair.Stored          { return c.toy.Stored(ref) }
func (c *toyCase) Messages() []change.Ref                       { return c.toy.Messages() }
func (c *toyCase) Prompts() []change.Ref                        { return c.toy.Prompts() }
func (c *toyCase) Records(yield func(*change.Record) bool)      { c.toy.Records(yield) }
func (c *toyCase) Busy() string                                 { return c.busy }
func (c *toyCase) Window() int                                  { return c.window }
func (c *toyCase) Draft() repair.Draft                          { return &toyDraft{toyEditor{s: c.toy.copied()}, c} }
func (c *toyCase) Send() (request.Request, []request.Violation) { return c.send() }

type toyDraft struct {
	toyEditor

	c *toyCase
}

func (d *toyDraft) Apply(_ repair.Finding, x repair.Fix) error {
	before := d.s.copied()
	err := x.Edit(d)
	if err != nil {
		d.s = before
	}
	return err
}

func (d *toyDraft) Case() repair.Case { return newAsked(d.s.copied(), d.c.Asked(), d.c.own...) }

// stateOf returns the session of a case.
func stateOf(c repair.Case) *toy { return c.(*toyCase).toy }
