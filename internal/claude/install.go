package claude

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

// Versions are those that are tested, the newest first.
var Versions = []string{"2.1.330", "2.0.77", "1.0.128"}

var versionPattern = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)

// Install returns the command that starts a version of Claude Code: an executable, or for older
// versions node with a script. It comes from the cache, a folder per version in $MEND_E2E_CACHE
// or else in mend-e2e below the user's cache directory, or is fetched into it with npm.
func Install(version string) ([]string, error) {
	if !versionPattern.MatchString(version) {
		return nil, fmt.Errorf("installing claude: bad version %q", version)
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return nil, fmt.Errorf("installing claude: no package for %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	cache := os.Getenv("MEND_E2E_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("installing claude %s: %w", version, err)
		}
		cache = filepath.Join(dir, "mend-e2e")
	}
	final := filepath.Join(cache, "claude-"+version)
	if cmd := program(final); cmd != nil {
		return cmd, nil
	}
	for _, pkg := range []string{"@anthropic-ai/claude-code", "@anthropic-ai/claude-code-linux-x64"} {
		if err := fetch(pkg+"@"+version, cache, final); err != nil {
			return nil, fmt.Errorf("installing claude %s: %w", version, err)
		}
		if cmd := program(final); cmd != nil {
			return cmd, nil
		}
		if err := os.RemoveAll(final); err != nil { // the script that only starts the executable
			return nil, err
		}
	}
	return nil, fmt.Errorf("installing claude %s: the packages have no program", version)
}

// program returns the command in a folder, nil if there is none.
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

// fetch gets a package into a temporary folder of the cache and renames that to final.
func fetch(pkg, cache, final string) error {
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(cache, "fetch-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--pack-destination", tmp, pkg)
	cmd.Dir, cmd.Stderr = tmp, &stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("npm pack: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	complete := filepath.Join(tmp, "whole")
	if err := unpack(filepath.Join(tmp, filepath.Base(strings.TrimSpace(string(out)))), complete); err != nil {
		return err
	}
	err = os.Rename(complete, final)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	return err
}

// unpack unpacks the regular files of an archive below dir.
func unpack(archive, dir string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for t := tar.NewReader(zipped); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) {
			continue
		}
		if err := create(filepath.Join(dir, h.Name), h.FileInfo().Mode().Perm(), t); err != nil {
			return err
		}
	}
}

func create(name string, mode fs.FileMode, r io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode|0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
