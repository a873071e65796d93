package claude

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mend/agent"
	"mend/agent/hookfile"
	"mend/change"
	"mend/internal/fail"
	"mend/internal/jsonedit"
	"mend/internal/userdir"
)

// Installer implements [agent.Agent].
func (Agent) Installer() agent.Installer {
	return hook{hookfile.File{Agent: Agent{}.Name(), Hooks: hooks}}
}

// Resume implements [agent.Agent].
func (Agent) Resume(id string) []string { return []string{"claude", "--resume", id} }

// A hook is a command in the settings of Claude Code.
type hook struct{ hookfile.File }

// hookTimeout is in seconds. Claude Code waits for the hook before it shows a session.
const hookTimeout = 10

// About implements [agent.Installer].
func (hook) About() agent.Installation {
	return agent.Installation{
		Part: "mend's hooks", Missing: "has no hook of mend",
		Done:   "Sessions of Claude Code that start from now on use it.",
		Undone: "Sessions of Claude Code that start from now on no longer use it.",
		Offer:  "let Claude Code say when a resumed session lost its past", Max: 16 << 20, Mode: 0o600, Folder: 0o700,
		Deadline: (hookTimeout - 2) * time.Second, // before Claude Code kills the hook
	}
}

// Path implements [agent.Installer]: the user's settings, or those of the current project that are the
// user's alone.
func (hook) Path(project bool) (string, error) {
	if project {
		dir, err := os.Getwd()
		return filepath.Join(dir, ".claude", "settings.local.json"), err
	}
	dir := os.Getenv("CLAUDE_CONFIG_DIR")
	if dir == "" {
		home, err := userdir.Home("CLAUDE_CONFIG_DIR")
		if err != nil {
			return "", fmt.Errorf("finding Claude Code's settings: %w", err)
		}
		dir = filepath.Join(home, ".claude")
	}
	if !filepath.IsAbs(dir) { // Claude Code resolves it in the folder in which it starts
		return "", fmt.Errorf("finding Claude Code's settings: CLAUDE_CONFIG_DIR is %q: set it to an absolute path", dir)
	}
	return filepath.Join(dir, "settings.json"), nil
}

// Accepts implements [agent.Installer].
func (hook) Accepts(s agent.Setup) error {
	switch {
	case s.Hooks != "":
		return fail.New(fail.Usage, "", "--hooks is for the plugin of OpenCode")
	case s.Store != "":
		return fail.New(fail.Usage, "", "--store is for the plugin of OpenCode: Claude Code tells its hook where the session is")
	}
	return nil
}

// hooks returns those that are to be installed. A session is loaded before SessionStart runs, so a repair at its
// end is what the next start loads, and one at the start what /resume loads.
func hooks(s agent.Setup) []hookfile.Hook {
	all := []hookfile.Hook{{Event: "SessionStart", Matcher: "resume", Timeout: hookTimeout}}
	if s.Repair || s.Keep {
		all = append(all, hookfile.Hook{Event: "SessionEnd", Timeout: hookTimeout})
	}
	if s.Keep {
		all = append(all, hookfile.Hook{Event: "Stop", Timeout: hookTimeout})
	}
	return all
}

// Notes implements [agent.Installer].
func (hook) Notes(text []byte, s agent.Setup) (notes []string) {
	if off, _ := jsonedit.Get(text, "disableAllHooks"); string(off) == "true" {
		notes = append(notes, `note: these settings turn all hooks off: "disableAllHooks"`)
	}
	if s.Keep {
		notes = append(notes, "When a turn ends, mend copies the session: \"mend restore\" brings it back if Claude Code deletes it.")
	}
	if s.Repair {
		return append(notes, "When a session ends, and when it is resumed, mend repairs it if that loses nothing. What was loaded before that is loaded again with /resume.")
	}
	return append(notes, "When a damaged session is resumed, mend says so, and how to repair it. With --repair it repairs the session.")
}

// Event implements [agent.Installer].
func (h hook) Event(input []byte) (agent.Event, error) {
	session, e, err := h.Read(input)
	if err == nil && filepath.Base(e.Path) != session+suffix {
		err = fmt.Errorf("reading the event: %q is no transcript of the session %q", e.Path, session)
	}
	e.Agent, e.Broken, e.Repaired = Agent{Except: Ancestors()}, brokenText, repairedText
	return e, err
}

// brokenText returns the message about a broken session. Claude Code shows it to the user, not
// to the model.
func brokenText(head change.Head, why string, fixable bool) string {
	text := "mend: this session is damaged. " + why
	if !fixable {
		return text + " mend scan " + head.ID + " says more."
	}
	return fmt.Sprintf("%s To repair it, type these two lines:\n! mend repair %s --force --yes\n/resume %s", text, head.ID, head.ID)
}

func repairedText(head change.Head, why, entry string) string {
	return fmt.Sprintf("mend repaired this session: %s Type /resume %s to load it as it is now. (Undo: mend undo %s --yes)", why, head.ID, entry)
}
