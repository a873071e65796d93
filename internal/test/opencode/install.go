package opencode

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"

	"mend/internal/test/npm"
)

var versionPattern = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// Install returns the executable of a version of OpenCode, such as "1.1.53".
// It comes from the cache, a folder per version in $MEND_E2E_CACHE or else in
// mend-e2e below the user's cache directory, or is fetched into it with npm.
//
// A version gets into the cache by a rename, so any number of processes may install at
// once. It runs on Linux on x64 only.
func Install(version string) (exe string, err error) {
	return installed("opencode", "opencode-linux-x64", version, version)
}

// InstallKilo returns the executable of a version of Kilo, such as "7.7.9", as [Install] does.
func InstallKilo(version string) (exe string, err error) {
	return installed("kilo", "@kilocode/cli-linux-x64", version, "kilo-"+version)
}

// installed gets the executable of a package, into a folder of the cache.
func installed(program, from, version, folder string) (exe string, err error) {
	if !versionPattern.MatchString(version) {
		return "", fmt.Errorf("installing %s: bad version %q", program, version)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("installing %s: no package for %s/%s", program, runtime.GOOS, runtime.GOARCH)
	}
	cache, err := npm.CacheDir()
	if err != nil {
		return "", fmt.Errorf("installing %s %s: %w", program, version, err)
	}
	final := filepath.Join(cache, folder)
	exe = filepath.Join(final, "package", "bin", program)
	if _, err := os.Stat(exe); err == nil {
		return exe, nil
	}
	if err := npm.Fetch(from+"@"+version, final, "package/bin/"+program); err != nil {
		return "", fmt.Errorf("installing %s %s: %w", program, version, err)
	}
	return exe, nil
}
