package fsstore

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// agent is what the executable of OpenCode is called.
const agent = "opencode"

// Held reports whether OpenCode runs as this user, or as the one whom the store
// belongs to. Which files it has open does not tell more: it opens each one for
// a moment only.
func (s *Store) Held(ctx context.Context) (bool, error) {
	users := map[uint32]bool{uint32(os.Geteuid()): true}
	if fi, err := os.Stat(s.id.Root); err == nil {
		users[fi.Sys().(*syscall.Stat_t).Uid] = true
	}
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return false, fmt.Errorf("looking for a running agent: %w", err)
	}
	for _, p := range processes {
		if err := ctx.Err(); err != nil {
			return false, fmt.Errorf("looking for a running agent: %w", err)
		}
		if pid, err := strconv.Atoi(p.Name()); err != nil || pid == os.Getpid() {
			continue
		}
		if isAgent(filepath.Join("/proc", p.Name()), users) {
			return true, nil
		}
	}
	return false, nil
}

// isAgent reports whether the process runs OpenCode for one of the users. One
// that has ended, or whose executable is nobody else's business, does not.
func isAgent(proc string, users map[uint32]bool) bool {
	fi, err := os.Stat(proc)
	if err != nil || !users[fi.Sys().(*syscall.Stat_t).Uid] {
		return false
	}
	exe, err := os.Readlink(filepath.Join(proc, "exe"))
	// An executable that was replaced since, by an update, has a note behind it.
	return err == nil && filepath.Base(strings.TrimSuffix(exe, " (deleted)")) == agent
}
