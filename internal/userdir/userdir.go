// Package userdir returns the paths of the user's folders.
package userdir

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/adrg/xdg"
)

// Home is the user's home folder, as the environment says it. The error says what
// to set: that, or the variable that the caller would rather have.
func Home(variable string) (string, error) {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return "", unknown(variable)
	}
	return home, nil
}

// State is the folder in which mend keeps its journal: $XDG_STATE_HOME/mend.
func State() (string, error) { return of("XDG_STATE_HOME", xdg.StateHome) }

// Cache is the folder for what can be made again: $XDG_CACHE_HOME/mend.
func Cache() (string, error) { return of("XDG_CACHE_HOME", xdg.CacheHome) }

// Config is the folder of the settings: $XDG_CONFIG_HOME/mend.
func Config() (string, error) { return of("XDG_CONFIG_HOME", xdg.ConfigHome) }

// of is mend's folder in dir, which the library has made of the variable, or of
// the home folder where the variable is not set or is relative. Without a home
// folder it takes the root of the file system for one, and its answer is not used.
func of(variable, dir string) (string, error) {
	if runtime.GOOS != "windows" && !filepath.IsAbs(os.Getenv(variable)) && !filepath.IsAbs(os.Getenv("HOME")) {
		return "", unknown(variable)
	}
	return filepath.Join(dir, "mend"), nil
}

// unknown is the error of a folder that is not known. It says what to set.
func unknown(variable string) error {
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
