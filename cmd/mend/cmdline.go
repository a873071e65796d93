package main

import (
	"regexp"
	"slices"
	"strings"

	"mend/internal/term"
)

// plainWord matches a word that no shell changes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// cmdline returns a command that the user can run next, with the store that was named, and of scan
// and fix with what they were told of the next request. Verbs with a repair id need none: the
// journal knows it.
func (env *environment) cmdline(words ...string) string {
	flags := []string{"--store", env.opt.Store, "--layout", env.opt.Layout, "--agent-version", env.opt.AgentVersion}
	if len(words) > 0 && (words[0] == "scan" || words[0] == "fix") {
		flags = append(flags, "--thinking", thinkingText(env.opt.Thinking), "--provider", env.opt.Provider)
	}
	words = append([]string{"mend"}, words...)
	for flag := range slices.Chunk(flags, 2) {
		if flag[1] != "" {
			words = append(words, flag...)
		}
	}
	for i, w := range words {
		words[i] = shellWord(w)
	}
	return strings.Join(words, " ")
}

// storeCommand matches a command in quotes that needs the store.
var storeCommand = regexp.MustCompile(`"mend (?:scan|fix|recover)\b[^"]*"`)

// withStore returns a hint in which each command names the store that the user named.
func (env *environment) withStore(hint string) string {
	return storeCommand.ReplaceAllStringFunc(hint, func(quoted string) string {
		if strings.Contains(quoted, "--store") || strings.HasSuffix(quoted, ` --help"`) {
			return quoted
		}
		return strings.TrimSuffix(quoted, `"`) + strings.TrimPrefix(env.cmdline(), "mend") + `"`
	})
}

// shellWord returns a word as it is typed in a shell.
func shellWord(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(term.Escape(w), "'", `'\''`) + "'"
}
