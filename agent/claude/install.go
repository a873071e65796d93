package claude

import (
	"fmt"

	"mend/agent"
	"mend/agent/hookfile"
	"mend/change"
	"mend/internal/jsonedit"
)

// The folder of Claude Code, and the environment variable for another one.
const (
	variable = "CLAUDE_CONFIG_DIR"
	folder   = ".claude"
)

// Installer implements [agent.Agent].
func (Agent) Installer() agent.Installer {
	return hookfile.File{
		Agent: Agent{}.Name(), Title: Agent{}.Title(), Variable: variable, Folder: folder, Name: "settings.json",
		AtEnd: true, Marked: true,
		Offer:  "let Claude Code report when a resumed session has lost its history",
		Done:   "Sessions of Claude Code that start from now on use it.",
		Repair: "type these two lines:\n! mend fix %[1]s --force --yes\n/resume %[1]s",
		Opener: func() agent.Agent { return Agent{Except: Ancestors()} },
		Disabled: func(text []byte) []string {
			if disabled, _ := jsonedit.Get(text, "disableAllHooks"); string(disabled) == "true" {
				return []string{`these settings turn all hooks off: "disableAllHooks"`}
			}
			return nil
		},
		// Claude Code shows its messages to the user, not to the model.
		Repaired: func(head change.Head, why, entry string) string {
			return fmt.Sprintf("mend repaired this session: %s Type /resume %s to load it as it is now. (Undo: mend undo "+
				"%s --yes)", why, head.ID, entry)
		},
	}
}
