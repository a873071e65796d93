package frame

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"mend/change"
	"mend/cmd/mend/internal/agents"
	"mend/cmd/mend/internal/show"
	"mend/internal/mend"
	"mend/internal/term"
	"mend/repair"
)

// plainWord matches a word that no shell changes.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:@%+=,-]+$`)

// CommandLine returns a command that the user can run next. It repeats the flags that the user gave for the store and
// the version; for scan and fix also those for thinking and the provider, and for restore and scan --text the folder
// of the copies. A verb with a repair id needs none of these, because the journal has the store.
func (env *Env) CommandLine(words ...string) string {
	flags := []string{"--store", env.Opt.Store, "--agent-version", env.Opt.AgentVersion}
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

// storeCommand matches a quoted command that needs --store if the user named a store.
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
	return "'" + strings.ReplaceAll(string(term.Escape(w)), "'", `'\''`) + "'"
}

// PrintContinueCommand prints how to continue a session. name stands for the session in the sentence.
func (env *Env) PrintContinueCommand(ctx context.Context, c *mend.Store, h change.Head, name string) {
	if main := c.MainSession(ctx, h); main.ID != h.ID {
		h, name = main, "its main session"
	}
	command := ContinueCommand(ctx, c, h)
	env.SetAnswers(ContinueAnswer{Continue: command})
	env.Printf("To continue %s: %s\n", name, term.Bold(command))
}

// ContinueCommand returns the command that continues a session in its folder, for a subagent's its main session.
func ContinueCommand(ctx context.Context, c *mend.Store, h change.Head) string {
	h = c.MainSession(ctx, h)
	words := agents.ByName(c.ID().Agent).Resume(h.ID)
	for i, w := range words {
		words[i] = ShellWord(w)
	}
	command := strings.Join(words, " ")
	if info, err := os.Stat(h.Directory); err != nil || !info.IsDir() || filepath.Clean(h.Directory) == show.WorkingFolder() {
		return command
	}
	return "cd " + ShellWord(h.Directory) + " && " + command
}

// A ContinueAnswer has the members about how to continue a session.
type ContinueAnswer struct {
	Continue string `json:"continue,omitempty"` // the command that continues the session
	Reload   string `json:"reload,omitempty"`   // how to load it again in the agent that has it open
}

// PrintContinue prints the command that continues a session. If another step must come first, it also prints that
// step, and returns ErrProblems.
func PrintContinue(ctx context.Context, env *Env, c *mend.Store, f mend.Finding) error {
	command, why := FirstCommand(env, f)
	switch {
	case command != "":
		env.SetAnswer("next", command)
		env.Say("%s: %s", why, term.Command(command))
	case why != "":
		env.Say("%s.", why)
	}
	if f.Severity() != repair.Broken {
		env.PrintContinueCommand(ctx, c, f.Session, "it")
	}
	if why != "" {
		return ErrProblems
	}
	return nil
}

// FirstCommand returns the command that makes a session listed and usable again, "" for none, and the reason, "" if
// nothing is wrong with the session.
func FirstCommand(env *Env, f mend.Finding) (command, why string) {
	h := f.Session
	switch f.Shown() {
	case repair.NotLoaded:
		why := "The agent finds no conversation in it"
		if !env.IsKept(h.ID) {
			return "", why + ", and no copy of it was kept"
		}
		return env.CommandLine("restore", h.ID), why
	case repair.NoFolder:
		return env.CommandLine("move"), "Its folder is gone"
	case repair.Hidden:
		return env.CommandLine("restore", h.ID), "It is not listed"
	case repair.Archived:
		return env.CommandLine("restore", h.ID), "It is archived"
	case repair.TakenOver, repair.Listed:
	}
	if f.Severity() == repair.Broken {
		return env.CommandLine("fix", h.ID), "It is broken"
	}
	if f.Severity() == repair.Latent && slices.ContainsFunc(f.Diagnoses, func(d repair.Diagnosis) bool { return d.Fix != "" }) {
		return env.CommandLine("fix", h.ID, "--at-risk"), "It is " + show.AtRisk
	}
	return "", ""
}
