package main

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// thinkingFlag adds --thinking.
func thinkingFlag(env *environment, fl *pflag.FlagSet) {
	fl.Func("thinking", "check with thinking `on|off` (default: as the session used it)", func(s string) error {
		on := s == "on"
		if !on && s != "off" {
			return errors.New("want on or off")
		}
		env.opt.Thinking = &on
		return nil
	})
}

// providerFlag adds --provider.
func providerFlag(env *environment, fl *pflag.FlagSet) {
	names := strings.Join(providerNames(), ", ")
	fl.Func("provider", "check by the rules of `NAME` ("+names+"; default: the provider of the session)", func(s string) error {
		if !slices.Contains(providerNames(), s) {
			return errors.New("want one of " + names)
		}
		env.opt.Provider = s
		return nil
	})
}

// providerNames returns the names of providers that any agent knows.
func providerNames() (names []string) {
	for _, g := range agents {
		for _, name := range g.Providers() {
			if !slices.Contains(names, name) { // agents share most of them
				names = append(names, name)
			}
		}
	}
	return names
}

// thinkingText returns the value of --thinking, "" if it is not set.
func thinkingText(on *bool) string {
	if on == nil {
		return ""
	}
	return onOrOff(*on)
}

// onOrOff returns "on" or "off".
func onOrOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
