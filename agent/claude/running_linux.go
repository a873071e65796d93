package claude

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"mend/internal/processes"
)

// lives reports whether the process that wrote the file runs: one with its id that was started
// at the same time.
func (p *registeredProcess) lives() bool {
	own, err := os.Readlink("/proc/self/ns/pid")
	if err == nil && p.PidDomain != "" && !strings.HasSuffix(p.PidDomain, own) {
		return p.wroteRecently()
	}
	ticks, err := processes.Process(p.PID).StartTicks()
	return err == nil && (p.ProcStart == "" || strconv.FormatInt(ticks, 10) == p.ProcStart)
}

// Ancestors returns the processes that wait for this one: its parent, the parent of that, and so
// on.
func Ancestors() (all []int) {
	for pid := os.Getppid(); pid > 1 && !slices.Contains(all, pid); {
		all = append(all, pid)
		up, err := processes.Process(pid).Parent()
		if err != nil {
			break
		}
		pid = up
	}
	return all
}

// listUnregistered lists the processes of this user that use the store, except the known ones.
func (s *store) listUnregistered(known []int) (all []unregisteredProcess) {
	others, err := processes.Others(context.Background())
	if err != nil {
		return nil
	}
	root, err := os.Stat(s.ID().Root)
	if err != nil {
		return nil
	}
	for _, p := range others {
		args, err := p.Arguments()
		if err != nil || slices.Contains(known, int(p)) || !isProgram(p, args) || !usesRoot(p, root) {
			continue
		}
		if dir, err := p.Dir(); err == nil { // else it has ended
			all = append(all, unregisteredProcess{int(p), folderOf(dir), args})
		}
	}
	return all
}

// isProgram reports whether a process is Claude Code: a native executable, or a script, which
// takes the name claude some seconds after it was started. A process of which that cannot be told
// yet counts as one.
func isProgram(p processes.Process, args []string) bool {
	name, err := p.Name()
	if err != nil {
		return false
	}
	program, err := p.Program()
	if name == programName || filepath.Base(args[0]) == programName || err == nil && program == programName {
		return true
	}
	if !slices.Contains([]string{"node", "bun", "deno"}, program) {
		return false
	}
	if args[0] == "" { // the system has started it, but not yet written its command line
		return true
	}
	i := slices.IndexFunc(args[1:], func(a string) bool { return !strings.HasPrefix(a, "-") })
	if i < 0 {
		return false
	}
	script := args[1+i]
	return filepath.Base(script) == programName || filepath.Base(script) == "cli.js" && strings.Contains(script, programName)
}

const programName = "claude"

// usesRoot reports whether the sessions of a process are in the folder root. Another user's are
// not.
func usesRoot(p processes.Process, root os.FileInfo) bool {
	env, err := p.Environment()
	if err != nil {
		return false
	}
	dir := env("CLAUDE_CONFIG_DIR")
	if home := env("HOME"); dir == "" && home != "" {
		dir = filepath.Join(home, ".claude")
	}
	if dir == "" { // the title of the process is written over it
		uid, err := p.User()
		return err == nil && int(uid) == os.Geteuid()
	}
	info, err := os.Stat(p.Path(dir))
	return err == nil && os.SameFile(info, root)
}
