// Package git finds the repository of a folder, and reads its remote and its commits. To find it, the package reads the
// repository's files; it runs git for the rest, but no program that the repository's settings name.
//
// It may import internal/ownfile. Read [Find] first.
package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"mend/internal/ownfile"
)

// A Repository is one work tree of a repository.
type Repository struct {
	Worktree string // its top folder
	Common   string // the folder that all work trees share, such as .git of the main one
}

// Find returns the innermost repository that contains a folder; found is false if there is none. If that cannot be
// determined, it returns the reason as an error.
func Find(folder string) (r Repository, found bool, err error) {
	for at := filepath.Clean(folder); ; at = filepath.Dir(at) {
		dir, err := gitDir(filepath.Join(at, ".git"))
		if err != nil {
			return r, false, err
		}
		if dir != "" {
			return Repository{at, common(dir)}, true, nil
		}
		if at == filepath.Dir(at) {
			return r, false, nil
		}
	}
}

// gitDir returns the git folder that .git is, or that a .git file names; "" for none. Like git, it requires a HEAD.
func gitDir(dotGit string) (string, error) {
	info, err := os.Stat(dotGit)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case info.IsDir():
		if _, err := os.Lstat(filepath.Join(dotGit, "HEAD")); err != nil {
			return "", nil
		}
		return dotGit, nil
	}
	line, err := firstLine(dotGit)
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(line, "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%s does not name its repository", dotGit)
	}
	dir = resolve(filepath.Dir(dotGit), dir)
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return "", fmt.Errorf("%s names a repository that does not exist: %w", dotGit, err)
	}
	return dir, nil
}

// common returns the folder that a git folder shares with all work trees.
func common(dir string) string {
	if line, err := firstLine(filepath.Join(dir, "commondir")); err == nil && line != "" {
		return resolve(dir, line)
	}
	return dir
}

// resolve returns a path that may be relative to dir.
func resolve(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// longestLine is the maximum length in bytes of a line read from a small file.
const longestLine = 8 << 10

func firstLine(path string) (string, error) {
	data, err := ownfile.ReadPlain(path, longestLine)
	line, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimRight(line, "\r"), err
}

// Origin returns the URL of the remote named origin, or "".
func (r Repository) Origin(ctx context.Context) (string, error) {
	out, err := r.run(ctx, "remote", "get-url", "origin")
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() > 0 {
		return "", nil
	}
	return strings.TrimSpace(out), err
}

// Roots returns the hashes of the root commits of the current branch, sorted; none if it has no commit.
func (r Repository) Roots(ctx context.Context) ([]string, error) {
	out, err := r.run(ctx, "rev-list", "--max-parents=0", "HEAD")
	if e, ok := errors.AsType[*exec.ExitError](err); ok && e.ExitCode() > 0 {
		return nil, nil
	}
	roots := strings.Fields(out)
	slices.Sort(roots)
	return roots, err
}

// mostHashes is the maximum number of commits in one call of git.
const mostHashes = 4000

var shortHash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{7,64}$`) })

// Commits returns the commits of the repository with these hashes, which may be short: the full hashes by subject line.
func (r Repository) Commits(ctx context.Context, hashes []string) (map[string][]string, error) {
	args := []string{"log", "--no-walk", "--ignore-missing", "--format=%H %s"}
	for _, h := range hashes {
		if shortHash().MatchString(h) && len(args) < mostHashes {
			args = append(args, h)
		}
	}
	out, err := r.run(ctx, append(args, "--")...)
	hashesBySubject := map[string][]string{}
	for line := range strings.Lines(out) {
		hash, subject, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		hashesBySubject[subject] = append(hashesBySubject[subject], hash)
	}
	return hashesBySubject, err
}

// deadline is the time limit of one call of git.
const deadline = 20 * time.Second

// quiet overrides the repository's settings that name programs to run, or hosts to ask. git still refuses another
// user's repository.
var quiet = []string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "protocol.allow=never", "-c", "core.pager=cat", "--no-pager"}

// run runs git in the work tree and returns its output.
func (r Repository) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", slices.Concat(quiet, []string{"-C", r.Worktree}, args)...)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") })
	cmd.Env = append(cmd.Env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	return string(out), err
}
