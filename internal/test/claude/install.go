package claude

import (
	"fmt"
	"os"
	"path/filepath"

	"mend/internal/test/npm"
)

// Versions are the tested versions, newest first. The program updates itself.
var Versions = []string{"2.1.332"}

// Install returns the command that starts a version of Claude Code: an executable, or for older
// versions node with a script. It comes from the cache, a folder per version in $MEND_E2E_CACHE
// or else in mend-e2e below the user's cache directory, or is fetched into it with npm.
func Install(version string) ([]string, error) {
	final, err := npm.Folder("claude", version, "claude-"+version)
	if err != nil {
		return nil, err
	}
	if cmd := program(final); cmd != nil {
		return cmd, nil
	}
	for _, pkg := range []string{"@anthropic-ai/claude-code", "@anthropic-ai/claude-code-linux-x64"} {
		if err := npm.Fetch(pkg+"@"+version, final, ""); err != nil {
			return nil, fmt.Errorf("installing claude %s: %w", version, err)
		}
		if cmd := program(final); cmd != nil {
			return cmd, nil
		}
		if err := os.RemoveAll(final); err != nil { // the script only starts the executable
			return nil, err
		}
	}
	return nil, fmt.Errorf("installing claude %s: the packages have no program", version)
}

// program returns the command in a folder, or nil.
func program(dir string) []string {
	if exe := filepath.Join(dir, "package", "claude"); isFile(exe) {
		return []string{exe}
	}
	if script := filepath.Join(dir, "package", "cli.js"); isFile(script) {
		return []string{"node", script}
	}
	return nil
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
