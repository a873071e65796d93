package opencode

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
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
	cache, err := cacheDir()
	if err != nil {
		return "", fmt.Errorf("installing opencode %s: %w", version, err)
	}
	final := filepath.Join(cache, version)
	exe = filepath.Join(final, member)
	if _, err := os.Stat(exe); err == nil {
		return exe, nil
	}
	if err := fetch(version, cache, final); err != nil {
		return "", fmt.Errorf("installing opencode %s: %w", version, err)
	}
	return exe, nil
}

// cacheDir returns the cache, which need not exist.
func cacheDir() (string, error) {
	if dir := os.Getenv("MEND_E2E_CACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "mend-e2e"), err
}

// fetch gets a version into a temporary folder of the cache and renames that
// to final. A crash leaves the temporary folder behind and nothing in final.
func fetch(version, cache, final string) error {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	archive, err := pack(version, tmp)
	if err != nil {
		return err
	}
	complete := filepath.Join(tmp, "whole")
	if err := extractExe(archive, complete); err != nil {
		return err
	}
	err = os.Rename(complete, final)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	return err
}

// pack has npm put the package into dir and returns its archive.
func pack(version, dir string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--pack-destination", dir, "opencode-linux-x64@"+version)
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("npm pack: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return filepath.Join(dir, filepath.Base(strings.TrimSpace(string(out)))), nil
}

// extractExe takes the executable out of an npm package.
func extractExe(archive, dst string) error {
	found := false
	err := untar(archive, func(h *tar.Header, r io.Reader) error {
		if h.Name != member {
			return nil
		}
		found = true
		file := filepath.Join(dst, member)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		return create(file, 0o755, r)
	})
	if err == nil && !found {
		err = fmt.Errorf("no %s in %s", member, filepath.Base(archive))
	}
	return err
}

// create writes a new file.
func create(file string, mode fs.FileMode, r io.Reader) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// untar calls take for each member of a .tar.gz file.
func untar(archive string, each func(*tar.Header, io.Reader) error) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("reading %s: %w", filepath.Base(archive), err)
	}
	for t := tar.NewReader(zipped); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading %s: %w", filepath.Base(archive), err)
		}
		if err := each(h, t); err != nil {
			return err
		}
	}
}
