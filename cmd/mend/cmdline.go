package main

import (
	"regexp"
	"strings"
)

// plainWord matches a word that no shell changes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// cmdline returns a command that the user can run next, with the store that was named. Verbs
// with a repair id need none: the journal knows it.
func (a *app) cmdline(words ...string) string {
	words = append([]string{"mend"}, words...)
	for _, flag := range [...]struct{ name, value string }{{"--store", a.opt.Store}, {"--layout", a.opt.Layout}, {"--agent-version", a.opt.AgentVersion}} {
		if flag.value != "" {
			words = append(words, flag.name, flag.value)
		}
	}
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return strings.Join(words, " ")
}

// shellWord returns a word as it is typed in a shell.
func shellWord(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(escape(w), "'", `'\''`) + "'"
}
