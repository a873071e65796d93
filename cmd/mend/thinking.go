package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// An onOff is the value of a flag that is on, off, or not set (nil).
type onOff struct{ target **bool }

// thinkingFlag adds --thinking.
func thinkingFlag(env *environment, fl *pflag.FlagSet) {
	fl.Var(onOff{&env.opt.Thinking}, "thinking", "check with thinking on or off (default: as the session used it)")
}

// providerFlag adds --provider.
func providerFlag(env *environment, fl *pflag.FlagSet) {
	fl.Var(&providerChoice{&env.opt.Provider}, "provider", "check by the rules of NAME ("+strings.Join(providerNames(), ", ")+"; default: the provider of the session)")
}

// A providerChoice is the value of --provider.
type providerChoice struct{ target *string }

// providerNames returns the names that some agent knows.
func providerNames() (names []string) {
	for _, g := range agents {
		names = append(names, g.Providers()...)
	}
	return names
}

// Set implements [pflag.Value].
func (v *providerChoice) Set(s string) error {
	if !slices.Contains(providerNames(), s) {
		return errors.New("want one of " + strings.Join(providerNames(), ", "))
	}
	*v.target = s
	return nil
}

func (v *providerChoice) String() string {
	if v.target == nil {
		return ""
	}
	return *v.target
}

// Type implements [pflag.Value].
func (v *providerChoice) Type() string { return "NAME" }

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
