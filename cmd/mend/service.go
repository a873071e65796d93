package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"mend/agent"
	"mend/internal/atomicfile"
	"mend/internal/config"
	"mend/internal/fail"
	"mend/internal/ownfile"
	"mend/internal/term"
	"mend/internal/userdir"
)

// A service is a file that makes the system start "mend watch" when the user logs in.
type service struct {
	path    string
	text    func(c serviceCommand) string // without the header
	comment [2]string                     // around the header; the first line of text stays the first

	enable, stop string // the commands that start it now and at each login, and that end what runs
}

// A serviceCommand is what a service starts.
type serviceCommand struct {
	args        []string // the program first
	environment []string // NAME=VALUE
	log         string   // the path of a file for standard error
}

// Errors of a service file.
var (
	errForeignService error = fail.New(fail.Refused, "move it away", "mend did not write this file")
	errEditedService  error = fail.New(fail.Refused, `move it away, and keep your changes elsewhere: "systemctl --user edit mend-watch" on Linux`, "this file was edited after mend wrote it")
	errNoService            = fmt.Errorf("%w on this system: let it run \"mend watch\" when you log in (on Windows: a task of the Task Scheduler), or use \"mend plugin install\"", errors.ErrUnsupported)
)

// userService returns the service of this user on a system such as "linux".
func userService(system string) (*service, error) {
	switch system {
	case "linux":
		dir := os.Getenv("XDG_CONFIG_HOME")
		if !filepath.IsAbs(dir) {
			home, err := userdir.Home("XDG_CONFIG_HOME")
			if err != nil {
				return nil, fmt.Errorf("finding the folder of systemd's units: %w", err)
			}
			dir = filepath.Join(home, ".config")
		}
		return &service{
			path: filepath.Join(dir, "systemd", "user", "mend-watch.service"), text: systemdUnit, comment: [2]string{"# ", "\n"},
			enable: "systemctl --user daemon-reload && systemctl --user enable --now mend-watch", stop: "systemctl --user stop mend-watch",
		}, nil
	case "darwin":
		home, err := userdir.Home("HOME")
		if err != nil {
			return nil, fmt.Errorf("finding the folder of launchd's agents: %w", err)
		}
		path := filepath.Join(home, "Library", "LaunchAgents", launchdLabel+".plist")
		domain := fmt.Sprintf("gui/%d", os.Getuid())
		return &service{
			path: path, text: launchdAgent, comment: [2]string{"<!-- ", " -->\n"},
			enable: "launchctl bootstrap " + domain + " " + ownfile.Quote(path), stop: "launchctl bootout " + domain + "/" + launchdLabel,
		}, nil
	default:
		return nil, fmt.Errorf("starting \"mend watch\" by a service: %w", errNoService)
	}
}

const launchdLabel = "mend.watch"

// systemdUnit returns a unit for systemd's manager of the user's services. Restarting does not help if
// watch is switched off, or cannot use its settings or its journal.
func systemdUnit(c serviceCommand) string {
	command := []string{systemdQuote(c.args[0])} // systemd replaces variables in all words but the path of the program
	for _, arg := range c.args[1:] {
		command = append(command, systemdQuote(strings.ReplaceAll(arg, "$", "$$")))
	}
	var environment []string
	for _, variable := range c.environment {
		environment = append(environment, "Environment="+systemdQuote(variable)+"\n")
	}
	return fmt.Sprintf(`[Unit]
Description=mend watch: repair sessions as they break

[Service]
ExecStart=%s
%sRestart=on-failure
RestartSec=10
RestartPreventExitStatus=%d %d %d
SuccessExitStatus=130 143
NoNewPrivileges=true

[Install]
WantedBy=default.target
`, strings.Join(command, " "), strings.Join(environment, ""), exitUsage, exitUnusable, exitRefused)
}

// systemdQuote quotes a word of a unit. Words have no control characters.
func systemdQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(s) + `"`
}

// launchdAgent returns a property list for launchd.
func launchdAgent(c serviceCommand) string {
	var args, environment strings.Builder
	for _, arg := range c.args {
		args.WriteString("<string>" + html.EscapeString(arg) + "</string>")
	}
	for _, variable := range c.environment {
		name, value, _ := strings.Cut(variable, "=")
		environment.WriteString("<key>" + html.EscapeString(name) + "</key><string>" + html.EscapeString(value) + "</string>")
	}
	return fmt.Sprintf(`<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0"><dict>
	<key>Label</key><string>%s</string>
	<key>ProgramArguments</key><array>%s</array>
	<key>EnvironmentVariables</key><dict>%s</dict>
	<key>RunAtLoad</key><true/>
	<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>
	<key>ThrottleInterval</key><integer>60</integer>
	<key>ProcessType</key><string>Background</string>
	<key>StandardOutPath</key><string>%[4]s</string>
	<key>StandardErrorPath</key><string>%[4]s</string>
</dict></plist>
`, launchdLabel, args.String(), environment.String(), html.EscapeString(c.log))
}

// serviceEnvironment returns the variables that are set, as NAME=VALUE, and decide which stores, journal and settings are used. The system
// starts a service without those of the user's shell.
func serviceEnvironment(settings []config.Setting) (set []string) {
	names := []string{"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"}
	for _, ag := range agents {
		names = append(names, ag.Variables()...)
	}
	for _, s := range settings {
		names = append(names, s.Env)
	}
	for _, name := range names {
		if value := os.Getenv(name); value != "" {
			set = append(set, name+"="+value)
		}
	}
	return set
}

// serviceCommand returns the command of a service that watches with these flags.
func newServiceCommand(env *environment, set []string, settings []config.Setting) (c serviceCommand, err error) {
	exe, err := installedProgram()
	if err != nil {
		return c, err
	}
	c.args = []string{exe, "watch"}
	store, err := absStore(env)
	if err != nil {
		return c, err
	}
	if store != "" {
		c.args = append(c.args, "--store", store)
	}
	if env.opt.Layout != "" {
		c.args = append(c.args, "--layout", env.opt.Layout)
	}
	if env.agentName != "" {
		c.args = append(c.args, "--agent", env.agentName)
	}
	for _, s := range set {
		c.args = append(c.args, "--set", s)
	}
	c.environment = serviceEnvironment(settings)
	state, err := env.opt.Journal.Folder()
	if err != nil {
		return c, err
	}
	c.log = filepath.Join(state, "watch.log")
	for _, word := range append(slices.Concat(c.args, c.environment), c.log) {
		if strings.ContainsFunc(word, unicode.IsControl) || !utf8.ValidString(word) {
			return c, usagef("%q has control characters, or is not UTF-8: a service cannot have that", word)
		}
	}
	return c, nil
}

// withHeader adds a header to the text of a service: which mend wrote it, and its checksum.
func (s *service) withHeader(text, version string) string {
	first, rest := "", text
	if strings.HasPrefix(text, "<?xml") {
		first, rest, _ = strings.Cut(text, "\n")
		first += "\n"
	}
	sum := sha256.Sum256([]byte(text))
	header := fmt.Sprintf("mend-watch version=%s sha256=%s%s", version, hex.EncodeToString(sum[:]), s.comment[1])
	return first + s.comment[0] + header + rest
}

// serviceHeader matches the header of a service.
var serviceHeader = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^(?:# |<!-- )mend-watch version=(\S+) sha256=([0-9a-f]{64})(?: -->)?\n`)
})

// read returns the version of mend that wrote the file of the service. The error is [errForeignService] if mend did not
// write it, and [errEditedService] if it was edited since.
func (s *service) read() (version string, err error) {
	f, err := ownfile.OpenPlain(s.path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := ownfile.ReadAtMost(f, maxUnit)
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", s.path, err)
	}
	text := string(data)
	m := serviceHeader().FindStringSubmatchIndex(text)
	if m == nil {
		return "", errForeignService
	}
	sum := sha256.Sum256([]byte(text[:m[0]] + text[m[1]:]))
	if hex.EncodeToString(sum[:]) != text[m[4]:m[5]] {
		return "", errEditedService
	}
	return text[m[2]:m[3]], nil
}

func watchInstallVerb(env *environment) *cobra.Command {
	var set []string
	var w writeFlags
	cmd := &cobra.Command{
		Use:   "install",
		Short: "Run \"mend watch\" whenever you are logged in",
		Long: `Install writes a user unit of systemd or, on macOS, an agent of launchd, and says which
command starts it. It runs "mend watch" with the flags that are given here when you log in.
The variables of the environment that name folders and settings, such as
XDG_DATA_HOME, are those of now.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return installService(cmd.Context(), env, set, w) },
	}
	setFlag(cmd, &set)
	w.add(cmd, "")
	return cmd
}

func watchUninstallVerb(env *environment) *cobra.Command {
	var w writeFlags
	cmd := &cobra.Command{
		Use: "uninstall", Short: "Remove what \"mend watch install\" wrote", Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return uninstallService(cmd.Context(), env, w) },
	}
	w.add(cmd, "")
	return cmd
}

func watchStatusVerb(env *environment) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show whether \"mend watch\" runs, and whether it starts at login", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			dir, err := env.opt.Journal.Folder()
			if err != nil {
				return err
			}
			runs, j := isWatching(dir), serviceState()
			env.setAnswer("running", runs)
			env.setAnswer("service", j)
			env.Printf("mend watch %s.\n", map[bool]string{true: term.Good("is running"), false: "is not running"}[runs])
			env.Printf("At login: %s  %s\n", j.State, term.Faint(term.Escape(term.ShortenHome(j.Path)+j.Why)))
			return nil
		},
	}
}

func installService(ctx context.Context, env *environment, set []string, w writeFlags) error {
	s, err := userService(runtime.GOOS)
	if err != nil {
		return err
	}
	settings, _, err := loadLiveSettings(set)
	if err != nil { // else it would fail at each start
		return err
	}
	if _, err := s.read(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("installing %s: %w", s.path, err)
	}
	c, err := newServiceCommand(env, set, settings.Settings())
	if err != nil {
		return err
	}
	text := s.withHeader(s.text(c), env.opt.Journal.Version)
	defer func() { env.setAnswer("service", serviceState()) }()
	if !w.yes {
		env.setAnswer("text", text)
		env.Printf("%s\n%s", term.Faint("This would be written to "+term.Escape(s.path)+":"), escapeText(text))
	}
	if w.dryRun {
		env.Printf("Dry run: nothing was written.\n")
		return nil
	}
	if err := confirmChange(ctx, env.Terminal, w, "Install "+term.Escape(s.path)+"?", nil); err != nil {
		return err
	}
	if err := makeFolder(filepath.Dir(s.path), 0o755); err != nil {
		return err
	}
	if err := atomicfile.WriteFile(s.path, []byte(text), 0o644); err != nil {
		return err
	}
	env.Printf("%s %s.\nStart it, now and at each login: %s\n", term.Good("Installed"), term.Escape(s.path), term.Bold(term.Escape(s.enable)))
	return nil
}

func uninstallService(ctx context.Context, env *environment, w writeFlags) error {
	s, err := userService(runtime.GOOS)
	if err != nil {
		return err
	}
	defer func() { env.setAnswer("service", serviceState()) }()
	_, err = s.read()
	if errors.Is(err, fs.ErrNotExist) {
		env.Printf("%s is not installed.\n", term.Escape(s.path))
		return nil
	}
	if err != nil {
		return fmt.Errorf("removing %s: %w", s.path, err)
	}
	if w.dryRun {
		env.Printf("This would remove %s. Nothing was written.\n", term.Escape(s.path))
		return nil
	}
	if err := confirmChange(ctx, env.Terminal, w, "Remove "+term.Escape(s.path)+"?", nil); err != nil {
		return err
	}
	if err := os.Remove(s.path); err != nil {
		return err
	}
	env.Printf("%s %s.\nIf it is running, it runs until you log out, or until: %s\n", term.Good("Removed"), term.Escape(s.path), term.Bold(term.Escape(s.stop)))
	return nil
}

// escapeText is escape for a text of several lines, which may begin with tabs.
func escapeText(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		text := strings.TrimRight(strings.TrimLeft(line, "\t"), "\n")
		b.WriteString(line[:len(line)-len(strings.TrimLeft(line, "\t"))] + term.Escape(text) + "\n")
	}
	return b.String()
}

// maxUnit is the maximum size of a unit, in bytes.
const maxUnit = 1 << 20

// The states of a service, besides those of a plugin.
const (
	serviceInstalled   = "installed" // as mend wrote it
	serviceEdited      = "edited"    // by the user
	serviceUnsupported = "unsupported"
)

// A serviceJSON is the state of the service.
type serviceJSON struct {
	Path    string `json:"path"`
	State   string `json:"state"`             // installed, edited, foreign, absent, unreadable, or unsupported
	Why     string `json:"why,omitempty"`     // the reason if unreadable
	Version string `json:"version,omitempty"` // of the mend that wrote it
}

// serviceState returns the state of the service of this user.
func serviceState() serviceJSON {
	s, err := userService(runtime.GOOS)
	if err != nil {
		return serviceJSON{State: serviceUnsupported, Why: err.Error()}
	}
	j := serviceJSON{Path: s.path}
	j.Version, err = s.read()
	switch {
	case err == nil:
		j.State = serviceInstalled
	case errors.Is(err, fs.ErrNotExist):
		j.State = string(agent.Absent)
	case errors.Is(err, errForeignService):
		j.State = string(agent.Foreign)
	case errors.Is(err, errEditedService):
		j.State = serviceEdited
	default:
		j.State, j.Why = string(agent.Unreadable), err.Error()
	}
	return j
}
