package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A release is what all files of a release are made from.
type release struct {
	options
	project
	time     time.Time // of the commit
	binaries map[platform][]byte
	sums     map[string]string // the SHA-256 of each written file

	licenses    []byte // of the modules that are linked into a binary
	man         []file // manual pages
	completions []file // named for the shell: bash, zsh, fish, powershell
}

// A file is a file in an archive.
type file struct {
	name string
	data []byte
	exec bool
}

// build builds a release.
func build(o options) error {
	r, err := newRelease(o)
	if err != nil {
		return err
	}
	for _, step := range []func() error{
		r.buildBinaries, r.makeDocs, r.collectLicenses,
		r.writeArchives, r.writePackages, r.writeNpm, r.writeSBOM, r.writeFormula, r.writeScoop, r.writeChecksums,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	if strings.Contains(r.project["HOMEPAGE"], "example.com") {
		fmt.Println("note: names and addresses in tools/dist/project.env are placeholders")
	}
	fmt.Printf("%s %s is in %s\n", r.project["NAME"], r.version, o.out)
	return nil
}

func newRelease(o options) (*release, error) {
	p, err := readProject(o.root)
	if err != nil {
		return nil, err
	}
	r := &release{options: o, project: p, binaries: map[platform][]byte{}, sums: map[string]string{}}
	seconds, err := r.git("log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("time of the commit: %w", err)
	}
	r.time = time.Unix(unix, 0).UTC()
	if r.version == "" {
		if r.version, err = r.commitVersion(); err != nil {
			return nil, err
		}
	}
	if err := os.RemoveAll(o.out); err != nil {
		return nil, err
	}
	return r, os.MkdirAll(o.out, 0o755)
}

// commitVersion returns the version of the commit's tag, or one that sorts before all releases.
func (r *release) commitVersion() (string, error) {
	commit, err := r.git("rev-parse", "--short=12", "HEAD")
	if err != nil {
		return "", err
	}
	version := "0.0.0-dev." + commit
	if tag, err := r.git("describe", "--tags", "--exact-match", "--match", "v[0-9]*"); err == nil {
		version = strings.TrimPrefix(tag, "v")
	}
	changed, err := r.git("status", "--porcelain")
	if changed != "" {
		version += "+changed" // what is built is in no commit
	}
	return version, err
}

// git returns the output of a git command in the repository.
func (r *release) git(args ...string) (string, error) {
	out, err := run(r.root, nil, "git", args...)
	return strings.TrimSpace(string(out)), err
}

// run runs a program and returns its output. The error has what it wrote to its standard error.
func run(dir string, env []string, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return out, nil
}

// goBuild builds the command for a platform. Everything that changes the bytes is set here, whatever
// the user's settings are.
func (r *release) goBuild(p platform, out string, tags ...string) error {
	env := []string{
		"CGO_ENABLED=0", "GOOS=" + p.os, "GOARCH=" + p.arch, "GOAMD64=v1", "GOARM64=v8.0",
		"GOFLAGS=", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off",
	}
	_, err := run(r.root, env, "go", "build", "-trimpath", "-buildvcs=true", "-mod=readonly", "-tags", strings.Join(tags, ","),
		"-ldflags", "-s -w -buildid= -X main.release="+r.version, "-o", out, "./cmd/mend")
	return err
}

func (r *release) buildBinaries() error {
	dir, err := os.MkdirTemp("", "dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, p := range r.platforms {
		fmt.Println("building for", p)
		path := filepath.Join(dir, "binary")
		if err := r.goBuild(p, path); err != nil {
			return err
		}
		if r.binaries[p], err = os.ReadFile(path); err != nil {
			return err
		}
	}
	return nil
}

// makeDocs makes the manual pages and the completions, with a build for this machine.
func (r *release) makeDocs() error {
	dir, err := os.MkdirTemp("", "dist")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	host := platform{runtime.GOOS, runtime.GOARCH}
	program, pages := filepath.Join(dir, host.executable()), filepath.Join(dir, "man")
	if err := r.goBuild(host, program, "man"); err != nil {
		return err
	}
	env := []string{"HOME=" + dir, "NO_COLOR=1"}
	if _, err := run(dir, env, program, "man", pages); err != nil {
		return err
	}
	found, err := os.ReadDir(pages)
	if err != nil {
		return err
	}
	for _, e := range found {
		data, err := os.ReadFile(filepath.Join(pages, e.Name()))
		if err != nil {
			return err
		}
		r.man = append(r.man, file{name: e.Name(), data: data})
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		script, err := run(dir, env, program, "completion", shell)
		if err != nil {
			return err
		}
		r.completions = append(r.completions, file{name: shell, data: script})
	}
	return nil
}

// write writes a file of the release and keeps its checksum.
func (r *release) write(name string, data []byte) error {
	r.sums[name] = fmt.Sprintf("%x", sha256.Sum256(data))
	path := filepath.Join(r.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o644)
}

// writeChecksums writes the checksums in the format of sha256sum.
func (r *release) writeChecksums() error {
	var list bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(r.sums)) {
		fmt.Fprintf(&list, "%s  %s\n", r.sums[name], name)
	}
	return r.write("checksums.txt", list.Bytes())
}
