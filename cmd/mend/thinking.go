package main

import (
	"errors"

	"github.com/spf13/pflag"
)

// An onOff is the value of a flag that is on, off, or not set (nil).
type onOff struct{ target **bool }

// thinkingFlag adds --thinking.
func (a *app) thinkingFlag(fl *pflag.FlagSet) {
	fl.Var(onOff{&a.opt.Thinking}, "thinking", "check with thinking on or off (default: as the session used it)")
}

// Set implements [pflag.Value].
func (v onOff) Set(s string) error {
	on := s == "on"
	if !on && s != "off" {
		return errors.New("want on or off")
	}
	*v.target = &on
	return nil
}

func (v onOff) String() string {
	if v.target == nil || *v.target == nil {
		return ""
	}
	return onOrOff(**v.target)
}

// onOrOff returns "on" or "off".
func onOrOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// Type implements [pflag.Value].
func (v onOff) Type() string { return "on|off" }
