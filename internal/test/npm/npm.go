// Package npm fetches packages of npm for tests, into a cache of this user. mend itself fetches nothing.
//
// It imports nothing of mend. Read [Install] first.
package npm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// CacheDir returns the cache: $MEND_E2E_CACHE, or else mend-e2e below the user's cache
// directory. It need not exist.
func CacheDir() (string, error) {
	if dir := os.Getenv("MEND_E2E_CACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "mend-e2e"), err
}

var versionPattern = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// Folder returns the cache folder for a version of a program. It need not exist. The programs run only on
// Linux on x64.
func Folder(program, version, folder string) (string, error) {
	if !versionPattern.MatchString(version) {
		return "", fmt.Errorf("installing %s: bad version %q", program, version)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return "", fmt.Errorf("installing %s: no package for %s/%s", program, runtime.GOOS, runtime.GOARCH)
	}
	cache, err := CacheDir()
	if err != nil {
		return "", fmt.Errorf("installing %s %s: %w", program, version, err)
	}
	return filepath.Join(cache, folder), nil
}

// Install returns the executable file of a package, from a folder of the cache, or fetched into it.
func Install(program, version, folder, pkg, file string) (exe string, err error) {
	dir, err := Folder(program, version, folder)
	if err != nil {
		return "", err
	}
	exe = filepath.Join(dir, file)
	if _, err := os.Stat(exe); err == nil {
		return exe, nil
	}
	if err := Fetch(pkg, dir, file); err != nil {
		return "", fmt.Errorf("installing %s %s: %w", program, version, err)
	}
	return exe, nil
}

// Fetch downloads a package, such as "name@1.2.3", with npm, and puts its files, or only the wanted one, into the
// folder final of the cache. They are executable. The folder appears by a rename, so any number of processes
// may fetch at once. A crash leaves a temporary folder beside it.
func Fetch(pkg, final, only string) error {
	cache := filepath.Dir(final)
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	archive, err := run("npm", "pack", "--silent", "--pack-destination", tmp, pkg)
	if err != nil {
		return err
	}
	complete := filepath.Join(tmp, "whole")
	const unpack = `mkdir "$1" && tar -xzf "$2" -C "$1" $3 && chmod -R u+rwX,a+rx "$1"`
	_, err = run("sh", "-c", unpack, "sh", complete, filepath.Join(tmp, filepath.Base(archive)), only)
	if err == nil {
		err = os.Rename(complete, final)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil // another process has put it there
	}
	return err
}

// run runs a program and returns its output.
func run(program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
