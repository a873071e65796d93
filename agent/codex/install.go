package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/BurntSushi/toml"

	"mend/agent"
	"mend/agent/hookfile"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/ownfile"
)

// Installer implements [agent.Agent].
func (Agent) Installer() agent.Installer {
	return hook{hookfile.File{Agent: Agent{}.Name(), Hooks: func(s agent.Setup) []hookfile.Hook {
		all := []hookfile.Hook{{Event: "SessionStart", Matcher: "resume", Timeout: hookTimeout}}
		if s.Keep {
			all = append(all, hookfile.Hook{Event: "Stop", Timeout: hookTimeout})
		}
		return all
	}}}
}

// A hook is a command in hooks.json.
type hook struct{ hookfile.File }

// hookTimeout is in seconds. Codex waits for the hook before it sends a prompt.
const hookTimeout = 10

// About implements [agent.Installer].
func (hook) About() agent.Installation {
	return agent.Installation{
		Part: "mend's hooks", Missing: "has no hook of mend",
		Done:   "When Codex starts next, it asks whether to trust the hooks: choose to trust them. Until then it runs none.",
		Undone: "Sessions of Codex that start from now on no longer use it.",
		Offer:  "let Codex say when a resumed session is damaged", Max: 16 << 20, Mode: 0o600, Folder: 0o700,
		Deadline: (hookTimeout - 2) * time.Second, // before Codex kills the hook
	}
}

// Path implements [agent.Installer]: the user's hooks, or those of the current project.
func (hook) Path(project bool) (string, error) {
	root, err := home()
	if project {
		root, err = os.Getwd()
		root = filepath.Join(root, ".codex")
	}
	if err == nil && !filepath.IsAbs(root) { // Codex resolves it in the folder in which it starts
		err = fmt.Errorf("CODEX_HOME is %q: set it to an absolute path", root)
	}
	if err != nil {
		return "", fmt.Errorf("finding Codex's hooks: %w", err)
	}
	return filepath.Join(root, "hooks.json"), nil
}

// Accepts implements [agent.Installer].
func (hook) Accepts(s agent.Setup) error {
	switch {
	case s.Hooks != "":
		return fail.New(fail.Usage, "", "--hooks is for the plugin of OpenCode")
	case s.Store != "":
		return fail.New(fail.Usage, "", "--store is for the plugin of OpenCode: Codex tells its hook where the session is")
	case s.Repair:
		return fail.New(fail.Usage, "mend watch repairs a session when Codex has closed it", "--repair is not for Codex: it has the session open while it runs a hook")
	}
	return nil
}

// Notes implements [agent.Installer].
func (hook) Notes(_ []byte, s agent.Setup) (notes []string) {
	if root, err := home(); err == nil {
		notes = append(notes, settingsNotes(filepath.Join(root, "config.toml"))...)
	}
	if s.Keep {
		notes = append(notes, "When a turn ends, mend copies the session: \"mend restore\" brings it back if it is deleted or cut.")
	}
	return append(notes, "When a damaged session is resumed, mend says so, and how to repair it.")
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
	_, e, err := h.Read(input)
	e.Agent, e.Broken = Agent{}, func(head change.Head, why string, fixable bool) string {
		if !fixable {
			return "mend: this session is damaged. " + why + " mend scan " + head.ID + " says more."
		}
		return "mend: this session is damaged. " + why + " To repair it, end Codex, and run: mend repair " + head.ID
	}
	return e, err
}
