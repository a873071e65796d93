package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"mend/internal/processes"
)

// executable is the name of OpenCode's executable.
const executable = "opencode"

// mayBeAgent reports whether a process may be OpenCode under another name, such as a script.
func mayBeAgent(p processes.Process) bool {
	program, _ := p.Program()
	name, _ := p.Name()
	names := []string{program, name}
	if args, err := p.Arguments(); err == nil {
		for _, a := range args[:min(len(args), 2)] { // an interpreter, and its script
			names = append(names, filepath.Base(a))
		}
	}
	return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(strings.ToLower(n), executable) })
}

// FindsHolders reports whether [Store.Held] finds every process of OpenCode that may use the store. Held does not find
// a process under another name, and cannot see what another user's process uses.
func (s *Store) FindsHolders() bool {
	root, err := os.Stat(s.ID().Root)
	if err != nil || !processes.Complete() {
		return false
	}
	others, err := processes.Others(context.Background())
	return err == nil && !slices.ContainsFunc(others, func(p processes.Process) bool {
		return mayBeAgent(p) && (!s.canInspect(p, root) || s.mayUseStore(p, root))
	})
}

// canInspect reports whether [Store.Held] can find out what a process uses.
func (s *Store) canInspect(p processes.Process, root fs.FileInfo) bool {
	id, err := p.User()
	return err != nil || id == uint32(os.Geteuid()) || id == root.Sys().(*syscall.Stat_t).Uid
}

// Held returns the start time of the oldest process of the agent that uses this store, the zero time for none. The
// open files of a process do not show the store, since the agent opens each file only for a moment; its environment
// does, because it determines the data folder. Only processes of this user and of the store's owner count, including
// those with an unreadable environment.
func (s *Store) Held(ctx context.Context) (since time.Time, err error) {
	root, err := os.Stat(s.ID().Root)
	if err == nil {
		since, err = s.openSince(ctx, root)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("looking for a running agent: %w", err)
	}
	return since, nil
}

func (s *Store) openSince(ctx context.Context, root fs.FileInfo) (since time.Time, err error) {
	others, err := processes.Others(ctx)
	if err != nil {
		return time.Time{}, err
	}
	for _, p := range others {
		if name, err := p.Program(); err != nil || name != executable || !s.canInspect(p, root) || !s.mayUseStore(p, root) {
			continue
		}
		started, err := p.StartTime()
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return time.Time{}, err
		case since.IsZero() || started.Before(since):
			since = started
		}
	}
	return since, ctx.Err()
}

// mayUseStore reports whether the store is the data folder of an agent with the environment of the process. It returns
// true if that is unknown.
func (s *Store) mayUseStore(p processes.Process, root fs.FileInfo) bool {
	env, err := p.Environment()
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	home := env("HOME")
	if id, err := p.User(); home == "" && err == nil {
		if u, err := user.LookupId(strconv.FormatUint(uint64(id), 10)); err == nil {
			home = u.HomeDir
		}
	}
	at := dataRoot(env, home)
	if at == "" {
		return false
	}
	info, err := os.Stat(p.Path(at))
	return err == nil && os.SameFile(info, root) || err != nil && !errors.Is(err, fs.ErrNotExist)
}
