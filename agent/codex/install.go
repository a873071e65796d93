package codex

import (
	"fmt"
	"path/filepath"

	"mend/agent"
	"mend/agent/hookfile"
	"mend/internal/userdir"
)

// The folder of Codex, and the environment variable for another one.
const (
	variable = "CODEX_HOME"
	folder   = ".codex"
)

// Installer implements [agent.Agent].
func (Agent) Installer() agent.Installer {
	return hookfile.File{
		Agent: Agent{}.Name(), Title: Agent{}.Title(), Variable: variable, Folder: folder, Name: "hooks.json",
		Offer: "let Codex report when a resumed session is damaged",
		Done: "When Codex starts next, it asks whether to trust the hooks: choose to trust them. Until then it " +
			"runs none.",
		Repair:   "end Codex, and run: mend fix %[1]s",
		Opener:   func() agent.Agent { return Agent{} },
		Disabled: func([]byte) []string { return warnings() },
	}
}

// warnings returns the settings of Codex that keep it from running the hooks. It ignores unreadable files.
func warnings() (notes []string) {
	root, err := userdir.Agent(variable, folder)
	if err != nil {
		return nil
	}
	file := filepath.Join(root, config)
	settings, err := readSettings(file)
	if err != nil {
		return nil
	}
	for _, name := range []string{"hooks", "codex_hooks"} {
		if settings.Features[name] == false {
			notes = append(notes, fmt.Sprintf("%s turns all hooks off: features.%s", file, name))
		}
	}
	delete(settings.Hooks, "state") // has no hooks: it records which ones are trusted
	if len(settings.Hooks) > 0 {
		notes = append(notes, fmt.Sprintf("%s has hooks, too: Codex runs the hooks of both files, and reports that "+
			"when it starts", file))
	}
	return notes
}
