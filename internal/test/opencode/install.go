package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"mend/internal/test/npm"
)

// member is the executable's place in the npm package, and below a version's
// folder in the cache.
const member = "package/bin/opencode"

var versionPattern = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// Install returns the executable of a version of OpenCode, such as "1.1.53".
// It comes from the cache, a folder per version in $MEND_E2E_CACHE or else in
// mend-e2e below the user's cache directory, or is fetched into it with npm.
//
// A version gets into the cache by a rename, so any number of processes may install at
// once. It runs on Linux on x64 only.
func Install(version string) (exe string, err error) {
	if !versionPattern.MatchString(version) {
		return "", fmt.Errorf("installing opencode: bad version %q", version)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("installing opencode: no package for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	cache, err := npm.CacheDir()
	if err != nil {
		return "", fmt.Errorf("installing opencode %s: %w", version, err)
	}
	final := filepath.Join(cache, version)
	exe = filepath.Join(final, member)
	if _, err := os.Stat(exe); err == nil {
		return exe, nil
	}
	if err := npm.Fetch("opencode-linux-x64@"+version, final, member); err != nil {
		return "", fmt.Errorf("installing opencode %s: %w", version, err)
	}
	return exe, nil
}
