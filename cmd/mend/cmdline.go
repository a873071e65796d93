package main

import (
	"regexp"
	"slices"
	"strings"

	"mend/internal/term"
)

// plainWord matches a word that no shell changes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// cmdline returns a command that the user can run next, with the store that was named and, for scan and fix,
// their options about the next request, or, for restore and scan --text, the place of the copies. Verbs with a repair id
// need none: the journal knows the store.
func (env *environment) cmdline(words ...string) string {
	flags := []string{"--store", env.opt.Store, "--layout", env.opt.Layout, "--agent-version", env.opt.AgentVersion}
	if len(words) > 0 && (words[0] == "scan" || words[0] == "fix") {
		flags = append(flags, "--thinking", thinkingText(env.opt.Thinking), "--provider", env.opt.Provider)
	}
	if len(words) > 0 && (words[0] == "restore" || slices.Contains(words, "--text")) {
		flags = append(flags, "--from", env.opt.Journal.Copies)
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

// storeCommand matches a quoted command that needs the store.
var storeCommand = regexp.MustCompile(`"mend (?:scan|fix|recover)\b[^"]*"`)

// withStore adds the store that the user named to each command in a hint.
func (env *environment) withStore(hint string) string {
	return storeCommand.ReplaceAllStringFunc(hint, func(quoted string) string {
		if strings.Contains(quoted, "--store") || strings.HasSuffix(quoted, ` --help"`) {
			return quoted
		}
		return strings.TrimSuffix(quoted, `"`) + strings.TrimPrefix(env.cmdline(), "mend") + `"`
	})
}

// shellWord quotes a word for a shell.
func shellWord(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(term.Escape(w), "'", `'\''`) + "'"
}
