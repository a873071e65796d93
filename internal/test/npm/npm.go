// Package npm fetches packages of npm for tests, into a cache of this user. mend itself fetches nothing.
//
// It imports nothing of mend. Read [Install] first.
package npm

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

// Fetch downloads a package, such as "name@1.2.3", and puts its files, or only the wanted one, into the
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
	archive, err := pack(pkg, tmp)
	if err != nil {
		return err
	}
	complete := filepath.Join(tmp, "whole")
	if err := unpack(archive, complete, only); err != nil {
		return fmt.Errorf("reading %s: %w", filepath.Base(archive), err)
	}
	err = os.Rename(complete, final)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process was faster
	}
	return err
}

// pack downloads the package with npm into dir and returns its archive.
func pack(pkg, dir string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, "npm", "pack", "--silent", "--pack-destination", dir, pkg)
	cmd.Dir, cmd.Stderr = dir, &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("npm pack: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return filepath.Join(dir, filepath.Base(strings.TrimSpace(string(out)))), nil
}

// unpack unpacks the regular files of a .tar.gz file below dir: all, or only one.
func unpack(archive, dir, only string) error {
	f, err := os.Open(archive)
	if err != nil {
		return err
	}
	defer f.Close()
	zipped, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	found := only == ""
	for t := tar.NewReader(zipped); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) && !found {
			return fmt.Errorf("no %s in %s", only, filepath.Base(archive))
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(h.Name) || only != "" && h.Name != only {
			continue
		}
		found = true
		if err := create(filepath.Join(dir, h.Name), t); err != nil {
			return err
		}
	}
}

func create(file string, r io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}
