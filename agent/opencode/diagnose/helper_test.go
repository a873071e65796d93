package diagnose

import (
	"time"

	"mend/agent/opencode/record"
	"mend/agent/opencode/render"
	"mend/internal/request"
	"mend/repair"
)

// Options are the inputs of a diagnosis besides the session.
type Options struct {
	Now      time.Time
	Held     time.Time
	Version  string
	Thinking *bool
	CanRead  func(m request.Model, kind string) (reads, known bool)
	Missing  func(path string) bool
	Folder   func(path string) string
	Target   func(m request.Model) render.Target
}

// repair returns the options of the engine, for all settings.
func (o Options) repair() repair.Options {
	return repair.Options{Now: o.Now, Version: o.Version, Thinking: o.Thinking, AllSettings: true}
}

func (o Options) environment() Environment {
	return Environment{Held: o.Held, CanRead: o.CanRead, Missing: o.Missing, Folder: o.Folder, Target: o.Target}
}

// A Request is a [repair.Request] with the Options of these tests.
type Request struct {
	Options
	Latent     bool
	Classes    []repair.Class
	Error      *repair.APIError
	All        bool
	Except     []repair.Class
	Force      bool
	Restore    bool
	Unattended bool
	SetAside   bool

	Placeholder, Cancelled string
}

func (r Request) repair() repair.Request {
	return repair.Request{
		Options: r.Options.repair(), Latent: r.Latent, Classes: r.Classes, Error: r.Error, All: r.All, Except: r.Except,
		Force: r.Force, Restore: r.Restore, Unattended: r.Unattended, SetAside: r.SetAside, Placeholder: r.Placeholder, Cancelled: r.Cancelled,
	}
}

// A Result is a [repair.Result] with the session after the plan.
type Result struct {
	repair.Result
	After *record.Session
}

// Plan plans the repair of a session.
func Plan(s *record.Session, r Request) (Result, error) {
	result, err := repair.Plan(s.ID, New(s, r.repair(), r.environment()), r.repair())
	if err != nil {
		return Result{}, err
	}
	return Result{result, stateOf(result.After).s}, nil
}

func diagnosed(s *record.Session, o Options) []repair.Diagnosis {
	return Diagnose(s, o.repair(), o.environment()).Found
}

// draftOf returns a draft of a copy of the session, for edits without a simulation.
func draftOf(s *record.Session) *draft {
	return (&simulation{s: s.Clone(), texts: repair.TextsOf(repair.Request{})}).draft()
}

func caseOf(s *record.Session, o Options, force bool, asked ...repair.Class) *repair.Case {
	return New(s, Request{Options: o, Force: force, Classes: asked}.repair(), o.environment())
}
