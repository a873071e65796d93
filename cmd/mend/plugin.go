package main

import (
	"cmp"
	"context"
	_ "embed"
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
	"unicode/utf8"

	"github.com/spf13/cobra"

	"mend/agent"
	"mend/agent/claude"
	"mend/internal/atomicfile"
	"mend/internal/config"
	"mend/internal/fail"
	"mend/internal/ownfile"
	"mend/internal/term"
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

var errForeignPlugin error = fail.New(fail.Refused, "move it away, or use --project", "mend did not write this file")

func pluginVerb(env *environment) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plugin",
		Short: "Install, remove or inspect the plugin for your agent",
		Long: `The plugin is one small JavaScript file in OpenCode's folder of plugins. It passes
session errors to "mend hook", which decides what to repair. No server port is
needed. OpenCode loads it at its next start. Without mend it does nothing.

With --agent claude it is a hook in the settings of Claude Code, which runs "mend hook"
when a session is resumed. By default that only tells you of damage. All other bytes of
the settings stay as they are, and uninstall restores them.

Without a subcommand this shows where the plugin is installed.`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return pluginStatus(env) },
	}
	var hooks string
	var repair bool
	install := pluginCommand(env, "install", "Install the plugin", func(ctx context.Context, path string, f writeFlags) error {
		switch {
		case env.isClaude() && hooks != "":
			return usagef("--hooks is for the plugin of OpenCode")
		case env.isClaude() && env.opt.Store != "":
			return usagef("--store is for the plugin of OpenCode: Claude Code tells its hook where the session is")
		case env.isClaude():
			return installClaudeHook(ctx, env, path, repair, f)
		case repair:
			return usagef("--repair is for --agent claude: the setting preflight says whether the plugin of OpenCode repairs sessions")
		}
		return runPluginInstall(ctx, env, path, hooks, f)
	})
	install.Long = `Install writes the plugin for all projects, or with --project for the current one. OpenCode
loads it at its next start. The flags --store and --hooks are kept when it is installed again.

Before each prompt the plugin repairs a broken session, so that you do not see an error. It
does so only if that loses nothing that can be read. What only the provider can judge is
repaired after its error; then send your prompt again. Each repair can be undone ("mend log",
"mend undo"). "mend config" lists the settings, "mend status" shows what the plugin did,
"mend plugin uninstall" removes it.`
	install.Example = `  mend plugin install
  mend plugin install --hooks all    also guard writes, change models that fail, and more (docs/hooks.md)
  mend plugin install --store ~/kilo/kilo.db    for an OpenCode whose store mend does not find
  mend plugin install --agent claude`
	install.Flags().BoolVar(&repair, "repair", false, "with --agent claude: repair damaged sessions when they end and when they are resumed, if that loses nothing")
	install.Flags().StringVar(&hooks, "hooks", "", "use this `VALUE` of the setting hooks with this plugin: recovery or all (default: as installed before)")
	_ = install.RegisterFlagCompletionFunc("hooks", cobra.FixedCompletions(config.HooksValues(), cobra.ShellCompDirectiveNoFileComp))
	cmd.AddCommand(
		install,
		pluginCommand(env, "uninstall", "Remove the plugin", func(ctx context.Context, path string, f writeFlags) error {
			if env.isClaude() {
				return uninstallClaudeHook(ctx, env, path, f)
			}
			return uninstallPlugin(ctx, env, path, f)
		}),
		&cobra.Command{
			Use: "status", Short: "Show where the plugin is installed, and its version", Args: noArgs,
			RunE: func(*cobra.Command, []string) error { return pluginStatus(env) },
		},
	)
	return cmd
}

func pluginCommand(env *environment, use, short string, run func(ctx context.Context, path string, f writeFlags) error) *cobra.Command {
	var f writeFlags
	var project bool
	cmd := &cobra.Command{
		Use: use, Short: short, Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			find := pluginPath
			if env.isClaude() {
				find = claudeSettingsPath
			}
			path, err := find(project)
			if err != nil {
				return err
			}
			if err := run(cmd.Context(), path, f); err != nil {
				return fmt.Errorf("%sing %s: %w", use, path, err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "only for the current project")
	f.add(cmd, "")
	return cmd
}

// isClaude reports whether the user names Claude Code.
func (env *environment) isClaude() bool { return env.agentName == claude.Agent{}.Name() }

// pluginPath returns the path of the plugin. On every system OpenCode reads plugins from
// $XDG_CONFIG_HOME or ~/.config, and from .opencode of a project.
func pluginPath(project bool) (string, error) {
	if project {
		dir, err := projectRoot()
		return filepath.Join(dir, ".opencode", "plugins", pluginFile), err
	}
	for _, place := range []struct{ variable, subdir string }{{"OPENCODE_CONFIG_DIR", ""}, {"XDG_CONFIG_HOME", "opencode"}} {
		dir := os.Getenv(place.variable)
		if dir != "" && !filepath.IsAbs(dir) { // OpenCode resolves it in the folder in which it starts
			return "", fmt.Errorf("finding OpenCode's folder of plugins: %s is %q: set it to an absolute path", place.variable, dir)
		}
		if dir != "" {
			return filepath.Join(dir, place.subdir, "plugins", pluginFile), nil
		}
	}
	home, err := userdir.Home("XDG_CONFIG_HOME")
	if err != nil {
		return "", fmt.Errorf("finding OpenCode's folder of plugins: %w", err)
	}
	return filepath.Join(home, ".config", "opencode", "plugins", pluginFile), nil
}

// projectRoot returns the folder of the project of the current folder: the nearest one
// that has .git, or else the current folder.
func projectRoot() (string, error) {
	current, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := current; ; dir = filepath.Dir(dir) {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return current, nil
		}
	}
}

// pluginCommandLine matches the command of a plugin.
var pluginCommandLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^const COMMAND = (\[.*\])$`)
})

// pluginFlags are the flags that a plugin was installed with. Those that are "" are as they were
// when it is installed again.
type pluginFlags struct{ store, hooks string }

// installedFlags returns the flags that a plugin was installed with.
func installedFlags(text string) (f pluginFlags) {
	m := pluginCommandLine().FindStringSubmatch(text)
	var args []string
	if m == nil || json.Unmarshal([]byte(m[1]), &args) != nil || len(args) < 2 || args[1] != "hook" {
		return f
	}
	for pair := range slices.Chunk(args[2:], 2) {
		switch hooks, found := strings.CutPrefix(pair[len(pair)-1], "hooks="); {
		case pair[0] == "--store" && len(pair) == 2:
			f.store = pair[1]
		case pair[0] == "--set" && found && slices.Contains(config.HooksValues(), hooks):
			f.hooks = hooks
		}
	}
	return f
}

// pluginText returns the text of the plugin that starts this program with the flags.
func pluginText(env *environment, f pluginFlags) (string, error) {
	exe, err := installedProgram()
	if err != nil {
		return "", err
	}
	args := []string{exe, "hook"}
	if f.store != "" {
		args = append(args, "--store", f.store)
	}
	if f.hooks != "" {
		args = append(args, "--set", "hooks="+f.hooks)
	}
	for _, arg := range args {
		if !utf8.ValidString(arg) {
			return "", usagef("the plugin cannot name %q, which is not UTF-8: rename it", arg)
		}
	}
	command, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	return strings.NewReplacer("__COMMAND__", string(command), "__VERSION__", env.opt.Journal.Version).Replace(pluginSource), nil
}

// absStore returns the absolute path of the store that the user named, or "".
func absStore(env *environment) (string, error) {
	if env.opt.Store == "" {
		return "", nil
	}
	return filepath.Abs(env.opt.Store)
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

// maxPlugin is the maximum size of a plugin file, in bytes.
const maxPlugin = 1 << 20

// readPlugin reads a plugin file. The error is [errForeignPlugin] if mend did not write
// it.
func readPlugin(path string) (version, text string, err error) {
	f, err := ownfile.OpenPlain(path)
	if err != nil {
		return "", "", err
	}
	defer f.Close()
	data, err := ownfile.ReadAtMost(f, maxPlugin)
	if err != nil {
		return "", "", fmt.Errorf("reading %s: %w", path, err)
	}
	m := pluginHeader().FindSubmatch(data)
	if m == nil {
		return "", "", errForeignPlugin
	}
	return string(m[2]), string(data), nil
}

func runPluginInstall(ctx context.Context, env *environment, path, hooks string, f writeFlags) error {
	if hooks != "" && !slices.Contains(config.HooksValues(), hooks) {
		return usagef("--hooks: want %s, got %q", strings.Join(config.HooksValues(), " or "), hooks)
	}
	_, before, err := readPlugin(path)
	fresh := errors.Is(err, fs.ErrNotExist)
	if err != nil && !fresh {
		return err
	}
	store, err := absStore(env)
	if err != nil {
		return err
	}
	was := installedFlags(before)
	flags := pluginFlags{cmp.Or(store, was.store), cmp.Or(hooks, was.hooks)}
	text, err := pluginText(env, flags)
	if err != nil {
		return err
	}
	if text != before {
		if err := confirmChange(ctx, env.Terminal, f, "Install "+term.Escape(term.ShortenHome(path))+"?", nil); err != nil {
			return err
		}
	}
	if !f.dryRun {
		if err := makeFolder(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := atomicfile.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	if err := reportPlugin(env, path, f.dryRun, "Installed", "install"); err != nil || f.dryRun {
		return err
	}
	env.Say("%s", term.Faint(installNotes))
	for _, note := range settingsNotes() {
		env.Say("%s", term.Faint("Settings: "+term.Escape(note)))
	}
	if flags.hooks == config.HooksAll {
		env.Say("%s", term.Faint("All hooks are on unless a setting turns one off: "+strings.Join(config.Switches(), ", ")+". modelFallback needs fallbackModels."))
	}
	if !fresh {
		return nil // the older plugin may not have repaired before requests: the hook shows that once
	}
	journal, err := env.opt.Journal.Folder()
	if err != nil {
		return err
	}
	return writePreflightNotice(journal)
}

// installNotes are what a user should know of the installed plugin.
const installNotes = `Before each prompt it repairs a broken session, if that loses nothing that can be read ("mend config": preflight).
With any plugin, OpenCode installs npm packages at its next start. Without a network that takes about a minute.`

func uninstallPlugin(ctx context.Context, env *environment, path string, f writeFlags) error {
	_, _, err := readPlugin(path)
	if errors.Is(err, fs.ErrNotExist) {
		env.Printf("%s is not installed.\n", term.Escape(term.ShortenHome(path)))
		env.setAnswer("plugins", pluginStates(env))
		return nil
	}
	if err != nil {
		return err
	}
	if err := confirmChange(ctx, env.Terminal, f, "Remove "+term.Escape(term.ShortenHome(path))+"?", nil); err != nil {
		return err
	}
	if !f.dryRun {
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return reportPlugin(env, path, f.dryRun, "Removed", "remove")
}

func reportPlugin(env *environment, path string, dryRun bool, done, would string) error {
	env.setAnswer("plugins", pluginStates(env))
	if dryRun {
		env.Say("This would %s %s. Nothing was written.", would, term.Escape(term.ShortenHome(path)))
		return nil
	}
	env.Say("%s %s. Restart OpenCode to apply this.", term.Good(done), term.Escape(term.ShortenHome(path)))
	return nil
}

// The states of a plugin.
const (
	pluginCurrent    = "current" // of this mend
	pluginOther      = "other"   // of another version, or for another program
	pluginForeign    = "foreign" // mend did not write the file
	pluginAbsent     = "absent"
	pluginUnreadable = "unreadable"
)

// A pluginJSON is the state of the plugin at one place.
type pluginJSON struct {
	Agent   string `json:"agent,omitempty"` // of hooks of Claude Code
	Place   string `json:"place"`           // global or project
	Path    string `json:"path"`
	State   string `json:"state"`             // current, other, foreign, absent, or unreadable
	Why     string `json:"why,omitempty"`     // the reason if unreadable
	Store   string `json:"store,omitempty"`   // that it was installed with
	Hooks   string `json:"hooks,omitempty"`   // that it was installed with
	Repair  bool   `json:"repair,omitempty"`  // the hooks repair sessions
	Version string `json:"version,omitempty"` // of the mend that wrote it
}

// pluginStates returns the state of the plugin at both places.
func pluginStates(env *environment) []pluginJSON {
	var all []pluginJSON
	for _, place := range []string{"global", "project"} {
		path, err := pluginPath(place == "project")
		p := pluginJSON{Place: place, Path: path}
		var text string
		if err == nil {
			p.Version, text, err = readPlugin(path)
		}
		flags := installedFlags(text)
		p.Store, p.Hooks = flags.store, flags.hooks
		want, wantErr := pluginText(env, flags)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			p.State = pluginAbsent
		case errors.Is(err, errForeignPlugin):
			p.State = pluginForeign
		case err != nil || wantErr != nil && !errors.Is(wantErr, errTemporary):
			p.State, p.Why = pluginUnreadable, errors.Join(err, wantErr).Error()
		case text == want:
			p.State = pluginCurrent
		default:
			p.State = pluginOther
		}
		all = append(all, p)
	}
	return all
}

func pluginStatus(env *environment) error {
	if env.isClaude() {
		if _, err := claudeSettingsPath(false); err != nil {
			return err
		}
		return printPlugins(env, claudeStates(env.Terminal))
	}
	if _, err := pluginPath(false); err != nil {
		return err
	}
	return printPlugins(env, installedStates(env))
}

// installedStates returns the states of the plugin, and those of the hooks of Claude Code that are
// installed.
func installedStates(env *environment) []pluginJSON {
	all := pluginStates(env)
	if slices.ContainsFunc(env.opt.Agents, func(ag agent.Agent) bool { return ag.Name() == claude.Agent{}.Name() }) {
		for _, p := range claudeStates(env.Terminal) {
			if p.State != pluginAbsent {
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
		if p.Store != "" {
			env.Printf("         %s\n", term.Faint("installed with --store "+shellWord(p.Store)))
		}
		if p.Hooks != "" {
			env.Printf("         %s\n", term.Faint("installed with --hooks "+p.Hooks))
		}
		if p.Repair {
			env.Printf("         %s\n", term.Faint("installed with --repair"))
		}
		switch p.State {
		case pluginOther:
			from := "written by mend " + p.Version + ", or for another program"
			if p.Agent != "" {
				from = "it starts another program"
			}
			env.SayAt(9, term.Faint(from+"; \"mend plugin install"+agentFlag(p.Agent)+"\" updates it"))
		case pluginUnreadable:
			env.SayAt(9, term.Faint(term.Escape(p.Why)))
		case pluginForeign:
			env.SayAt(9, term.Faint("mend did not write this file, and does not change it"))
		}
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
