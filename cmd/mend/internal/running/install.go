package running

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"mend/agent"
	"mend/cmd/mend/internal/frame"
	"mend/cmd/mend/internal/show"
	"mend/internal/atomicfile"
	"mend/internal/config"
	"mend/internal/fail"
	"mend/internal/mend"
	"mend/internal/ownfile"
	"mend/internal/term"
)

// Install returns the verb install.
func Install(env *frame.Env) *cobra.Command {
	var f installFlags
	cmd := &cobra.Command{
		Use: "install", Short: "Install what repairs sessions while your agent runs",
		Aliases: []string{"plugin"}, // its former name, with the argument install or uninstall
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.CalledAs() != "plugin" {
				return frame.NoArgs(cmd, args)
			}
			if f.remove = slices.Equal(args, []string{"uninstall"}); f.remove || slices.Equal(args, []string{"install"}) {
				return nil
			}
			return fail.New(fail.Usage, "\"mend\" shows what is installed", "plugin is now \"mend install\" and \"mend install --remove\"")
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.keepGiven = cmd.Flags().Changed("keep")
			to := installTargets(env, f.remove)
			switch {
			case len(to) == 0 && f.remove:
				to = env.Opt.Agents[:1] // to report that it is not installed
			case len(to) == 0:
				_, err := mend.Open(env.Opt)
				return fail.WithHint(err, "for an agent that has no sessions yet: mend install --agent NAME")
			}
			return runInstall(cmd.Context(), env, to, f)
		},
		Long: `For OpenCode and Kilo, install writes a plugin: one small JavaScript file, which passes errors
of sessions to "mend hook", and needs no server port. "mend hook" decides what to repair. For
Claude Code, install adds a hook to its settings, and for Codex to hooks.json; Codex asks you
to trust the hook at its next start. Install changes no other bytes of these files, and
--remove restores the files.

Install does this for each agent with sessions on this machine, and asks once; --agent names
one agent, which may have no sessions yet. It installs for all projects, or with --project
for the current one. The agent loads the plugin or hook at its next start; with any plugin,
OpenCode then installs npm packages, which takes about a minute without a network. The flags
--store and --hooks are kept when you install again.

The plugin repairs a broken session before each prompt, so that you see no error, but only if
the repair loses nothing that can be read. What only the provider can detect is repaired after
its error; then send your prompt again. Each repair can be undone ("mend log", "mend undo").
"mend config" lists the settings.`,
		Example: `  mend install
  mend install --hooks all            also guard writes, change models that fail, and more (docs/running.md)
  mend install --agent kilo           only for Kilo
  mend install --agent claude --keep  also copy each session (mend keep --help)
  mend install --remove`,
	}
	cmd.Flags().BoolVar(&f.project, "project", false, "only for the current project")
	cmd.Flags().BoolVar(&f.remove, "remove", false, "remove what install wrote")
	f.Add(cmd, "")
	cmd.Flags().BoolVar(&f.setup.Repair, "repair", false,
		"for Claude Code: repair sessions that the provider would refuse, when they end or are resumed")
	cmd.Flags().BoolVar(&f.setup.Keep, "keep", false,
		"copy each session when one of its turns ends, so that mend restore can bring it back (mend keep)")
	cmd.Flags().StringVar(&f.setup.Hooks, "hooks", "",
		"use this `VALUE` of the setting hooks with this plugin: recovery or all (default: as installed before)")
	complete := cobra.FixedCompletions(config.HooksValues(), cobra.ShellCompDirectiveNoFileComp)
	_ = cmd.RegisterFlagCompletionFunc("hooks", complete)
	return cmd
}

type installFlags struct {
	frame.WriteFlags
	setup           agent.Setup
	project, remove bool
	keepGiven       bool // --keep was given
}

// installTargets returns the agent that the user named, or else each agent that has sessions on this machine, or for a
// removal each agent with an installation of mend.
func installTargets(env *frame.Env, remove bool) (found []agent.Agent) {
	if env.AgentName != "" || env.Opt.Store != "" {
		return env.Opt.Agents[:1]
	}
	for _, ag := range env.Opt.Agents {
		_, err := ag.Find()
		installed := slices.ContainsFunc(states(env, ag), func(p show.PluginJSON) bool { return p.State != agent.Absent })
		if ag.Installer() != nil && (remove && installed || !remove && err == nil) {
			found = append(found, ag)
		}
	}
	return found
}

// runInstall installs or removes the files that start mend, for several agents after one question. If it
// fails for one agent, it continues with the others.
func runInstall(ctx context.Context, env *frame.Env, to []agent.Agent, f installFlags) (left error) {
	if f.setup.Hooks != "" && !slices.Contains(config.HooksValues(), f.setup.Hooks) {
		return frame.Usagef("--hooks: want %s, got %q", strings.Join(config.HooksValues(), " or "), f.setup.Hooks)
	}
	f.setup.Keep = f.setup.Keep || !f.keepGiven && frame.KeepsAutomatically()
	var all []*installPlan
	var changed []string
	failed := func(i installation, err error) error {
		if i.path != "" { // otherwise the error says why the path is unknown
			err = fmt.Errorf("installing %s: %w", i.path, err)
		}
		if len(to) > 1 {
			env.Note(i.agent.Title() + ": " + err.Error())
			left = fail.Worst(left, err)
			return nil
		}
		return err
	}
	for _, ag := range to {
		p, err := planInstall(env, ag, f, len(to) > 1)
		if err == nil && !p.missing && !bytes.Equal(p.now, p.after) {
			changed = append(changed, p.file())
		}
		if err == nil {
			all = append(all, p)
		} else if err = failed(p.installation, err); err != nil {
			return err
		}
	}
	if len(changed) > 0 {
		question := either(f.remove, "Install ", "Remove ") + strings.Join(changed, ", ") + "?"
		if err := frame.ConfirmChange(ctx, env.Terminal, f.WriteFlags, question, nil); err != nil {
			return err
		}
	}
	if !f.remove && !f.keepGiven && !f.setup.Keep {
		keep, err := askKeep(ctx, env, f.WriteFlags)
		if err != nil {
			return err
		}
		f.setup.Keep = keep
	}
	plugins, installed := []show.PluginJSON{}, false
	for _, p := range all {
		if err := p.apply(f); err == nil {
			installed = !f.remove && !f.DryRun
		} else if err = failed(p.installation, err); err != nil {
			return err
		}
		plugins = append(plugins, states(env, p.agent)...)
	}
	env.SetAnswers(PluginsAnswer{plugins})
	if !installed {
		return left
	}
	if f.setup.Keep {
		left = fail.Worst(left, enableKeep(env))
	}
	undo := []string{"install", "--remove"}
	if f.project {
		undo = append(undo, "--project")
	}
	env.Say("Undo: %s", term.Command(env.CommandLine(undo...)))
	return left
}

// An installPlan is the change of one file.
type installPlan struct {
	installation
	setup              agent.Setup
	before, now, after []byte // before: the file without mend
	mode               fs.FileMode
	remove, missing    bool // missing: nothing to remove
}

// planInstall plans to install or remove the file that starts mend for an agent. After an error the plan
// still has the path.
func planInstall(env *frame.Env, ag agent.Agent, f installFlags, several bool) (p *installPlan, err error) {
	p = &installPlan{remove: f.remove}
	p.installation, err = installationOf(env, ag, f.project)
	p.several = several
	if err != nil {
		return p, err
	}
	if !f.remove {
		if err := p.complete(f.setup); err != nil {
			return p, err
		}
	}
	if p.now, p.mode, err = p.read(); err != nil {
		return p, err
	}
	p.before = p.now
	if f.remove {
		if p.before, err = p.Uninstall(p.now); err != nil {
			return p, err
		}
		status, _ := p.Status(p.now, agent.Setup{})
		p.missing = status.State == agent.Absent
	}
	p.after = p.before
	if !f.remove {
		p.after, err = p.Install(p.before, p.setup)
	}
	return p, err
}

// complete completes the setup. If there are several agents, each gets only the flags that it supports.
func (p *installPlan) complete(s agent.Setup) (err error) {
	if p.setup, err = p.installation.setup(s); err != nil {
		return err
	}
	if err = p.Accepts(p.setup); err != nil && p.several {
		p.setup.Repair, p.setup.Hooks = false, ""
		err = p.Accepts(p.setup)
	}
	return err
}

// apply changes the file, and prints what was done.
func (p *installPlan) apply(f installFlags) (err error) {
	if p.missing {
		p.Say("%s %s.", term.ShortenHome(p.path), p.Installation().Missing)
		return nil
	}
	if !f.remove {
		p.setup.Keep = f.setup.Keep
		if p.after, err = p.Install(p.before, p.setup); err != nil {
			return err
		}
	}
	if f.DryRun {
		p.Say("This would %s%s. Nothing was written.", either(f.remove, "install ", "remove "), p.file())
		return nil
	}
	if err = p.write(p.now, p.after, p.mode); err != nil {
		return err
	}
	about := p.Installation()
	if f.remove {
		p.Say("%s %s. %s", term.Good("Removed"), p.file(), about.Undone)
		return nil
	}
	p.Say("%s %s. %s", term.Good("Installed"), p.file(), about.Done)
	for _, text := range p.Warnings(p.after) {
		p.Note(text)
	}
	p.noteSettings(p.after)
	return nil
}

// either returns the word for an installation or for a removal.
func either(remove bool, install, removal string) string {
	if remove {
		return removal
	}
	return install
}

// file names the file in a sentence: "PATH", or "mend's hooks in PATH".
func (p *installPlan) file() string {
	path := term.ShortenHome(p.path)
	if p.several {
		path += " for " + p.agent.Title()
	}
	if part := p.Installation().Part; part != "" {
		return part + " " + either(p.remove, "in", "from") + " " + path
	}
	return path
}

// An installation is the file through which an agent starts mend.
type installation struct {
	*frame.Env
	agent.Installer
	agent   agent.Agent
	path    string
	several bool // one of several installations
}

// installationOf returns the installation of an agent. If only the path is unknown, everything else is set.
func installationOf(env *frame.Env, a agent.Agent, project bool) (i installation, err error) {
	i = installation{Env: env, Installer: a.Installer(), agent: a}
	if i.Installer == nil {
		return i, frame.Usagef("mend has no plugin for %s", a.Title())
	}
	i.path, err = i.Path(project)
	return i, err
}

// read returns the text and the mode of the file, or nil and the mode for a new file.
func (i installation) read() ([]byte, fs.FileMode, error) {
	about := i.Installation()
	if about.Part != "" { // otherwise the file is mend's own
		if err := ownfile.CheckEditable(i.path); err != nil {
			return nil, 0, err
		}
	}
	f, err := ownfile.OpenPlain(i.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, about.Mode, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	text, err := ownfile.ReadAtMost(f, about.Max)
	if err != nil {
		return nil, 0, fmt.Errorf("reading %s: %w", i.path, err)
	}
	return text, info.Mode().Perm(), nil
}

// write replaces the file; nil removes it.
func (i installation) write(now, text []byte, mode fs.FileMode) error {
	switch {
	case bytes.Equal(now, text) && (now == nil) == (text == nil):
		return nil
	case text == nil:
		return os.Remove(i.path)
	}
	dir := filepath.Dir(i.path) // of another program
	if err := ownfile.CheckUser(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, i.Installation().Folder); err != nil {
		return err
	}
	return atomicfile.Replace(i.path, now, text, mode)
}

// noteSettings prints notes about the settings, for an agent that mend serves until it ends.
func (i installation) noteSettings(text []byte) {
	if i.Installation().Deadline > 0 {
		return // mend does not serve it
	}
	for _, note := range frame.SettingsNotes() {
		i.Say("%s", term.Faint("Settings: "+note))
	}
	if status, _ := i.Status(text, agent.Setup{Values: config.HooksValues()}); status.Hooks == config.HooksAll {
		i.Say("%s", term.Faint("All hooks are on unless a setting turns one off: "+strings.Join(config.Switches(), ", ")+
			". Other models are used if fallbackModels has some."))
	}
}

// setup adds the version, the store and the program to a setup.
func (i installation) setup(s agent.Setup) (_ agent.Setup, err error) {
	s.Version, s.Values = i.Opt.Journal.Version, config.HooksValues()
	if i.Opt.Store != "" {
		if s.Store, err = filepath.Abs(i.Opt.Store); err != nil {
			return s, err
		}
	}
	s.Program, err = installedProgram()
	return s, err
}

// temporaryProgram matches the path of a program that "go run" removes at its end.
var temporaryProgram = regexp.MustCompile(`[/\\]go-build\d+[/\\]b\d+[/\\]exe[/\\]`)

var errTemporary error = fail.New(fail.Refused, "",
	"this mend was started with \"go run\" and is removed when it ends: install it, "+
		"for example with \"go install ./cmd/mend\", and run it from there")

// installedProgram returns the path of this program for hooks: if a link leads to the program, that link, because a
// package manager updates it.
func installedProgram() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	if temporaryProgram.MatchString(exe) {
		return "", errTemporary
	}
	started, err := exec.LookPath(os.Args[0])
	if err == nil {
		started, err = filepath.Abs(started)
	}
	if err != nil {
		return exe, nil
	}
	a, err1 := os.Stat(exe)
	b, err2 := os.Stat(started)
	if err1 != nil || err2 != nil || !os.SameFile(a, b) {
		return exe, nil
	}
	return started, nil
}

// A PluginsAnswer is the answer of install.
type PluginsAnswer struct {
	Plugins []show.PluginJSON `json:"plugins"`
}

// states returns the states of the global and the project's installation for an agent.
func states(env *frame.Env, a agent.Agent) (all []show.PluginJSON) {
	for _, place := range []string{"global", "project"} {
		i, err := installationOf(env, a, place == "project")
		if i.Installer == nil {
			return nil
		}
		p := show.PluginJSON{Agent: a.Name(), Place: place, Path: i.path, State: agent.Absent}
		var text []byte
		if err == nil {
			text, _, err = i.read()
		}
		s, noProgram := i.setup(agent.Setup{})
		if errors.Is(noProgram, errTemporary) {
			noProgram = nil
		}
		var status agent.Status
		if err == nil {
			status, err = i.Status(text, s)
		}
		p.State, p.Version = cmp.Or(status.State, p.State), status.Version
		p.Store, p.Hooks, p.Repair, p.Keep = status.Store, status.Hooks, status.Repair, status.Keep
		if err = errors.Join(err, noProgram); err != nil {
			p.State, p.Why = agent.Unreadable, err.Error()
		}
		all = append(all, p)
	}
	return all
}
