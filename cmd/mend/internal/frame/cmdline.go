package frame

import (
	"regexp"
	"slices"
	"strings"

	"mend/cmd/mend/internal/show"
	"mend/internal/term"
)

// plainWord matches a word that no shell changes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// CommandLine returns a command that the user can run next, with the store that was named and, for scan and fix,
// their options about the next request, or, for restore and scan --text, the place of the copies. Verbs with a repair id
// need none: the journal knows the store.
func (env *Env) CommandLine(words ...string) string {
	flags := []string{"--store", env.Opt.Store, "--layout", env.Opt.Layout, "--agent-version", env.Opt.AgentVersion}
	if len(words) > 0 && (words[0] == "scan" || words[0] == "fix") {
		flags = append(flags, "--thinking", show.ThinkingText(env.Opt.Thinking), "--provider", env.Opt.Provider)
	}
	if len(words) > 0 && (words[0] == "restore" || slices.Contains(words, "--text")) {
		flags = append(flags, "--from", env.Opt.Journal.Copies)
	}
	words = append([]string{"mend"}, words...)
	for flag := range slices.Chunk(flags, 2) {
		if flag[1] != "" {
			words = append(words, flag...)
		}
	}
	for i, w := range words {
		words[i] = ShellWord(w)
	}
	return strings.Join(words, " ")
}

// storeCommand matches a quoted command that needs the store.
var storeCommand = regexp.MustCompile(`"mend (?:scan|fix|recover)\b[^"]*"`)

// WithStore adds the store that the user named to each command in a hint.
func (env *Env) WithStore(hint string) string {
	return storeCommand.ReplaceAllStringFunc(hint, func(quoted string) string {
		if strings.Contains(quoted, "--store") || strings.HasSuffix(quoted, ` --help"`) {
			return quoted
		}
		return strings.TrimSuffix(quoted, `"`) + strings.TrimPrefix(env.CommandLine(), "mend") + `"`
	})
}

// ShellWord quotes a word for a shell.
func ShellWord(w string) string {
	if plainWord.MatchString(w) {
		return w
	}
	return "'" + strings.ReplaceAll(term.Escape(w), "'", `'\''`) + "'"
}
