package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"mend/agent/claude"
	"mend/internal/atomicfile"
	"mend/internal/ownfile"
	"mend/internal/term"
	"mend/internal/userdir"
)

// claudeSettingsPath returns the path of the settings that a hook is in: the user's, or those
// of the current project that are the user's alone.
func claudeSettingsPath(project bool) (string, error) {
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

// maxClaudeSettings is the maximum size of a file of settings, in bytes.
const maxClaudeSettings = 16 << 20

// readClaudeSettings returns the settings and their mode, nil if there are none.
func readClaudeSettings(path string) ([]byte, fs.FileMode, error) {
	const private fs.FileMode = 0o600
	if err := ownfile.CheckEditable(path); err != nil {
		return nil, 0, err
	}
	f, err := ownfile.OpenPlain(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, private, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, err
	}
	data, err := ownfile.ReadAtMost(f, maxClaudeSettings)
	if err != nil {
		return nil, 0, fmt.Errorf("reading %s: %w", path, err)
	}
	return data, info.Mode().Perm(), nil
}

// A savedSettings is the text of settings without mend's hooks, for an uninstall that restores
// it byte for byte.
type savedSettings struct {
	Path   string `json:"path"`
	Before []byte `json:"before"` // null: there was no file
	After  string `json:"after"`  // hash of what install wrote
}

func savedSettingsFile(env *environment, path string) (string, error) {
	journal, err := env.opt.Journal.Folder()
	sum := sha256.Sum256([]byte(path))
	return filepath.Join(journal, "claude-settings-"+hex.EncodeToString(sum[:8])+".json"), err
}

// withoutHooks returns the settings as they were before install wrote text, nil for no file: if
// nothing has changed since, byte for byte.
func withoutHooks(env *environment, path string, text []byte) ([]byte, error) {
	name, err := savedSettingsFile(env, path)
	if err != nil {
		return nil, err
	}
	var saved savedSettings
	if data, err := readSavedSettings(name); err == nil && json.Unmarshal(data, &saved) == nil && saved.Path == path && saved.After == hashOf(text) {
		return saved.Before, nil
	}
	return claude.RemoveHooks(text, isHookCommand)
}

// readSavedSettings returns a file of saved settings, which has them in base64.
func readSavedSettings(name string) ([]byte, error) {
	f, err := ownfile.Open(name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ownfile.ReadAtMost(f, 2*maxClaudeSettings)
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// installClaudeHook adds mend's hooks to settings of Claude Code.
func installClaudeHook(ctx context.Context, env *environment, path string, repair bool, f writeFlags) error {
	command, err := hookCommand(repair)
	if err != nil {
		return err
	}
	now, mode, err := readClaudeSettings(path)
	if err != nil {
		return err
	}
	before := now
	if slices.ContainsFunc(claude.Commands(now), isHookCommand) {
		if before, err = withoutHooks(env, path, now); err != nil {
			return err
		}
	}
	after, err := claude.AddHooks(before, claudeHooks(command, repair)...)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, after) {
		if err := confirmChange(ctx, env.Terminal, f, "Install mend's hooks in "+term.Escape(term.ShortenHome(path))+"?", nil); err != nil {
			return err
		}
	}
	if !f.dryRun && !bytes.Equal(now, after) {
		if err := saveSettings(env, path, before, after); err != nil {
			return err
		}
		if err := makeFolder(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := atomicfile.Replace(path, now, after, mode); err != nil {
			return err
		}
	}
	if err := reportClaudeHook(env, path, f.dryRun, "Installed in", "install in", "use it"); err != nil || f.dryRun {
		return err
	}
	if claude.HooksDisabled(after) {
		env.Note("these settings turn all hooks off: \"disableAllHooks\"")
	}
	if repair {
		env.Say("%s", term.Faint("When a session ends, and when it is resumed, mend repairs it if that loses nothing. What was loaded before that is loaded again with /resume."))
	} else {
		env.Say("%s", term.Faint("When a damaged session is resumed, mend says so, and how to repair it. With --repair it repairs the session."))
	}
	return nil
}

func saveSettings(env *environment, path string, before, after []byte) error {
	name, err := savedSettingsFile(env, path)
	if err == nil {
		err = ownfile.MakeDir(filepath.Dir(name))
	}
	if err != nil {
		return err
	}
	data, err := json.Marshal(savedSettings{path, before, hashOf(after)})
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(name, data, 0o600)
}

// uninstallClaudeHook removes mend's hooks from settings of Claude Code.
func uninstallClaudeHook(ctx context.Context, env *environment, path string, f writeFlags) error {
	now, mode, err := readClaudeSettings(path)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(claude.Commands(now), isHookCommand) {
		env.Say("%s has no hook of mend.", term.Escape(term.ShortenHome(path)))
		env.setAnswer("plugins", claudeStates(env.Terminal))
		return nil
	}
	before, err := withoutHooks(env, path, now)
	if err != nil {
		return err
	}
	if err := confirmChange(ctx, env.Terminal, f, "Remove mend's hooks from "+term.Escape(term.ShortenHome(path))+"?", nil); err != nil {
		return err
	}
	if !f.dryRun {
		if before == nil {
			err = os.Remove(path)
		} else {
			err = atomicfile.Replace(path, now, before, mode)
		}
		if err != nil {
			return err
		}
		if name, err := savedSettingsFile(env, path); err == nil {
			_ = os.Remove(name) // a later install writes another one
		}
	}
	return reportClaudeHook(env, path, f.dryRun, "Removed from", "remove from", "no longer use it")
}

func reportClaudeHook(env *environment, path string, dryRun bool, done, would, effect string) error {
	env.setAnswer("plugins", claudeStates(env.Terminal))
	if dryRun {
		env.Say("This would %s %s. Nothing was written.", would, term.Escape(term.ShortenHome(path)))
		return nil
	}
	env.Say("%s %s. Sessions of Claude Code that start from now on %s.", term.Good(done), term.Escape(term.ShortenHome(path)), effect)
	return nil
}

// claudeStates returns the state of mend's hooks in both files of settings.
func claudeStates(t *term.Terminal) []pluginJSON {
	var all []pluginJSON
	for _, place := range []string{"global", "project"} {
		path, err := claudeSettingsPath(place == "project")
		p := pluginJSON{Agent: claude.Agent{}.Name(), Place: place, Path: path, State: pluginAbsent}
		var text []byte
		if err == nil {
			text, _, err = readClaudeSettings(path)
		}
		want, wantErr := hookCommand(false)
		for _, command := range claude.Commands(text) {
			if !isHookCommand(command) {
				continue
			}
			p.Repair = command == want+" --repair"
			p.State = pluginOther
			if p.Repair || command == want {
				p.State = pluginCurrent
			}
		}
		if err = errors.Join(err, wantErr); err != nil && !errors.Is(err, errTemporary) {
			p.State, p.Why = pluginUnreadable, err.Error()
		}
		all = append(all, p)
	}
	return all
}
