package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"mend/agent"
	"mend/internal/atomicfile"
	"mend/internal/config"
	"mend/internal/fail"
	"mend/internal/ownfile"
	"mend/internal/term"
)

// pluginVerb is the former name of install.
func pluginVerb(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Show where the plugin is installed: mend",
		Args:  noArgs,
		RunE:  func(*cobra.Command, []string) error { return pluginStatus(env) },
	}
	cmd.AddCommand(
		installCommand(env, "install", "Install the plugin: mend install", nil),
		pluginCommand(env, "uninstall", "Remove the plugin: mend install --remove", func(ctx context.Context, i installation, f writeFlags) error { return i.uninstall(ctx, f) }),
		&cobra.Command{
			Use: "status", Short: "Show where the plugin is installed, and its version", Args: noArgs,
			RunE: func(*cobra.Command, []string) error { return pluginStatus(env) },
		},
	)
	return cmd
}

func installVerb(env *environment) *cobra.Command {
	var remove bool
	cmd := installCommand(env, "install", "Install what repairs sessions while your agent runs", &remove)
	cmd.Flags().BoolVar(&remove, "remove", false, "remove what install wrote")
	return cmd
}

// installCommand returns the command that installs the plugin, or removes it if *remove is set.
func installCommand(env *environment, use, short string, remove *bool) *cobra.Command {
	var s agent.Setup
	var install *cobra.Command
	install = pluginCommand(env, use, short, func(ctx context.Context, i installation, f writeFlags) error {
		if remove != nil && *remove {
			return i.uninstall(ctx, f)
		}
		return i.install(ctx, s, f, install.Flags().Changed("keep"))
	})
	install.Long = `For OpenCode and Kilo this is one small JavaScript file in the agent's folder of plugins. It
passes errors of sessions to "mend hook", which decides what to repair. No server port is
needed. For Claude Code it is a hook in its settings, for Codex one in hooks.json, which asks
you to trust it at its next start. All other bytes of the settings stay as they are, and
--remove restores them.

Install writes the plugin for all projects, or with --project for the current one. OpenCode
loads it at its next start. The flags --store and --hooks are kept when it is installed again.

Before each prompt the plugin repairs a broken session, so that you do not see an error. It
does so only if that loses nothing that can be read. What only the provider can judge is
repaired after its error; then send your prompt again. Each repair can be undone ("mend log",
"mend undo"). "mend config" lists the settings, "mend" shows what the plugin did.`
	install.Example = `  mend install
  mend install --hooks all            also guard writes, change models that fail, and more (docs/hooks.md)
  mend install --agent kilo           for Kilo
  mend install --agent claude --keep  also copy each session (mend keep --help)
  mend install --remove`
	install.Flags().BoolVar(&s.Repair, "repair", false, "with --agent claude: repair sessions that the provider would refuse, when they end and when they are resumed")
	install.Flags().BoolVar(&s.Keep, "keep", false, "copy each session when one of its turns ends, so that mend restore can bring it back (mend keep)")
	install.Flags().StringVar(&s.Hooks, "hooks", "", "use this `VALUE` of the setting hooks with this plugin: recovery or all (default: as installed before)")
	_ = install.RegisterFlagCompletionFunc("hooks", cobra.FixedCompletions(config.HooksValues(), cobra.ShellCompDirectiveNoFileComp))
	return install
}

func pluginCommand(env *environment, use, short string, run func(ctx context.Context, i installation, f writeFlags) error) *cobra.Command {
	var f writeFlags
	var project bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			i, err := installationOf(env, env.opt.Agents[0], project)
			if err != nil {
				return err
			}
			if err := run(cmd.Context(), i, f); err != nil {
				return fmt.Errorf("%sing %s: %w", use, i.path, err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "only for the current project")
	f.add(cmd, "")
	return cmd
}

// An installation is the file with which an agent starts mend.
type installation struct {
	*environment
	agent.Installer
	agent agent.Agent
	path  string
}

// installationOf returns the installation of an agent. If the error is that of finding the path, it has everything else.
func installationOf(env *environment, of agent.Agent, project bool) (i installation, err error) {
	i = installation{environment: env, Installer: of.Installer(), agent: of}
	if i.Installer == nil {
		return i, usagef("mend has no plugin for %s", of.Title())
	}
	i.path, err = i.Path(project)
	return i, err
}

// read returns the text of the file and its mode, nil if there is none.
func (i installation) read() ([]byte, fs.FileMode, error) {
	about := i.About()
	if about.Part != "" { // else the file is mend's own
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

// write replaces the file; a nil text removes it.
func (i installation) write(now, text []byte, mode fs.FileMode) error {
	switch {
	case bytes.Equal(now, text) && (now == nil) == (text == nil):
		return nil
	case text == nil:
		return os.Remove(i.path)
	}
	if err := makeFolder(filepath.Dir(i.path), i.About().Folder); err != nil {
		return err
	}
	return atomicfile.Replace(i.path, now, text, mode)
}

// install adds mend to the file.
func (i installation) install(ctx context.Context, s agent.Setup, f writeFlags, keepSaid bool) (err error) {
	if s.Hooks != "" && !slices.Contains(config.HooksValues(), s.Hooks) {
		return usagef("--hooks: want %s, got %q", strings.Join(config.HooksValues(), " or "), s.Hooks)
	}
	s.Keep = s.Keep || !keepSaid && loadsKeep()
	s, err = i.setup(s)
	if err == nil {
		err = i.Accepts(s)
	}
	if err != nil {
		return err
	}
	now, mode, err := i.read()
	if err != nil {
		return err
	}
	before := now
	if saved, ok := i.saved(now); ok {
		before = saved
	}
	after, err := i.Install(before, s)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, after) {
		if err := confirmChange(ctx, i.Terminal, f, i.phrase("Install", "in")+"?", nil); err != nil {
			return err
		}
	}
	if !keepSaid && !s.Keep {
		if s.Keep, err = askKeep(ctx, i.environment, f); err != nil {
			return err
		}
		if after, err = i.Install(before, s); err != nil {
			return err
		}
	}
	if !f.dryRun {
		if err := errors.Join(i.save(before, after), i.write(now, after, mode)); err != nil {
			return err
		}
		if s.Keep {
			if err := agreeToKeep(i.environment); err != nil {
				return err
			}
		}
	}
	if err := i.report(f.dryRun, i.phrase(term.Good("Installed"), "in"), i.phrase("install", "in"), i.About().Done); err != nil || f.dryRun {
		return err
	}
	for _, note := range i.Notes(after, s) {
		if text, isWarning := strings.CutPrefix(note, "note: "); isWarning {
			i.Note(text)
		} else {
			i.Say("%s", term.Faint(note))
		}
	}
	i.noteSettings(after)
	return nil
}

// noteSettings says which settings count for an agent that mend serves.
func (i installation) noteSettings(text []byte) {
	if i.About().Deadline > 0 {
		return // it is not served
	}
	for _, note := range settingsNotes() {
		i.Say("%s", term.Faint("Settings: "+term.Escape(note)))
	}
	if is, _ := i.Status(text, agent.Setup{Values: config.HooksValues()}); is.Hooks == config.HooksAll {
		i.Say("%s", term.Faint("All hooks are on unless a setting turns one off: "+strings.Join(config.Switches(), ", ")+". Other models are used if fallbackModels has some."))
	}
}

// setup completes what is to be installed.
func (i installation) setup(s agent.Setup) (_ agent.Setup, err error) {
	s.Version, s.Values = i.opt.Journal.Version, config.HooksValues()
	if s.Store, err = absStore(i.environment); err != nil {
		return s, err
	}
	s.Program, err = installedProgram()
	return s, err
}

// absStore returns the absolute path of the store that the user named, or "".
func absStore(env *environment) (string, error) {
	if env.opt.Store == "" {
		return "", nil
	}
	return filepath.Abs(env.opt.Store)
}

// uninstall removes mend from the file.
func (i installation) uninstall(ctx context.Context, f writeFlags) error {
	now, mode, err := i.read()
	if err != nil {
		return err
	}
	before, err := i.Uninstall(now)
	if err != nil {
		return err
	}
	if is, _ := i.Status(now, agent.Setup{}); is.State == agent.Absent {
		i.Say("%s %s.", term.Escape(term.ShortenHome(i.path)), i.About().Missing)
		i.setAnswer("plugins", states(i.environment, i.agent))
		return nil
	}
	if saved, ok := i.saved(now); ok {
		before = saved
	}
	if err := confirmChange(ctx, i.Terminal, f, i.phrase("Remove", "from")+"?", nil); err != nil {
		return err
	}
	if !f.dryRun {
		if err := i.write(now, before, mode); err != nil {
			return err
		}
		if name, err := i.savedFile(); err == nil {
			_ = os.Remove(name) // a later install writes another one
		}
	}
	return i.report(f.dryRun, i.phrase(term.Good("Removed"), "from"), i.phrase("remove", "from"), i.About().Undone)
}

// phrase says what is done to the file: "Install PATH", or "Install mend's hooks in PATH".
func (i installation) phrase(verb, where string) string {
	path := term.Escape(term.ShortenHome(i.path))
	if part := i.About().Part; part != "" {
		return verb + " " + part + " " + where + " " + path
	}
	return verb + " " + path
}

func (i installation) report(dryRun bool, done, would, after string) error {
	i.setAnswer("plugins", states(i.environment, i.agent))
	if dryRun {
		i.Say("This would %s. Nothing was written.", would)
		return nil
	}
	i.Say("%s. %s", done, after)
	return nil
}

// A savedText is the text of a file without mend, for an uninstall that restores it byte for byte.
type savedText struct {
	Path   string `json:"path"`
	Before []byte `json:"before"` // null: there was no file
	After  string `json:"after"`  // hash of what install wrote
}

func (i installation) savedFile() (string, error) {
	journal, err := i.opt.Journal.Folder()
	sum := sha256.Sum256([]byte(i.path))
	return filepath.Join(journal, i.agent.Name()+"-settings-"+hex.EncodeToString(sum[:8])+".json"), err
}

// saved returns what the file was before install wrote text, nil for no file.
func (i installation) saved(text []byte) (before []byte, ok bool) {
	name, err := i.savedFile()
	if err != nil {
		return nil, false
	}
	f, err := ownfile.Open(name, os.O_RDONLY)
	if err != nil {
		return nil, false
	}
	defer f.Close()
	data, err := ownfile.ReadAtMost(f, 2*i.About().Max) // it is in base64
	var s savedText
	ok = err == nil && json.Unmarshal(data, &s) == nil && s.Path == i.path && s.After == hashOf(text)
	return s.Before, ok
}

// save keeps the text before an installation, unless [agent.Installer.Uninstall] restores it.
func (i installation) save(before, after []byte) error {
	clean, err := i.Uninstall(before)
	if err != nil {
		return err
	}
	if without, err := i.Uninstall(after); err != nil || bytes.Equal(without, clean) && (without == nil) == (clean == nil) {
		return err
	}
	name, err := i.savedFile()
	if err == nil {
		err = ownfile.MakeDir(filepath.Dir(name))
	}
	if err != nil {
		return err
	}
	data, err := json.Marshal(savedText{i.path, clean, hashOf(after)})
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(name, data, 0o600)
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// temporaryProgram matches the path of a program that "go run" removes when it ends.
var temporaryProgram = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[/\\]go-build\d+[/\\]b\d+[/\\]exe[/\\]`)
})

var errTemporary error = fail.New(fail.Refused, "", "this mend was started with \"go run\" and is removed when it ends: install it, for example with \"go install ./cmd/mend\", and run it from there")

// installedProgram returns the path at which this program is started: a link that a
// package manager renews at an upgrade, not the version of the program that it leads to
// today.
func installedProgram() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	if temporaryProgram().MatchString(exe) {
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

// A pluginJSON is the state of the plugin at one place.
type pluginJSON struct {
	Agent   string      `json:"agent,omitempty"` // of hooks of Claude Code
	Place   string      `json:"place"`           // global or project
	Path    string      `json:"path"`
	State   agent.State `json:"state"`
	Why     string      `json:"why,omitempty"`     // the reason if unreadable
	Store   string      `json:"store,omitempty"`   // that it was installed with
	Hooks   string      `json:"hooks,omitempty"`   // that it was installed with
	Repair  bool        `json:"repair,omitempty"`  // the hooks repair sessions
	Keep    bool        `json:"keep,omitempty"`    // the hooks copy sessions
	Version string      `json:"version,omitempty"` // of the mend that wrote it
}

// isOf reports whether the plugin is that of an agent. That of the first agent does not say its name.
func (p pluginJSON) isOf(of agent.Agent) bool {
	return p.Agent == of.Name() || p.Agent == "" && of.Name() == agents[0].Name()
}

// states returns the state of mend in both files of an agent.
func states(env *environment, of agent.Agent) (all []pluginJSON) {
	for _, place := range []string{"global", "project"} {
		i, err := installationOf(env, of, place == "project")
		if i.Installer == nil {
			return nil
		}
		p := pluginJSON{Place: place, Path: i.path, State: agent.Absent}
		if of.Name() != agents[0].Name() {
			p.Agent = of.Name()
		}
		var text []byte
		if err == nil {
			text, _, err = i.read()
		}
		s, noProgram := i.setup(agent.Setup{})
		if errors.Is(noProgram, errTemporary) {
			noProgram = nil
		}
		var is agent.Status
		if err == nil {
			is, err = i.Status(text, s)
		}
		p.State, p.Version, p.Store, p.Hooks, p.Repair, p.Keep = cmp.Or(is.State, p.State), is.Version, is.Store, is.Hooks, is.Repair, is.Keep
		if err = errors.Join(err, noProgram); err != nil {
			p.State, p.Why = agent.Unreadable, err.Error()
		}
		all = append(all, p)
	}
	return all
}

func pluginStatus(env *environment) error {
	i, err := installationOf(env, env.opt.Agents[0], false)
	if err != nil {
		return err
	}
	if env.agentName != "" {
		return printPlugins(env, states(env, i.agent))
	}
	return printPlugins(env, installedStates(env))
}

// installedStates returns the states of the plugin of the first agent, and what is installed for the others.
func installedStates(env *environment) []pluginJSON {
	all := states(env, env.opt.Agents[0])
	for _, other := range env.opt.Agents[1:] {
		for _, p := range states(env, other) {
			if p.State != agent.Absent {
				all = append(all, p)
			}
		}
	}
	return all
}

func printPlugins(env *environment, all []pluginJSON) error {
	env.setAnswer("plugins", all)
	for _, p := range all {
		env.Printf("%-8s %-10s %s\n", p.Place, p.State, term.Escape(term.ShortenHome(p.Path)))
		for _, flag := range []struct {
			given bool
			text  string
		}{{p.Store != "", "--store " + shellWord(p.Store)}, {p.Hooks != "", "--hooks " + p.Hooks}, {p.Repair, "--repair"}, {p.Keep, "--keep"}} {
			if flag.given {
				env.Printf("         %s\n", term.Faint("installed with "+flag.text))
			}
		}
		switch p.State {
		case agent.Other:
			from := "written by mend " + p.Version + ", or for another program"
			if p.Agent != "" {
				from = "it starts another program"
			}
			env.SayAt(9, term.Faint(from+"; \"mend install"+agentFlag(p.Agent)+"\" updates it"))
		case agent.Unreadable:
			env.SayAt(9, term.Faint(term.Escape(p.Why)))
		case agent.Foreign:
			env.SayAt(9, term.Faint("mend did not write this file, and does not change it"))
		case agent.Current, agent.Absent:
		}
	}
	if !slices.ContainsFunc(all, func(p pluginJSON) bool { return p.State != agent.Absent }) && len(all) > 0 {
		env.Say("Not installed. Next: %s", term.Command("mend install"+agentFlag(all[0].Agent)))
	}
	return nil
}

// agentFlag returns the flag that names an agent; "" for OpenCode.
func agentFlag(name string) string {
	if name == "" {
		return ""
	}
	return " --agent " + name
}

// makeFolder makes a folder of another program for a file that is written there.
func makeFolder(dir string, perm fs.FileMode) error {
	if err := ownfile.CheckUser(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, perm)
}
