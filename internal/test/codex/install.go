package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"mend/internal/test/npm"
)

// Version is the one that is tested.
const Version = "0.171.0"

var versionPattern = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// Install returns the program of a version of Codex: from the cache, or fetched into it with npm.
func Install(version string) (string, error) {
	if !versionPattern.MatchString(version) {
		return "", fmt.Errorf("installing codex: bad version %q", version)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("installing codex: no package for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	cache, err := npm.CacheDir()
	if err != nil {
		return "", fmt.Errorf("installing codex %s: %w", version, err)
	}
	const file = "package/vendor/x86_64-unknown-linux-musl/bin/codex"
	exe := filepath.Join(cache, "codex-"+version, file)
	if _, err := os.Stat(exe); err == nil {
		return exe, nil
	}
	if err := npm.Fetch("@openai/codex@"+version+"-linux-x64", filepath.Join(cache, "codex-"+version), file); err != nil {
		return "", fmt.Errorf("installing codex %s: %w", version, err)
	}
	return exe, nil
}
