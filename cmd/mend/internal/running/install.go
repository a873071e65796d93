package running

import (
	"bytes"
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
one agent, which may have no sessions yet. The agent loads the plugin or hook at its next
start; with any plugin, OpenCode then installs npm packages, which takes about a minute
without a network. The flags --store and --hooks are kept when you install again.

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
	setup     agent.Setup
	remove    bool
	keepGiven bool // --keep was given
}

// installTargets returns the agent that the user named, or else each agent that has sessions on this machine, or for a
// removal each agent with an installation of mend.
func installTargets(env *frame.Env, remove bool) (found []agent.Agent) {
	if env.AgentName != "" || env.Opt.Store != "" {
		return env.Opt.Agents[:1]
	}
	for _, ag := range env.Opt.Agents {
		_, err := ag.Find()
		if ag.Installer() != nil && (remove && state(env, ag).State != agent.Absent || !remove && err == nil) {
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
	var all []*installation
	var changed []string
	for _, ag := range to {
		i, err := planInstall(env, ag, f, len(to) > 1)
		if err != nil {
			left = env.SkipStore(ctx, left, err)
			continue
		}
		if all = append(all, i); i.isChanged() {
			changed = append(changed, i.file(f.remove))
		}
	}
	if len(changed) > 0 {
		question := either(f.remove, "Install ", "Remove ") + strings.Join(changed, ", ") + "?"
		if err := frame.ConfirmChange(ctx, env.Terminal, f.WriteFlags, question, nil); err != nil {
			return err
		}
	}
	plugins, installed := []show.PluginJSON{}, false
	for _, i := range all {
		if err := i.apply(f); err != nil {
			left = env.SkipStore(ctx, left, err)
		} else {
			installed = !f.remove && !f.DryRun
		}
		plugins = append(plugins, state(env, i.agent))
	}
	env.SetAnswers(PluginsAnswer{plugins})
	if !installed {
		return left
	}
	if f.setup.Keep {
		left = fail.Worst(left, enableKeep(env))
	} else if !f.keepGiven {
		env.Say("To also copy each session when its turns end, so that it can be restored: %s", term.Command(env.CommandLine("install", "--keep")))
	}
	env.Say("Undo: %s", term.Command(env.CommandLine("install", "--remove")))
	return left
}

// either returns the word for an installation or for a removal.
func either(remove bool, install, removal string) string {
	if remove {
		return removal
	}
	return install
}

// An installation is the file through which an agent starts mend, with its present and its planned text.
type installation struct {
	*frame.Env
	agent.Installer
	agent      agent.Agent
	path       string
	now, after []byte // nil: there is no file
	mode       fs.FileMode
	several    bool // one of several installations
}

// openInstallation reads the file of an agent. After an error the path is set if it is known.
func openInstallation(env *frame.Env, a agent.Agent) (i *installation, err error) {
	i = &installation{Env: env, Installer: a.Installer(), agent: a}
	if i.Installer == nil {
		return i, frame.Usagef("mend has no plugin for %s", a.Title())
	}
	if i.path, err = i.Path(); err == nil {
		err = i.read()
	}
	return i, err
}

// planInstall plans to install or remove the file that starts mend for an agent.
func planInstall(env *frame.Env, ag agent.Agent, f installFlags, several bool) (*installation, error) {
	i, err := openInstallation(env, ag)
	i.several = several
	switch {
	case err != nil:
	case f.remove:
		i.after, err = i.Uninstall(i.now)
	default:
		i.after, err = i.install(f.setup)
	}
	return i, i.name(err)
}

// name adds the path to an error. Without a path, the error says why that is unknown.
func (i *installation) name(err error) error {
	if err == nil || i.path == "" {
		return err
	}
	return fmt.Errorf("installing %s: %w", i.path, err)
}

// isChanged reports whether the plan changes the file.
func (i *installation) isChanged() bool {
	return !bytes.Equal(i.now, i.after) || (i.now == nil) != (i.after == nil)
}

// apply changes the file, and prints what was done.
func (i *installation) apply(f installFlags) error {
	about := i.Installation()
	if f.remove {
		if status, _ := i.Status(i.now, agent.Setup{}); status.State == agent.Absent {
			i.Say("%s %s.", term.ShortenHome(i.path), about.Missing)
			return nil
		}
	}
	if f.DryRun {
		i.Say("This would %s%s. Nothing was written.", either(f.remove, "install ", "remove "), i.file(f.remove))
		return nil
	}
	if err := i.write(); err != nil {
		return i.name(err)
	}
	if f.remove {
		i.Say("%s %s. %s", term.Good("Removed"), i.file(true), about.Undone)
		return nil
	}
	i.Say("%s %s. %s", term.Good("Installed"), i.file(false), about.Done)
	for _, text := range i.Warnings(i.after) {
		i.Note(text)
	}
	return nil
}

// file names the file in a sentence: "PATH", or "mend's hooks in PATH".
func (i *installation) file(remove bool) string {
	path := term.ShortenHome(i.path)
	if i.several {
		path += " for " + i.agent.Title()
	}
	if part := i.Installation().Part; part != "" {
		return part + " " + either(remove, "in", "from") + " " + path
	}
	return path
}

// read reads the text and the mode of the file. A new file has the mode of the agent's files.
func (i *installation) read() error {
	about := i.Installation()
	if about.Part != "" { // otherwise the file is mend's own
		if err := ownfile.CheckEditable(i.path); err != nil {
			return err
		}
	}
	f, err := ownfile.OpenPlain(i.path)
	if errors.Is(err, fs.ErrNotExist) {
		i.mode = about.Mode
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	i.mode = info.Mode().Perm()
	if i.now, err = ownfile.ReadAtMost(f, about.Max); err != nil {
		return fmt.Errorf("reading %s: %w", i.path, err)
	}
	return nil
}

// write replaces the file, or removes it if the plan has no text.
func (i *installation) write() error {
	switch {
	case !i.isChanged():
		return nil
	case i.after == nil:
		return os.Remove(i.path)
	}
	dir := filepath.Dir(i.path) // of another program
	if err := ownfile.CheckUser(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, i.Installation().Folder); err != nil {
		return err
	}
	return atomicfile.Replace(i.path, i.now, i.after, i.mode)
}

// install returns the text with mend. If there are several agents, each gets only the flags that it supports.
func (i *installation) install(s agent.Setup) ([]byte, error) {
	s, err := i.setup(s)
	if err != nil {
		return nil, err
	}
	if err = i.Accepts(s); err != nil && i.several {
		s.Repair, s.Hooks = false, ""
		err = i.Accepts(s)
	}
	if err != nil {
		return nil, err
	}
	return i.Install(i.now, s)
}

// setup adds the version, the store and the program to a setup.
func (i *installation) setup(s agent.Setup) (_ agent.Setup, err error) {
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
	info, err := os.Stat(exe)
	started, notFound := exec.LookPath(os.Args[0])
	if err != nil || notFound != nil {
		return exe, nil
	}
	if link, err := os.Stat(started); err != nil || !os.SameFile(info, link) {
		return exe, nil
	}
	return filepath.Abs(started)
}

// A PluginsAnswer is the answer of install.
type PluginsAnswer struct {
	Plugins []show.PluginJSON `json:"plugins"`
}

// state returns the state of the installation for an agent: absent for one without an installer.
func state(env *frame.Env, a agent.Agent) show.PluginJSON {
	p := show.PluginJSON{Agent: a.Name(), Status: agent.Status{State: agent.Absent}}
	if a.Installer() == nil {
		return p
	}
	i, err := openInstallation(env, a)
	s, noProgram := i.setup(agent.Setup{})
	if errors.Is(noProgram, errTemporary) {
		noProgram = nil
	}
	if p.Path = i.path; err == nil {
		p.Status, err = i.Status(i.now, s)
	}
	if err = errors.Join(err, noProgram); err != nil {
		p.State, p.Why = agent.Unreadable, err.Error()
	}
	return p
}
