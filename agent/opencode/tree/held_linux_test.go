package tree

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"mend/internal/test/storetest"
)

// TestHeld: a process with the agent's name and the data folder of the store has the store open.
func TestHeld(t *testing.T) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Skip(err)
	}
	root, home, elsewhere := storetest.SmallTree(t), storetest.FastDir(t), storetest.FastDir(t)
	data := filepath.Join(home, ".local/share")
	for _, dir := range []string{filepath.Join(data, "opencode"), filepath.Join(elsewhere, "opencode/storage")} {
		must(t, os.MkdirAll(dir, 0o755))
	}
	must(t, os.Rename(root, filepath.Join(data, "opencode/storage")))
	link := filepath.Join(elsewhere, "link")
	must(t, os.Symlink(data, link))
	s := mustOpen(t, filepath.Join(data, "opencode/storage"), Options{})
	before := s.FindsHolders()
	for _, c := range []struct {
		name string
		exe  string
		env  []string
		dir  string
		uid  uint32
		want bool
		free bool // it is certain that no process has the store open
	}{
		{"data folder", executable, []string{"XDG_DATA_HOME=" + data}, "/", 0, true, false},
		{"home folder", executable, []string{"HOME=" + home}, "/", 0, true, false},
		{"home folder, an empty variable", executable, []string{"HOME=" + home, "XDG_DATA_HOME="}, "/", 0, true, false},
		{"through a link", executable, []string{"XDG_DATA_HOME=" + link}, "/", 0, true, false},
		{"relative", executable, []string{"XDG_DATA_HOME=share"}, filepath.Dir(data), 0, true, false},
		{"another data folder", executable, []string{"HOME=" + home, "XDG_DATA_HOME=" + elsewhere}, "/", 0, false, true},
		{"a data folder that is not there", executable, []string{"HOME=" + home, "XDG_DATA_HOME=/nowhere"}, "/", 0, false, true},
		{"another home folder", executable, []string{"HOME=" + elsewhere}, "/", 0, false, true},
		{"relative to another folder", executable, []string{"XDG_DATA_HOME=share"}, "/", 0, false, true},
		{"another program", "editor", []string{"XDG_DATA_HOME=" + data}, "/", 0, false, true},
		{"another build", "opencode-cli", []string{"XDG_DATA_HOME=" + data}, "/", 0, false, false},
		{"a process of another user", executable, []string{"XDG_DATA_HOME=" + data}, "/", 65534, false, false},
	} {
		if c.uid != 0 && os.Geteuid() != 0 {
			continue
		}
		program := filepath.Join(storetest.FastDir(t), c.exe)
		storetest.CopyProgram(t, cat, program)
		must(t, os.Chmod(filepath.Dir(program), 0o755))
		cmd := exec.Command(program)
		cmd.Env, cmd.Dir = c.env, c.dir
		if c.uid != 0 {
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.uid, Gid: c.uid}}
		}
		started := time.Now()
		end := storetest.StartCat(t, cmd)
		since, err := s.Held(t.Context())
		if err != nil || since.IsZero() == c.want {
			t.Errorf("%s: Held = %v, %v, want a time: %v", c.name, since, err, c.want)
		}
		// Other processes of this machine may be the agent of another user.
		if free := since.IsZero() && s.FindsHolders(); free && !c.free || c.free && !free && before {
			t.Errorf("%s: certainly free: %v, want %v", c.name, free, c.free)
		}
		const tick = 20 * time.Millisecond
		if c.want && (since.Before(started.Add(-tick)) || since.After(time.Now().Add(tick))) {
			t.Errorf("%s: Held = %v, want about %v", c.name, since, started)
		}
		end()
		if since, err := s.Held(t.Context()); err != nil || !since.IsZero() {
			t.Errorf("%s: Held = %v, %v after the process has ended", c.name, since, err)
		}
	}
}
