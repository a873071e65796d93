package codex

import (
	"fmt"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"mend/agent"
	"mend/agent/hookfile"
	"mend/internal/ownfile"
	"mend/internal/userdir"
)

// The folder of Codex, and the variable that may name another one.
const (
	variable = "CODEX_HOME"
	folder   = ".codex"
)

// Installer implements [agent.Agent].
func (Agent) Installer() agent.Installer {
	return hook{hookfile.File{
		Agent: Agent{}.Name(), Title: Agent{}.Title(), Variable: variable, Folder: folder, Name: "hooks.json", Project: "hooks.json",
		Offer:  "let Codex say when a resumed session is damaged",
		Done:   "When Codex starts next, it asks whether to trust the hooks: choose to trust them. Until then it runs none.",
		Repair: "end Codex, and run: mend repair %[1]s",
	}}
}

// A hook is a command in hooks.json.
type hook struct{ hookfile.File }

// Notes implements [agent.Installer].
func (h hook) Notes(text []byte, s agent.Setup) (notes []string) {
	if root, err := userdir.Of(variable, folder); err == nil {
		notes = settingsNotes(filepath.Join(root, "config.toml"))
	}
	return append(notes, h.File.Notes(text, s)...)
}

// maxSettings is the size in bytes of the largest settings that are read.
const maxSettings = 1 << 20

// settingsNotes returns what in the settings of Codex keeps it from running the hooks. What cannot be read says nothing.
func settingsNotes(file string) (notes []string) {
	f, err := ownfile.OpenPlain(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := ownfile.ReadAtMost(f, maxSettings)
	var settings struct {
		Features map[string]any
		Hooks    map[string]any
	}
	if err != nil || toml.Unmarshal(data, &settings) != nil {
		return nil
	}
	for _, name := range []string{"hooks", "codex_hooks"} {
		if settings.Features[name] == false {
			notes = append(notes, fmt.Sprintf("note: %s turns all hooks off: features.%s", file, name))
		}
	}
	delete(settings.Hooks, "state") // which hooks are trusted
	if len(settings.Hooks) > 0 {
		notes = append(notes, fmt.Sprintf("note: %s has hooks, too: Codex runs those of both files, and says so when it starts", file))
	}
	return notes
}

// Event implements [agent.Installer].
func (h hook) Event(input []byte) (agent.Event, error) {
	e, err := h.File.Event(input)
	e.Agent = Agent{}
	return e, err
}
