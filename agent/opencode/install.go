package opencode

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"mend/agent"
	"mend/internal/fail"
	"mend/internal/userdir"
)

//go:embed plugin.js
var pluginSource string

// pluginFile is the plugin's file name in OpenCode's folder of plugins.
const pluginFile = "mend.js"

// pluginHeader matches the first line of a plugin that mend wrote.
var pluginHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^// mend-plugin protocol=(\d+) version=(\S+)\n`)
})

// Installer implements [agent.Agent].
func (a Agent) Installer() agent.Installer { return plugin{program: a.program()} }

// Resume implements [agent.Agent].
func (a Agent) Resume(id string) []string { return []string{a.Name(), "-s", id} }

// Reload implements [agent.Agent]. The agent reads the session again for each prompt.
func (Agent) Reload(string) string { return "" }

// A plugin is a single file that belongs to mend.
type plugin struct{ program *program }

// Warnings implements [agent.Installer].
func (plugin) Warnings([]byte) []string { return nil }

// Event implements [agent.Installer]. The plugin talks to one process of mend until OpenCode ends.
func (plugin) Event([]byte) (agent.Event, error) { return agent.Event{}, errors.ErrUnsupported }

func (p plugin) Installation() agent.Installation {
	return agent.Installation{
		Missing: "is not installed", Done: "Restart " + p.program.title + " to apply this.", Undone: "Restart " +
			p.program.title + " to apply this.",
		Offer: "let " + p.program.title + " repair sessions as they break", Max: 1 << 20, Mode: 0o644, Folder: 0o755,
	}
}

// Path implements [agent.Installer]. On every system OpenCode reads plugins from $XDG_CONFIG_HOME or ~/.config, and so does
// Kilo.
func (p plugin) Path() (string, error) {
	for _, place := range []struct{ variable, subdir string }{
		{strings.ToUpper(p.program.name) + "_CONFIG_DIR", ""},
		{"XDG_CONFIG_HOME", p.program.name},
	} {
		dir := os.Getenv(place.variable)
		if dir != "" && !filepath.IsAbs(dir) { // OpenCode resolves it against the folder that it is started in
			return "", fmt.Errorf("finding %s's folder of plugins: %s is %q: set it to an absolute path", p.program.title,
				place.variable, dir)
		}
		if dir != "" {
			return filepath.Join(dir, place.subdir, "plugins", pluginFile), nil
		}
	}
	home, err := userdir.Home("XDG_CONFIG_HOME")
	if err != nil {
		return "", fmt.Errorf("finding %s's folder of plugins: %w", p.program.title, err)
	}
	return filepath.Join(home, ".config", p.program.name, "plugins", pluginFile), nil
}

func (plugin) Accepts(s agent.Setup) error {
	if s.Repair {
		return fail.New(fail.Usage, "", "--repair is for --agent claude: the plugin repairs sessions unless the setting "+
			"skip has preflight")
	}
	return nil
}

func (p plugin) Install(text []byte, s agent.Setup) ([]byte, error) {
	installed, err := readPlugin(text, s)
	if err != nil {
		return nil, err
	}
	s.Store, s.Hooks = cmp.Or(s.Store, installed.Store), cmp.Or(s.Hooks, installed.Hooks)
	return p.text(s)
}

// text returns the text of the plugin that starts mend.
func (p plugin) text(s agent.Setup) ([]byte, error) {
	args := []string{s.Program, "hook"}
	if p.program != &openCode {
		args = append(args, "--agent", p.program.name)
	}
	if s.Store != "" {
		args = append(args, "--store", s.Store)
	}
	if s.Hooks != "" {
		args = append(args, "--set", "hooks="+s.Hooks)
	}
	for _, arg := range args {
		if !utf8.ValidString(arg) {
			return nil, fail.New(fail.Usage, "", "the plugin cannot name %q, which is not UTF-8: rename it", arg)
		}
	}
	command, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	return []byte(strings.NewReplacer("__COMMAND__", string(command), "__VERSION__", s.Version).Replace(pluginSource)), nil
}

func (plugin) Uninstall(text []byte) ([]byte, error) {
	_, err := readPlugin(text, agent.Setup{})
	return nil, err
}

// pluginCommandLine matches the command of a plugin.
var pluginCommandLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^const COMMAND = (\[.*\])$`)
})

// readPlugin returns the options that a plugin was installed with.
func readPlugin(text []byte, s agent.Setup) (status agent.Status, err error) {
	if text == nil {
		return agent.Status{State: agent.Absent}, nil
	}
	header := pluginHeader().FindSubmatch(text)
	if header == nil {
		return agent.Status{State: agent.Foreign},
			fail.New(fail.Refused, "move it away", "mend did not write this file")
	}
	status = agent.Status{State: agent.Other, Version: string(header[2])}
	var args []string
	m := pluginCommandLine().FindSubmatch(text)
	if m == nil || json.Unmarshal(m[1], &args) != nil || len(args) < 2 || args[1] != "hook" {
		return status, nil
	}
	for pair := range slices.Chunk(args[2:], 2) {
		switch hooks, found := strings.CutPrefix(pair[len(pair)-1], "hooks="); {
		case pair[0] == "--store" && len(pair) == 2:
			status.Store = pair[1]
		case pair[0] == "--set" && found && slices.Contains(s.Values, hooks):
			status.Hooks = hooks
		}
	}
	return status, nil
}

func (p plugin) Status(text []byte, s agent.Setup) (agent.Status, error) {
	status, err := readPlugin(text, s)
	if err != nil || status.State == agent.Absent {
		return status, nil //nolint:nilerr // the state shows it
	}
	s.Store, s.Hooks = status.Store, status.Hooks
	want, err := p.text(s)
	if err == nil && bytes.Equal(text, want) {
		status.State = agent.Current
	}
	return status, err
}
