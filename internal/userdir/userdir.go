// Package userdir returns the paths of the user's folders. It creates none of them.
//
// It imports nothing of mend. Read [State] and [Agent] first.
package userdir

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/adrg/xdg"
)

// Home returns the user's home folder from the environment. The error names the variables to set: the system's variable
// for the home folder, or the given one.
func Home(variable string) (string, error) {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", unknownError(variable)
	}
	return home, nil
}

// Agent returns the folder in the environment variable, or else the folder of the given name in the
// user's home.
func Agent(variable, name string) (string, error) {
	if dir := os.Getenv(variable); dir != "" {
		return dir, nil
	}
	home, err := Home(variable)
	return filepath.Join(home, name), err
}

// State returns the folder of mend's journal: $XDG_STATE_HOME/mend.
func State() (string, error) { return mendFolder("XDG_STATE_HOME", xdg.StateHome) }

// Cache returns the folder for files that mend can make again: $XDG_CACHE_HOME/mend.
func Cache() (string, error) { return mendFolder("XDG_CACHE_HOME", xdg.CacheHome) }

// Config returns the folder of the settings: $XDG_CONFIG_HOME/mend.
func Config() (string, error) { return mendFolder("XDG_CONFIG_HOME", xdg.ConfigHome) }

// mendFolder returns mend's folder in dir. The library derives dir from the variable, or from
// the home folder if the variable is not set or is relative. Without a home folder it uses the
// root of the file system, which mendFolder rejects.
func mendFolder(variable, dir string) (string, error) {
	if runtime.GOOS != "windows" && !filepath.IsAbs(os.Getenv(variable)) && !filepath.IsAbs(os.Getenv("HOME")) {
		return "", unknownError(variable)
	}
	return filepath.Join(dir, "mend"), nil
}

// unknownError returns the error for an unknown folder. It names the variables to set.
func unknownError(variable string) error {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	state := name + " is not set"
	if value := os.Getenv(name); value != "" {
		state = fmt.Sprintf("%s is %q", name, value)
	}
	return fmt.Errorf("%s: set %s or %s to an absolute path", state, name, variable)
}
